import PodcastProtocol
import TestSupport
import Testing

@testable import PodcastService
@testable import Transfers

struct CatalogueTests {
    private let iTunes = Catalogue.iTunes()
    private let index = Catalogue.podcastIndex(key: "KEY", secret: "SECRET")
    private static let now: Int64 = 1_795_168_800

    private func term(_ text: String) throws -> SearchTerm { try #require(SearchTerm(text)) }

    private func entries(
        _ catalogue: Catalogue, _ text: String, status: Int = 200, type: String = "text/javascript; charset=utf-8"
    ) throws -> [FoundShow] {
        try catalogue.entries(
            head: ResponseHead(status: status, fields: ["content-type": type]), body: Array(text.utf8))
    }

    private func message(
        _ catalogue: Catalogue, _ text: String, status: Int = 200, type: String = "application/json"
    ) -> String {
        do {
            return "no error: \(try entries(catalogue, text, status: status, type: type))"
        } catch {
            return "\(error)"
        }
    }

    // MARK: Pages

    @Test(
        arguments: [
            ("https://podcasts.apple.com/us/podcast/the-show/id917918570?i=1000", CataloguePage.apple(id: 917_918_570)),
            ("https://podcasts.apple.com/podcast/id12", .apple(id: 12)),
            ("http://itunes.apple.com/de/podcast/id1/id34?mt=2#x", .apple(id: 34)),
            ("https://podcastindex.org/podcast/920666", .podcastIndex(id: 920_666)),
            ("https://www.podcastindex.org/podcast/7?episode=1", .podcastIndex(id: 7)),
            ("https://podcasts.apple.com/us/browse", nil), ("https://podcasts.apple.com/us/podcast/id12x", nil),
            ("https://podcastindex.org/podcast/", nil), ("https://podcastindex.org/stats/5", nil),
            ("https://example.com/podcast/id12", nil), ("https://podcasts.apple.com.evil.example/id12", nil),
            ("podcasts.apple.com/id12", nil), ("https://podcasts.apple.com/id99999999999999999999", nil),
        ] as [(String, CataloguePage?)]) func aDirectoryPageIsRecognised(address: String, page: CataloguePage?)
    {
        #expect(CataloguePage(address) == page)
    }

    @Test func thePageOfADirectoryIsLookedUp() throws {
        let page = CataloguePage.apple(id: 12)
        #expect(
            try iTunes.request(for: page, now: Self.now)?.url == "https://itunes.apple.com/lookup?id=12&entity=podcast")
        #expect(
            try Catalogue.iTunes(at: "http://h/api/?country=DE").request(for: page, now: Self.now)?.url
                == "http://h/api/lookup?country=DE&id=12&entity=podcast")
        #expect(try iTunes.request(for: .podcastIndex(id: 1), now: Self.now) == nil)
        let signed = try #require(try index.request(for: .podcastIndex(id: 5), now: Self.now))
        #expect(signed.url.hasSuffix("/api/1.0/podcasts/byfeedid?id=5") && !signed.followsRedirects)
        #expect(try index.request(for: page, now: Self.now) == nil)
        let answer = #"{"status":"true","feed":{"title":"One","url":"https://one.example/feed"}}"#
        #expect(try entries(index, answer).map(\.url) == ["https://one.example/feed"])
    }

    // MARK: Requests

    @Test func anITunesRequestIsAQueryWithoutCredentials() throws {
        let request = try iTunes.request(for: term("Übung & Spaß=100%?"), limit: 25, now: Self.now)
        #expect(
            request.url == "https://itunes.apple.com/search?media=podcast"
                + "&term=%C3%9Cbung%20%26%20Spa%C3%9F%3D100%25%3F&limit=25")
        #expect(request.fields.map(\.name) == ["Accept"] && request.followsRedirects)
    }

    @Test(arguments: [
        ("http://localhost:8080/search", "http://localhost:8080/search?media"),
        ("http://localhost/s?country=DE", "http://localhost/s?country=DE&media"),
        ("http://localhost/s?country=DE&", "http://localhost/s?country=DE&media"),
        ("http://localhost/s?#top", "http://localhost/s?media"),
    ])
    func parametersOfAConfiguredAddressAreRetained(base: String, begin: String) throws {
        let request = try Catalogue.iTunes(at: base).request(for: term("x"), limit: 5, now: 0)
        #expect(request.url == begin + "=podcast&term=x&limit=5")
    }

    @Test func thePodcastIndexIsSignedWithTheTime() throws {
        let request = try index.request(for: term("high tide"), limit: 10, now: Self.now)
        #expect(request.url == "https://api.podcastindex.org/api/1.0/search/byterm?q=high%20tide&max=10")
        #expect(!request.followsRedirects)
        let fields = Dictionary(uniqueKeysWithValues: request.fields.map { ($0.name, $0.value) })
        // The signature is the output of: printf KEYSECRET1795168800 | sha1sum
        #expect(
            fields == [
                "Accept": "application/json, text/javascript;q=0.9, */*;q=0.1", "X-Auth-Key": "KEY",
                "X-Auth-Date": "1795168800",
                "Authorization": "fc7b99ab56165c7f28fb096e7ffd24468dc25d70",
            ])
        let other = Catalogue.podcastIndex(key: "KEY", secret: "SECRET", at: "http://localhost:81/")
        #expect(
            try other.request(for: term("a"), limit: 1, now: 0).url
                == "http://localhost:81/api/1.0/search/byterm?q=a&max=1")
    }

    @Test func theSecretIsNotPrinted() {
        var dumped = ""
        dump(index, to: &dumped)
        for text in ["\(index)", String(reflecting: index), dumped] { #expect(!text.contains("SECRET")) }
    }

    // MARK: Answers

    @Test func anITunesAnswerIsRead() throws {
        #expect(
            try entries(iTunes, CatalogueFixtures.iTunes) == [
                FoundShow(
                    title: "The Harbour Light", author: "Harbour Radio",
                    url: "https://feeds.harbour.example/light.xml", artwork: "https://is1.example/600x600bb.jpg",
                    episodes: 212, link: "https://podcasts.apple.com/us/podcast/the-harbour-light/id1001?uo=4"),
                FoundShow(
                    title: "Only a track name", url: "http://feeds.example/second",
                    artwork: "https://is1.example/second60.jpg", episodes: 1),
            ])
        #expect(try entries(iTunes, "\u{FEFF}{\"resultCount\":0,\"results\":[]}").isEmpty)
    }

    @Test func aPodcastIndexAnswerIsRead() throws {
        #expect(
            try entries(index, CatalogueFixtures.podcastIndex, type: "application/json") == [
                FoundShow(
                    title: "Tide Tables", author: "Mara Quist", url: "https://feeds.tides.example/rss",
                    artwork: "https://tides.example/artwork.jpg", episodes: 88, link: "https://tides.example"),
                FoundShow(
                    title: "untitled.example", author: "Owner", url: "https://untitled.example/rss",
                    episodes: 12),
            ])
        #expect(try entries(index, #"{"status":"true","feeds":[],"count":0}"#).isEmpty)
    }

    @Test func aRefusalQuotesTheCataloguesMessage() {
        #expect(
            message(iTunes, CatalogueFixtures.iTunesRefusal, status: 400)
                == "iTunes: the server answered 400: Invalid value(s) for key(s): [mediaType]")
        #expect(
            message(index, CatalogueFixtures.podcastIndexRefusal, status: 401)
                == "Podcast Index: the server answered 401: it refuses the API key, or refuses requests of podfs: Invalid API key or secret"
        )
        #expect(
            message(index, CatalogueFixtures.podcastIndexRefusal)
                == "Podcast Index: the search was refused: Invalid API key or secret")
        #expect(message(iTunes, "", status: 503) == "iTunes: the server answered 503; try again later")
        #expect(message(iTunes, "", status: 429).contains("too many searches"))
        #expect(message(iTunes, CatalogueFixtures.iTunes, status: 304) == "iTunes: the server answered 304")
    }

    @Test(arguments: [
        ("", "the answer is empty"), ("<!doctype html><html></html>", "the server sent a web page instead of results"),
        ("  <html>", "the server sent a web page"), ("\u{FEFF}\n<html>", "the server sent a web page"),
        ("{\"results\":[", "the answer cannot be read"),
        ("callback({\"results\":[]})", "the answer cannot be read"), ("[1,2]", "the answer cannot be read"),
        ("{}", "the answer has no list 'results'"), ("{\"results\":{}}", "the answer has no list 'results'"),
        ("{\"results\":\"x\"}", "the answer has no list 'results'"), ("null", "the answer cannot be read"),
    ])
    func anUnreadableAnswerIsAnErrorThatNamesTheCatalogue(text: String, expected: String) {
        let message = message(iTunes, text)
        #expect(message.hasPrefix("iTunes: " + expected), "\(message)")
    }

    @Test func aRefusalIsBoundedAndOneLine() {
        let long = String(repeating: "a\\n\\u001b[31m", count: 10_000)
        let message = message(iTunes, "{\"errorMessage\":\"\(long)\"}", status: 400)
        #expect(message.count < 300)
        #expect(!message.unicodeScalars.contains { $0.properties.generalCategory == .control })
    }

    @Test func entriesAndFieldsOfTheWrongShapeAreLeftOut() throws {
        let text = """
            {"results":[null, 5, "x", [], {}, {"feedUrl":5}, {"feedUrl":["https://a.example/"]},
            {"feedUrl":"https://a.example/f","collectionName":{},"artistName":7,"trackCount":"many","artworkUrl600":[]},
            {"feedUrl":"https://b.example/f","collectionName":"B","trackCount":-1},
            {"feedUrl":"https://c.example/f","collectionName":"C","trackCount":1e300},
            {"feedUrl":"https://d.example/f","collectionName":"D","trackCount":7.0},
            {"feedUrl":"https://e.example/f","collectionName":"E","artworkUrl600":"file:///x",
            "artworkUrl100":"https://e.example/100.jpg","collectionViewUrl":"javascript:alert(1)"}]}
            """
        #expect(
            try entries(iTunes, text) == [
                FoundShow(title: "a.example", url: "https://a.example/f"),
                FoundShow(title: "B", url: "https://b.example/f"),
                FoundShow(title: "C", url: "https://c.example/f"),
                FoundShow(title: "D", url: "https://d.example/f", episodes: 7),
                FoundShow(title: "E", url: "https://e.example/f", artwork: "https://e.example/100.jpg"),
            ])
    }

    @Test(arguments: [
        "file:///etc/passwd", "ftp://a.example/f", "javascript:alert(1)", "feed://a.example/f", "a.example/f", "",
        "https://apple.com@evil.example/f", "https://a.example/f\\nX: y", "https://a.example/\\u0000",
        "https:///f", "https://a.example/ f", "gopher://a.example/",
    ])
    func entriesWithForbiddenFeedAddressesAreLeftOut(address: String) throws {
        let text = "{\"results\":[{\"feedUrl\":\"\(address)\",\"collectionName\":\"X\"}]}"
        #expect(try entries(iTunes, text).isEmpty)
    }

    @Test func textsAreShortSingleLines() throws {
        let name = "  A\\r\\nB\\u001b[31m\\u202eC\\u2028D\\u00a0 E\\u200b "
        let long = String(repeating: "ä", count: 100_000)
        let text = """
            {"results":[{"feedUrl":"https://a.example/f","collectionName":"\(name)","artistName":"\(long)"},
            {"feedUrl":"https://b.example/f","collectionName":" \\n\\t\\u0000 "}]}
            """
        let found = try entries(iTunes, text)
        #expect(found[0].title == "A B [31m C D E")
        #expect(found[0].author == String(repeating: "ä", count: 256))
        #expect(found[1].title == "b.example")
    }

    @Test func atMostTwoHundredEntriesAreRead() throws {
        let list = (0..<1_000).map { "{\"feedUrl\":\"https://a.example/\($0)\"}" }.joined(separator: ",")
        let found = try entries(iTunes, "{\"results\":[\(list)]}")
        #expect(found.count == 200 && found.last?.url == "https://a.example/199")
        #expect(try entries(index, "{\"feeds\":[\(list.replacing("feedUrl", with: "url"))]}").count == 200)
    }

    // MARK: Several catalogues

    @Test func mergedResultsKeepTheirOrderWithoutDuplicates() {
        func show(_ title: String, _ url: String, author: String? = nil, episodes: Int? = nil) -> FoundShow {
            FoundShow(title: title, author: author, url: url, episodes: episodes)
        }
        let first = [show("A", "https://a.example/f"), show("B", "http://b.example/f", author: "Me")]
        let second = [
            show("C", "https://c.example/f"),
            show("B again", "https://B.example:443/f/", author: "You", episodes: 4),
            show("B with a query", "https://b.example/f?x=1"),
        ]
        let both = show("B", "http://b.example/f", author: "Me", episodes: 4)
        #expect(FoundShow.merged([first, second]) == [first[0], both, second[0], second[2]])
        #expect(FoundShow.merged([first, second], limit: 2) == [first[0], both])
        #expect(FoundShow.merged([]).isEmpty)
    }
}
