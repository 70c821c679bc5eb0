import Testing

@testable import PodcastFeed

/// Feeds that web pages name.
struct FeedLinkTests {
    private func links(_ html: String, base: String? = "https://example.com/shows/owls") -> [WebLink] {
        WebLink.feeds(in: Array(html.utf8), base: base)
    }

    @Test func feedsOfAllFormatsAreFound() {
        let page = """
            <!doctype html><html><head><title>Owls</title>
            <link rel="stylesheet" href="/style.css">
            <link rel="alternate" type="application/rss+xml" title="Owls &amp; Co" href="/feed.xml?a=1&amp;b=2">
            <LINK HREF='atom.xml' TYPE='application/atom+xml; charset=utf-8' REL='Alternate home'/>
            <link type=application/feed+json rel=alternate href=//cdn.example.com/feed.json>
            """
        #expect(
            links(page) == [
                WebLink(url: "https://example.com/feed.xml?a=1&b=2", title: "Owls & Co"),
                WebLink(url: "https://example.com/shows/atom.xml"),
                WebLink(url: "https://cdn.example.com/feed.json"),
            ])
    }

    @Test func otherLinksAreNoFeeds() {
        let page = """
            <link rel="alternate" hreflang="de" href="/de"><link rel="icon" type="application/rss+xml" href="/i">
            <link rel="alternate" type="application/json+oembed" href="/oembed"><linked rel="alternate">
            <link rel="alternate" type="application/rss+xml"><link rel="alternate" type="application/rss+xml"
            href="javascript:alert(1)"><link rel="alternate" type="application/rss+xml" href="file:///etc/passwd">
            """
        #expect(links(page).isEmpty)
    }

    @Test func aFeedIsListedOnceAndADirectoryIsCut() {
        let link = "<link rel=alternate type=application/rss+xml href=/f>"
        #expect(links(link + link).count == 1)
        let many = (0..<100).map { "<link rel=alternate type=application/rss+xml href=/f\($0)>" }.joined()
        #expect(links(many).count == 20)
    }

    @Test func cutTagsEnd() {
        let page = "<link rel=\"alternate\" type='application/rss+xml' href=\"/feed.xml\" title=\"Owls\">"
        for count in 0..<page.utf8.count { #expect(links(String(page.prefix(count))).count <= 1) }
        #expect(links(String(repeating: "<link ", count: 10_000)).isEmpty)
    }

    @Test func theErrorNamesTheFeeds() throws {
        let page = "<!DOCTYPE html><title>Owls</title><link rel=alternate type=application/rss+xml title=Feed href=/f>"
        let error = #expect(throws: DocumentError.self) {
            let parser = FeedParser(contentType: "text/html", base: "https://example.com/")
            parser.parse(Array(page.utf8))
            _ = try parser.finish()
        }
        #expect(
            error?.description
                == "this is a web page (“Owls”), not a feed; it names the feed https://example.com/f (“Feed”)")
    }
}
