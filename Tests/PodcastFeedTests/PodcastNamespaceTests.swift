import Testing

@testable import PodcastFeed

/// The properties of a parsed feed that come from the `podcast:` namespace and similar extensions.
@Suite struct PodcastNamespaceTests {
    private let feed: Feed

    init() throws {
        feed = try FeedParser.parse(
            FixtureTests.bytes("podcast-everything.xml"), base: "https://x.example/show/feed.xml")
    }

    @Test func factsOfTheShow() {
        #expect(feed.guid == "917393e3-1b1e-5cef-ace4-edaa54e1f810")
        #expect(feed.isLocked == true)
        #expect(feed.medium == "audiobook")
        #expect(feed.isComplete)
        #expect(feed.next == "https://x.example/feed?page=2")
        #expect(feed.previousArchive == "https://x.example/feed/2025")
        #expect(feed.newFeedURL == "https://new.example/feed")
        #expect(feed.updateInterval == 86_400)
    }

    @Test func showWithoutTheseElementsHasNoSuchFacts() throws {
        let feed = try FeedParser.parse(FixtureTests.bytes("no-items.xml"))
        #expect(feed.isLocked == nil && feed.medium == nil && feed.previousArchive == nil)
        #expect(!feed.isComplete)
        #expect(feed.persons.isEmpty && feed.funding.isEmpty && feed.trailers.isEmpty && feed.liveItems.isEmpty)
    }

    @Test func fundingNeedsAnAddressButNoName() {
        #expect(
            feed.funding == [
                WebLink(url: "https://pay.example/?a=1&b=2", title: "Support us"),
                WebLink(url: "https://pay.example/none"),
            ])
    }

    @Test func peopleOfAnItemReplaceThoseOfTheShow() {
        let ann = Person(
            name: "Ann & Co.", role: "guest", group: "writing", image: "https://x.example/p/ann.jpg",
            link: "https://ann.example/")
        #expect(feed.persons == [ann, Person(name: "Bob", role: "host", group: "cast")])
        #expect(feed.persons(of: feed.items[0]) == [Person(name: "Dora", role: "guest")])
        #expect(feed.persons(of: feed.items[1]) == feed.persons)
    }

    @Test func trailersNeedAnAddress() {
        #expect(
            feed.trailers == [
                Trailer(
                    media: Enclosure(url: "https://x.example/t1.mp3", length: 12, type: "audio/mpeg"),
                    title: "Second season", published: PublicationDate(parsing: "2026-11-20T10:00:00Z"), season: 2),
                Trailer(media: Enclosure(url: "https://x.example/show/t2.mp4")),
            ])
    }

    @Test func broadcastsAreNotEpisodes() throws {
        #expect(feed.items.map(\.guid) == ["1", "2", "3"])
        let live = try #require(feed.liveItems.first)
        #expect(feed.liveItems.count == 1)
        #expect(live.status == "live")
        #expect(live.start?.iso8601 == "2026-11-20T10:00:00Z")
        #expect(live.end?.iso8601 == "2026-11-20T16:00:00Z")
        #expect(live.item.title == "On air" && live.item.guid == "live-1")
        #expect(live.item.enclosures == [Enclosure(url: "https://x.example/stream", type: "audio/mpeg")])
        #expect(live.item.persons.map(\.name) == ["Carol"])
    }

    @Test func seasonsHaveNamesAndEpisodesHaveDisplayTexts() {
        #expect(feed.items[0].season == 2 && feed.items[0].seasonName == "The Return & More")
        #expect(feed.items[0].episode == 3.5 && feed.items[0].episodeDisplay == "Ch. 3b")
        #expect(feed.items[1].seasonName == nil && feed.items[1].episodeDisplay == nil)
    }

    @Test func soundbitesNeedAStartAndADuration() {
        #expect(
            feed.items[0].soundbites == [
                Soundbite(start: 73, duration: 60.5, title: "Why?"), Soundbite(start: 60, duration: 30),
            ])
    }

    @Test func transcriptsAndChaptersKeepTheirDetails() {
        #expect(
            feed.items[0].transcripts == [
                Transcript(
                    url: "https://x.example/show/1.vtt", type: "text/vtt", language: "de", relation: "captions"),
                Transcript(url: "https://x.example/show/1.html", type: "text/html"),
            ])
        #expect(feed.items[0].chaptersURL == "https://x.example/show/c.json")
        #expect(
            feed.items[0].chapters == [
                Chapter(
                    start: 0, title: "Intro", link: "https://x.example/intro", image: "https://x.example/i.png")
            ])
    }

    @Test func renditionsKeepTheirSourcesAndIntegrity() throws {
        let item = feed.items[0]
        #expect(item.enclosures == [Enclosure(url: "https://x.example/1.mp3", length: 5, type: "audio/mpeg")])
        #expect(item.alternates.count == 2)
        let opus = try #require(item.alternates.first)
        #expect(opus.type == "audio/opus" && opus.length == 32_400_788 && opus.bitRate == 96_000.5 && opus.isDefault)
        #expect(opus.title == "High" && opus.relation == "hq" && opus.codecs == "opus" && opus.language == "en")
        #expect(opus.sources.map(\.url).count == 3)
        #expect(opus.sources[1] == AlternateEnclosure.Source(url: "ipfs://Qm1"))
        #expect(opus.sources[2].type == "application/x-bittorrent")
        #expect(opus.integrity?.type == "sri")
        #expect(opus.integrity?.value.hasPrefix("sha384-ExVqij") == true)
        #expect(
            opus.enclosures == [
                Enclosure(url: "https://x.example/1.opus", length: 32_400_788, type: "audio/opus"),
                Enclosure(
                    url: "https://x.example/1.opus.torrent", length: 32_400_788, type: "application/x-bittorrent"),
            ])
        let video = try #require(item.alternates.last)
        #expect(video.height == 720 && video.length == nil && video.integrity == nil && !video.isDefault)
        #expect(video.sources.map(\.url) == ["https://x.example/show/1.mp4"])
    }

    @Test func squareArtOfAtLeast600PixelsIsChosenThenTheWidest() {
        #expect(feed.image == "https://x.example/640.jpg")
        #expect(
            feed.items.map(\.image) == [
                "https://x.example/d.jpg", "https://x.example/only.jpg", "https://x.example/f.jpg",
            ])
    }

    @Test func showNotesComeFromTheMostDetailedElement() {
        #expect(feed.items.map(\.description) == ["<p>Encoded</p>", "Description", "Summary"])
    }

    @Test func unknownElementsAreIgnoredSilently() throws {
        let feed = try FeedParser.parse(FixtureTests.bytes("everything-passed-over.xml"))
        #expect(feed.title == "Others")
        #expect(feed.items.count == 1)
        #expect(feed.diagnostics.isEmpty)
    }

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
