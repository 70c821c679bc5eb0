import PodcastFeed
import PodcastProtocol
import Testing
import Transfers

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
        let limits = SummaryLimits(notes: 0, notesInAll: 0, chapters: 0, chaptersInAll: 0)
        let id = try summaries(limits)[0].id
        try library.pin(Rendition(episode: id, generation: 1, file: "a", size: 7, received: 7), now: noon)
        let item = makeItem(
            "4", guid: "4", url: "https://example.com/4.mp3", published: noon + 4 * day, duration: 60, length: 600_000)
        _ = try library.merge([item], into: podcast)
        let entry = try #require(try library.entry(id: id))
        #expect(entry.size == 7)
        #expect(try summaries(limits).first { $0.id == id }?.size == entry.size)
    }

    @Test func detailsBeyondTheLimitsAreOmitted() throws {
        let short = try summaries(SummaryLimits(notes: 40, notesInAll: 1_000, chapters: 2, chaptersInAll: 100))
        #expect(short.map { $0.notes?.count } == [nil, nil, 20, 10] && short.map(\.chapters.count) == [2, 2, 2, 1])
        let few = try summaries(SummaryLimits(notes: 100, notesInAll: 100, chapters: 10, chaptersInAll: 5))
        #expect(few.map { $0.notes?.count } == [40, nil, nil, nil] && few.map(\.chapters.count) == [4, 1, 0, 0])
        let none = try summaries(SummaryLimits(notes: 0, notesInAll: 0, chapters: 0, chaptersInAll: 0))
        #expect(none.count == 4 && none.allSatisfy { $0.notes == nil && $0.chapters.isEmpty })
    }

    @Test func cachedEpisodesAreMarkedAndBuriedOnesOmitted() throws {
        let limits = SummaryLimits(notes: 0, notesInAll: 0, chapters: 0, chaptersInAll: 0)
        let id = try summaries(limits)[1].id
        try library.pin(
            Rendition(episode: id, generation: 1, file: "a", size: 7, received: 7), now: noon)
        try library.complete(episode: id, generation: 1, size: 7, sha256: "", now: noon + 5)
        _ = try library.bury(episodes: [try summaries(limits)[0].id], now: noon)
        let found = try summaries(limits)
        #expect(found.map(\.title) == ["3", "2", "1"] && found.map(\.complete) == [true, false, false])
        #expect(found[0].size == 7 && found[0].sizeSource == .server && found[0].changed == noon + 5)
    }
}
