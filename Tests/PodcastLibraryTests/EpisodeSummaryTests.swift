import Platform
import PodcastProtocol
import Testing
import Transfers

@testable import PodcastFeed
@testable import PodcastLibrary

/// The episode data that a page reads from the library.
struct EpisodeSummaryTests {
    private var (folder, library) = makeLibrary()
    private let podcast: ShowID

    init() throws {
        let items = (1...4).map { number in
            var item = makeItem(
                "\(number)", guid: "\(number)", url: "https://example.com/\(number).mp3",
                published: noon + Int64(number) * day, offset: 3_600, duration: 60, length: 500_000)
            // Two bytes per character.
            item.description = number == 3 ? nil : String(repeating: "ü", count: number * 10)
            item.chapters = (0..<number).map { Chapter(start: Double($0), title: "c\($0)") }
            return item
        }
        podcast = try library.subscribe(feed: makeFeed(items)).podcast.id
    }

    private func summaries(_ limits: SummaryLimits) throws -> [EpisodeSummary] {
        var found: [EpisodeSummary] = []
        try library.summaries(of: podcast, limits: limits) { found.append($0) }
        return found
    }

    @Test func summariesAreOrderedNewestFirst() throws {
        let found = try summaries(SummaryLimits(notes: 1_000, notesInAll: 1_000, chapters: 10, chaptersInAll: 100))
        #expect(found.map(\.title) == ["4", "3", "2", "1"])
        #expect(found.map { $0.notes?.count } == [40, nil, 20, 10] && found.map(\.chapters.count) == [4, 3, 2, 1])
        let first = try #require(found.first)
        let entry = try #require(try library.entry(id: first.id))
        #expect(first.name == entry.name && first.size == 500_000 && first.sizeSource == .feed && !first.complete)
        #expect(first.publishedOffset == 3_600 && first.duration == 60 && first.sidecars == entry.sidecars)
        #expect(first.chapters[1] == Chapter(start: 1, title: "c1"))
    }

    @Test func theSizeIsThatOfTheFileAlsoAfterTheFeedHasChanged() throws {
        let id = try library.summaries(of: podcast)[0].id
        try library.pin(Rendition(episode: id, generation: 1, file: "a", size: 7, received: 7), now: noon)
        let item = makeItem(
            "4", guid: "4", url: "https://example.com/4.mp3", published: noon + 4 * day, duration: 60, length: 600_000)
        _ = try library.merge([item], into: podcast)
        let entry = try #require(try library.entry(id: id))
        #expect(entry.size == 7)
        #expect(try library.summaries(of: podcast).first { $0.id == id }?.size == entry.size)
    }

    @Test func detailsBeyondTheLimitsAreOmitted() throws {
        let short = try summaries(SummaryLimits(notes: 40, notesInAll: 1_000, chapters: 2, chaptersInAll: 100))
        #expect(short.map { $0.notes?.count } == [nil, nil, 20, 10] && short.map(\.chapters.count) == [2, 2, 2, 1])
        let few = try summaries(SummaryLimits(notes: 100, notesInAll: 100, chapters: 10, chaptersInAll: 5))
        #expect(few.map { $0.notes?.count } == [40, nil, nil, nil] && few.map(\.chapters.count) == [4, 1, 0, 0])
        let none = try library.summaries(of: podcast, notes: 0, chapters: 0)
        #expect(none.count == 4 && none.allSatisfy { $0.notes == nil && $0.chapters.isEmpty })
    }

    @Test func cachedEpisodesAreMarkedAndBuriedOnesOmitted() throws {
        let id = try library.summaries(of: podcast)[1].id
        try library.pin(
            Rendition(episode: id, generation: 1, file: "a", size: 7, received: 7), now: noon)
        try library.complete(episode: id, generation: 1, size: 7, sha256: "", now: noon + 5)
        _ = try library.bury(episodes: [try library.summaries(of: podcast)[0].id], now: noon)
        let found = try library.summaries(of: podcast)
        #expect(found.map(\.title) == ["3", "2", "1"] && found.map(\.complete) == [true, false, false])
        #expect(found[0].size == 7 && found[0].sizeSource == .server && found[0].changed == noon + 5)
    }
}

/// Tests of the details of shows and episodes that the library stores for their HTML pages.
struct LibraryDetailTests {
    private var (folder, library) = makeLibrary()

    @Test func detailsAreKeptChangedAndRemovedWithTheFeed() throws {
        var item = makeItem("One", guid: "1", url: "https://e.com/1.mp3")
        item.season = 2
        item.seasonName = "Winter"
        item.persons = [Person(name: "Piet", role: "guest")]
        item.soundbites = [Soundbite(start: 1.5, duration: 3)]
        item.tags.socialInteracts = [SocialInteract(network: "disabled")]
        var feed = makeFeed([item])
        feed.funding = [WebLink(url: "https://e.com/pay")]
        feed.trailers = [Trailer(media: Enclosure(url: "https://e.com/t.mp3", length: 5, type: "audio/mpeg"))]
        feed.skipHours = [0, 23]
        feed.skipDays = ["sunday", "saturday"]
        let show = try library.subscribe(feed: feed).podcast
        #expect(try library.details(ofShow: show.id) == feed.details && feed.details != nil)
        #expect(
            try library.summaries(of: show.id).map(\.details) == [item.details]
                && item.details?.discussions.isEmpty == true)
        let quiet = QuietTimes(hours: [0, 23], days: [0, 6])
        #expect(try library.refreshRecord(of: show.id).quietTimes == quiet)
        #expect(try library.refreshSubjects().map(\.quietTimes) == [quiet])

        // A merge of an equal feed does not change the show's change time. A merge of a feed with another person sets
        // it.
        let same = try library.merge(feed: feed, into: show.id, now: noon + 1)
        #expect(same.updated.isEmpty && same.podcast.changed == noon)
        feed.items[0].persons = [Person(name: "Nora")]
        let other = try library.merge(feed: feed, into: show.id, now: noon + 2)
        #expect(other.updated.count == 1 && other.podcast.changed == noon + 2)
        #expect(try library.summaries(of: show.id).first?.details?.persons == [Person(name: "Nora")])
        feed.funding = []
        let poorer = try library.merge(feed: feed, into: show.id, now: noon + 3)
        #expect(poorer.podcast.changed == noon + 3)

        let bare = try library.merge([makeItem("One", guid: "1", url: "https://e.com/1.mp3")], into: show.id)
        #expect(bare.updated.count == 1)
        #expect(try library.summaries(of: show.id).map(\.details) == [nil])
        #expect(try library.details(ofShow: show.id) == nil)
        #expect(try library.refreshRecord(of: show.id).quietTimes == QuietTimes())
    }
}
