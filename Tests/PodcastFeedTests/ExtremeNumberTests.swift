import PodcastFeed
import TestSupport
import Testing

/// Documents in which every number is absurd.
@Suite struct ExtremeNumberTests {
    private static func rss(_ number: () -> String) -> String {
        """
        <rss version="2.0" xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"
         xmlns:podcast="https://podcastindex.org/namespace/1.0" xmlns:psc="http://podlove.org/simple-chapters"
         xmlns:sy="http://purl.org/rss/1.0/modules/syndication/"><channel><title>T</title><ttl>\(number())</ttl>
        <sy:updatePeriod>yearly</sy:updatePeriod><sy:updateFrequency>\(number())</sy:updateFrequency>
        <podcast:updateFrequency rrule="FREQ=WEEKLY;INTERVAL=\(number());COUNT=\(number())">x</podcast:updateFrequency>
        <podcast:trailer url="https://e/t.mp3" length="\(number())" season="\(number())" pubdate="\(number())">t</podcast:trailer>
        <item><title>I</title><guid>\(number())</guid><pubDate>\(number())</pubDate>
        <enclosure url="https://e/1.mp3" length="\(number())" type="audio/mpeg"/>
        <itunes:duration>\(number())</itunes:duration><itunes:season>\(number())</itunes:season>
        <itunes:episode>\(number())</itunes:episode><podcast:soundbite startTime="\(number())" duration="\(number())"/>
        <podcast:alternateEnclosure type="audio/opus" length="\(number())" bitrate="\(number())" height="\(number())">
        <podcast:source uri="https://e/1.opus"/></podcast:alternateEnclosure>
        <psc:chapters><psc:chapter start="\(number())" title="c"/></psc:chapters>
        </item></channel></rss>
        """
    }

    private static func json(_ number: () -> String) -> String {
        """
        {"version":"https://jsonfeed.org/version/1.1","title":"T","items":[{"id":\(number()),"title":"I",
        "date_published":\(number()),"attachments":[{"url":"https://e/1.mp3","mime_type":"audio/mpeg",
        "size_in_bytes":\(number()),"duration_in_seconds":\(number())}]}]}
        """
    }

    private static func videos(_ number: () -> String) -> String {
        """
        [{"id":\(number()),"title":"V","movie":{"url":"https://e/1.mp4","size":\(number())},"published":\(number()),
        "duration":\(number()),"size":\(number())}]
        """
    }

    private static func expectBounds(_ feed: Feed, _ text: String) {
        #expect((feed.updateInterval ?? 1) > 0 && (feed.updateInterval ?? 1) <= 1 << 32, "\(text)")
        for item in feed.items {
            for media in item.enclosures + item.alternates.flatMap(\.enclosures) {
                #expect((1...1 << 44).contains(media.length ?? 1), "\(text)")
            }
            #expect((item.duration ?? 1) > 0 && (item.duration ?? 1) <= 1e9, "\(text)")
            #expect((0...1_000_000_000).contains(item.season ?? 0) && (0...1e9).contains(item.episode ?? 0), "\(text)")
            #expect(item.chapters.allSatisfy { (0...1e9).contains($0.start) }, "\(text)")
            // The parser accepts no date from the year 10000 on, which begins at 253,402,300,800 s.
            #expect((item.published?.seconds ?? 0).magnitude < 253_500_000_000, "\(text)")
            _ = (item.published?.iso8601, item.published?.rfc822)
        }
        _ = feed.inspectJSON()
    }

    @Test func numbersOfFeedsAreBounded() throws {
        var dice = SeededGenerator(seed: 7)
        var dated = 0
        for _ in 0..<700 {
            let rss = Self.rss { ExtremeNumbers.text(using: &dice) }
            let feed = try FeedParser.parse(Array(rss.utf8))
            #expect(feed.items.count == 1)
            Self.expectBounds(feed, rss)
            for document in [
                Self.json { ExtremeNumbers.json(using: &dice) }, Self.videos { ExtremeNumbers.json(using: &dice) },
            ] {
                // Some literals are not valid JSON.
                guard let feed = try? FeedParser.parse(Array(document.utf8)) else { continue }
                Self.expectBounds(feed, document)
                if feed.items.first?.published != nil { dated += 1 }
            }
        }
        #expect(dated > 10)
    }

    @Test(arguments: ExtremeNumbers.integers)
    func anyTimeCanBeFormatted(seconds: Int64) throws {
        let date = PublicationDate(seconds: seconds, offset: 0)
        #expect(date.iso8601.hasSuffix("Z") && date.rfc822.hasSuffix("GMT"))
        let clock = try #require(date.iso8601.split(separator: "T").last)
        #expect(clock.wholeMatch(of: /[0-2][0-9]:[0-5][0-9]:[0-5][0-9]Z/) != nil, "\(date.iso8601)")
    }
}
