import Platform
import PodcastProtocol
import Testing
import Transfers

@testable import PodcastFeed
@testable import PodcastLibrary

/// Tests of the details of shows and episodes that the library stores for their HTML pages.
struct LibraryDetailTests {
    private var (folder, library) = makeLibrary()

    private func summaries(of podcast: ShowID) throws -> [EpisodeSummary] {
        var found: [EpisodeSummary] = []
        let limits = SummaryLimits(notes: 100, notesInAll: 100, chapters: 10, chaptersInAll: 10)
        try library.summaries(of: podcast, limits: limits) { found.append($0) }
        return found
    }

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
            try summaries(of: show.id).map(\.details) == [item.details] && item.details?.discussions.isEmpty == true)
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
        #expect(try summaries(of: show.id).first?.details?.persons == [Person(name: "Nora")])
        feed.funding = []
        let poorer = try library.merge(feed: feed, into: show.id, now: noon + 3)
        #expect(poorer.podcast.changed == noon + 3)

        let bare = try library.merge([makeItem("One", guid: "1", url: "https://e.com/1.mp3")], into: show.id)
        #expect(bare.updated.count == 1)
        #expect(try summaries(of: show.id).map(\.details) == [nil])
        #expect(try library.details(ofShow: show.id) == nil)
        #expect(try library.refreshRecord(of: show.id).quietTimes == QuietTimes())
    }
}
