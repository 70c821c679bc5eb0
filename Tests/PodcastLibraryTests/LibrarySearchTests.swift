import PodcastFeed
import PodcastProtocol
import Testing
import Transfers

@testable import PodcastLibrary

struct LibrarySearchTests {
    private var (folder, library) = makeLibrary()

    private func found(_ title: String, _ path: String, subscribed: String? = nil) -> FoundShow {
        FoundShow(title: title, author: "A", url: "https://e.com/\(path)", subscribed: subscribed)
    }

    @Test func resultsGetPermanentRowsAndUniqueNames() throws {
        let first = try library.store(found: [found("News", "1"), found("news", "2"), found("a/b\n.", "3")], now: noon)
        #expect(first.map(\.name) == ["News", "news (2)", "a-b ."])
        #expect(Set(first.map(\.podcast)).count == 3)
        let row = try #require(try library.podcast(id: first[0].podcast))
        #expect(row.ephemeral && row.url == "https://e.com/1" && row.author == "A" && row.lastRefresh == nil)
        // In another order, with other results, with another title: the same rows and names.
        let again = try library.store(
            found: [found("NEWS", "2"), found("News", "4"), found("Newest", "1")], now: noon + 5)
        #expect(again.map(\.name) == ["news (2)", "News (3)", "News"])
        #expect(again[0].podcast == first[1].podcast && again[2].podcast == first[0].podcast)
        #expect(try library.podcasts().isEmpty && library.folders().isEmpty)
        #expect(try library.folder(named: "News") == nil)
        #expect(try library.foundFolder(named: "News")?.id == first[0].podcast)
        #expect(try library.foundFolder(named: "NEWS") == nil)
    }

    @Test func aSubscribedShowIsFoundUnderItsName() throws {
        let show = try library.subscribe([makeItem("One", url: "https://e.com/1.mp3")], url: "https://e.com/1").podcast
        let results = try library.store(
            found: [
                found("Show", "2"), found("Other", "1"), found("Other", "1b", subscribed: show.name),
            ], now: noon)
        #expect(results.map(\.name) == ["Show (2)", "Show"])
        #expect(results[1].podcast == show.id)
        #expect(try !library.isEphemeral(podcast: show.id) && library.isEphemeral(podcast: results[0].podcast))
        // The show is renamed to the name of another result. Among the results the show keeps its new name, and the
        // other result gets another one.
        try library.renamePodcast(id: show.id, to: "Show (2)")
        let after = try library.store(found: [found("Show", "2"), found("Show", "1")], now: noon)
        #expect(after.map(\.name) == ["Show (2) (2)", "Show (2)"])
    }

    @Test func theAgeOfAResultCountsFromItsLastSearch() throws {
        let ids = try library.store(found: [found("A", "1"), found("B", "2"), found("C", "3")], now: noon).map(
            \.podcast)
        _ = try library.store(found: [found("B", "2")], now: noon + 10)
        try library.renew(found: [ids[2]], now: noon + 10)
        let old = try library.merge([makeItem("One", url: "https://e.com/1.mp3")], into: ids[0]).inserted[0]
        try library.pin(Rendition(episode: old, generation: 1, file: "f"), now: noon)
        #expect(try library.purgeEphemeral(before: noon + 5).map(\.file) == ["f"])
        #expect(try ids.map { try library.podcast(id: $0) != nil } == [false, true, true])
        // A purged result gets a new row; ids are not reused.
        let new = try library.store(found: [found("A", "1")], now: noon + 10)
        #expect(new[0].name == "A" && new[0].podcast > ids[2])
    }

    @Test func aResultBecomesASubscriptionWithItsIds() throws {
        let id = try library.store(found: [found("Catalogue's title", "1")], now: noon)[0].podcast
        let items = [makeItem("One", url: "https://e.com/1.mp3")]
        let listed = try library.merge(items, into: id)
        #expect(listed.podcast.ephemeral && listed.inserted.count == 1)
        try library.pin(Rendition(episode: listed.inserted[0], generation: 1, file: "f"), now: noon)
        #expect(try library.ephemeralRenditions().map(\.file) == ["f"])
        #expect(try library.opening(of: listed.inserted[0])?.isEphemeral == true)
        let subscribed = try library.subscribe(items, url: "https://e.com/1")
        #expect(subscribed.podcast.id == id && subscribed.podcast.name == "Show" && subscribed.inserted.isEmpty)
        #expect(try library.purgeEphemeral(before: .max).isEmpty && library.podcasts().count == 1)
        #expect(try library.rendition(of: listed.inserted[0])?.file == "f")
        #expect(try library.opening(of: listed.inserted[0])?.isEphemeral == false)
        #expect(try library.ephemeralRenditions().isEmpty)
    }

    @Test func pinnedEpisodesAreNotLeftovers() throws {
        let id = try library.store(found: [found("A", "1")], now: noon)[0].podcast
        let episode = try library.merge([makeItem("One", url: "https://e.com/1.mp3")], into: id).inserted[0]
        try library.pin(Rendition(episode: episode, generation: 1, file: "f"), now: noon)
        #expect(try library.ephemeralPodcastsPinned().isEmpty)
        try library.setPinned(episode: episode, true, now: noon)
        #expect(try library.ephemeralRenditions().isEmpty)
        #expect(try library.ephemeralPodcastsPinned() == [id])
    }

    @Test func resultsAreBounded() throws {
        for page in 0..<26 {
            let shows = (0..<200).map { found("Show", "\(page)-\($0)") }
            _ = try library.store(found: shows, now: noon + Int64(page))
        }
        #expect(try library.podcast(url: "https://e.com/0-0") == nil)
        #expect(try library.podcast(url: "https://e.com/0-199") == nil)
        #expect(try library.podcast(url: "https://e.com/1-0") != nil)
        #expect(try library.podcast(url: "https://e.com/25-199") != nil)
    }
}
