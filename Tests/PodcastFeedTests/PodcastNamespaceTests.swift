import Testing

@testable import PodcastFeed

/// Elements of the `podcast:` namespace that are many or malformed. The fixtures have the usual ones.
@Suite struct PodcastNamespaceTests {
    @Test func listsAreBounded() throws {
        var limits = FeedLimits.standard
        limits.entries = 3
        let many = { (text: String) in String(repeating: text, count: 9) }
        let distinct = { (text: (Int) -> String) in (0..<9).map(text).joined() }
        let feed = try FeedParser.parse(
            Array(
                """
                <rss xmlns:podcast="https://podcastindex.org/namespace/1.0"><channel>
                \(distinct { "<podcast:person>\($0)</podcast:person>" })
                \(distinct { "<podcast:funding url='https://x.example/\($0)'/>" })
                \(distinct { "<podcast:trailer url='https://x.example/\($0)'>t</podcast:trailer>" })
                \(many("<podcast:liveItem><title>l</title></podcast:liveItem>"))
                <item>\(distinct { "<podcast:soundbite startTime='\($0)' duration='1'/>" })
                \(many("<podcast:alternateEnclosure>\(many("<podcast:source uri='https://x.example/a'/>"))"
                    + "</podcast:alternateEnclosure>"))</item>
                </channel></rss>
                """.utf8), limits: limits)
        #expect(feed.persons.count == 3 && feed.funding.count == 3 && feed.trailers.count == 3)
        #expect(feed.liveItems.count == 3)
        #expect(feed.items.first?.soundbites.count == 3)
        #expect(feed.items.first?.alternates.count == 3)
        #expect(feed.items.first?.alternates.flatMap(\.sources).count == 3)
    }

    // MARK: Bad input

    @Test func hugeListsAreCutAndTheEpisodeIsKept() throws {
        let many = 10_000
        let parts = [
            "<podcast:alternateEnclosure type=\"audio/opus\"><podcast:source uri=\"https://x.example/#.opus\"/>"
                + "<podcast:integrity type=\"rot13\" value=\"zzz\"/></podcast:alternateEnclosure>",
            "<podcast:person>P#</podcast:person>", "<podcast:soundbite startTime=\"#\" duration=\"5\"/>",
            "<podcast:location>L#</podcast:location>", "<podcast:txt>T#</podcast:txt>",
            "<podcast:socialInteract protocol=\"x\" uri=\"https://x.example/#\"/>",
            "<podcast:remoteItem feedGuid=\"g#\"/>", "<podcast:image href=\"https://x.example/#.png\"/>",
            "<podcast:value type=\"v\"><podcast:valueRecipient address=\"a\"/><podcast:valueTimeSplit startTime=\"1\" duration=\"2\">"
                + "<podcast:valueRecipient address=\"b\"/></podcast:valueTimeSplit></podcast:value>",
        ]
        let inside = parts.map { part in (0..<many).map { part.replacing("#", with: "\($0)") }.joined() }.joined()
        let recipients =
            "<podcast:value type=\"v\">"
            + String(repeating: "<podcast:valueRecipient address=\"a\"/>", count: many) + "</podcast:value>"
        let feed = try FeedParser.parse(
            Array(
                ("<rss><channel>\(recipients)<item><guid>1</guid><enclosure url=\"https://x.example/1.mp3\"/>\(inside)</item>"
                    + "<item><guid>2</guid></item></channel></rss>").utf8))
        let limit = FeedLimits.standard.entries
        #expect(feed.items.map(\.guid) == ["1", "2"])
        let item = try #require(feed.items.first)
        #expect(item.enclosures.map(\.url) == ["https://x.example/1.mp3"])
        #expect(item.alternates.count == limit && item.persons.count == limit && item.soundbites.count == limit)
        #expect(item.alternates.first?.integrity?.type == "rot13")
        #expect(item.tags.locations.count == limit && item.tags.texts.count == limit && item.tags.images.count == limit)
        #expect(item.tags.values.count == limit && item.tags.remoteItems.count == limit)
        #expect(item.tags.values.allSatisfy { $0.recipients.count == 1 && $0.timeSplits.count == 1 })
        #expect(feed.tags.values.first?.recipients.count == limit)
    }

    @Test(arguments: ["", "-1", "nan", "1e400", "99999999999999999999", "0x10", "\u{1F399}", " ", "true", "<"])
    func malformedNumbersDoNotAffectOtherFields(number: String) throws {
        let value = number.replacing("<", with: "&lt;")
        let feed = try FeedParser.parse(
            Array(
                """
                <rss><channel><podcast:image href="https://x.example/a.png" width="\(value)" height="\(value)"/>\
                <podcast:trailer url="https://x.example/t.mp3" length="\(value)" season="\(value)" pubdate="\(value)">T</podcast:trailer>\
                <item><guid>1</guid><podcast:season>\(value)</podcast:season><podcast:episode>\(value)</podcast:episode>\
                <podcast:soundbite startTime="\(value)" duration="\(value)"/>\
                <podcast:value type="v" suggested="\(value)"><podcast:valueRecipient address="a" split="\(value)" fee="\(value)"/>\
                <podcast:valueTimeSplit startTime="\(value)" duration="\(value)" remotePercentage="\(value)"/></podcast:value>\
                <podcast:alternateEnclosure type="audio/mpeg" length="\(value)" bitrate="\(value)" height="\(value)">\
                <podcast:source uri="https://x.example/1.mp3"/></podcast:alternateEnclosure></item></channel></rss>
                """.utf8))
        #expect(feed.trailers.map(\.media.url) == ["https://x.example/t.mp3"] && feed.trailers.first?.title == "T")
        #expect(feed.tags.images.map(\.url) == ["https://x.example/a.png"])
        #expect(feed.items.map(\.guid) == ["1"])
        let item = try #require(feed.items.first)
        #expect(item.enclosures.map(\.url) == ["https://x.example/1.mp3"])
        #expect(item.enclosures.map(\.type) == ["audio/mpeg"])
        #expect(item.tags.values.map(\.type) == ["v"])
        #expect(item.tags.values.first?.recipients.map(\.address) == ["a"])
        #expect(!feed.inspectJSON().isEmpty)
    }

    @Test func recipientsOfAnUnreadableTimeSplitAreIgnored() throws {
        let feed = try FeedParser.parse(
            Array(
                """
                <rss xmlns:podcast="https://podcastindex.org/namespace/1.0"><channel><item><podcast:value type="lightning">
                <podcast:valueTimeSplit startTime="10" duration="5"><podcast:valueRecipient address="a"/>
                </podcast:valueTimeSplit>
                <podcast:valueTimeSplit startTime="?" duration="5"><podcast:valueRecipient address="b"/>
                <podcast:remoteItem feedGuid="g"/></podcast:valueTimeSplit>
                <podcast:valueRecipient address="c"/></podcast:value></item></channel></rss>
                """.utf8))
        let value = try #require(feed.items.first?.tags.values.first)
        #expect(value.timeSplits.map { $0.recipients.map(\.address) } == [["a"]])
        #expect(value.timeSplits.first?.remoteItem == nil && value.recipients.map(\.address) == ["c"])
    }
}
