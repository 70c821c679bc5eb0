import Foundation
import PodcastFeed
import Testing
import Transfers

@testable import PodcastLibrary

struct LibraryMergeTests {
    private var (folder, library) = makeLibrary()

    @Test func subscribingStoresTheDataOfTheFeed() throws {
        var item = makeItem(
            "One", guid: "g1", url: "https://e.com/1.mp3", offset: 3600, duration: 1800, length: 30_000_000)
        item.season = 2
        item.episode = 7.5
        item.episodeType = "bonus"
        item.explicit = true
        item.link = "https://e.com/one"
        item.description = "<p>notes</p>"
        item.image = "https://e.com/one.jpg"
        item.author = "A. Author"
        item.enclosures.append(Enclosure(url: "https://e.com/1.opus", length: 9, type: "audio/ogg"))
        item.transcripts = [Transcript(url: "https://e.com/1.vtt", type: "text/vtt", language: "en")]
        item.chaptersURL = "https://e.com/1.json"
        item.chapters = [Chapter(start: 0, title: "Start", image: "https://x.example/a.jpg"), Chapter(start: 61.5)]
        var feed = makeFeed([item, Item()])
        feed.description = "About"
        feed.language = "en-GB"
        feed.type = "serial"
        feed.explicit = false
        let result = try library.subscribe(feed: feed)
        #expect(result.skipped == 1 && result.inserted.count == 1)

        let podcast = try #require(try library.podcast(named: "Show"))
        #expect(podcast == result.podcast)
        #expect(podcast.description == "About" && podcast.language == "en-GB" && podcast.type == "serial")
        #expect(podcast.explicit == false && podcast.guid == nil && podcast.etag == "\"1\"")
        #expect(podcast.state == "active" && podcast.httpStatus == 200 && podcast.lastRefresh == noon)
        #expect(podcast.episodes == 1 && podcast.cached == 0 && !podcast.ephemeral && podcast.unplayable == 1)
        #expect(try library.podcast(url: feedURL) == podcast)

        let episode = try #require(try library.episode(of: podcast.id, named: "2026-11-20 One.mp3"))
        #expect(
            episode
                == Episode(
                    id: result.inserted[0], podcast: podcast.id, name: "2026-11-20 One.mp3", guid: "g1", title: "One",
                    published: noon, publishedOffset: 3600, duration: 1800, url: "https://e.com/1.mp3",
                    type: "audio/mpeg", length: 30_000_000, season: 2, episode: 7.5, episodeType: "bonus",
                    explicit: true, link: "https://e.com/one", notes: "<p>notes</p>", image: "https://e.com/one.jpg",
                    author: "A. Author", firstSeen: noon, changed: noon,
                    sidecars: [.notes, .art, .chapters, .vtt, .alternates]))
        #expect(
            try library.extras(of: episode.id)
                == EpisodeExtras(
                    transcripts: item.transcripts, chaptersURL: item.chaptersURL, chapters: item.chapters))

        let entry = try #require(try library.entry(of: podcast.id, named: episode.name))
        #expect(entry.size == 30_000_000 && entry.sizeSource == .feed && entry.sidecars == episode.sidecars)
        #expect(try library.entry(id: episode.id) == entry)
        #expect(try library.entry(of: podcast.id, stem: "2026-11-20 One") == entry)
        #expect(try library.entry(of: podcast.id, named: "2026-11-20 one.mp3") == nil, "names are exact")
        #expect(try library.entry(of: podcast.id, named: "2026-11-20 One.opus") == nil)

        item.chapters[1].image = "https://x.example/b.jpg"
        #expect(try library.merge([item], into: podcast.id).updated == [episode.id])
        #expect(try library.extras(of: episode.id).chapters == item.chapters)
    }

    @Test func subscribingTwiceThrowsAnErrorWithTheName() throws {
        _ = try library.subscribe([], title: "My Show")
        #expect(throws: LibraryError.alreadySubscribed(name: "My Show")) { try library.subscribe([]) }
        // The new address redirects to that of the subscribed feed.
        #expect(throws: LibraryError.alreadySubscribed(name: "My Show")) {
            try library.subscribe(url: "https://short.example/x", feed: makeFeed([]))
        }
        #expect(try library.podcasts().count == 1)
    }

    @Test func folderNamesAreUniqueAndNotReserved() throws {
        let names = ["News": "News", "Latest": "Latest (2)", ".search": "search"]
        for (title, name) in names {
            #expect(try library.subscribe([], url: "https://e.com/\(title)", title: title).podcast.name == name)
        }
        #expect(try library.subscribe([], url: "https://e.com/2", title: "NEWS").podcast.name == "NEWS (2)")
        let host = "https://user:secret@example.org/5"
        #expect(try library.subscribe([], url: host, title: nil).podcast.name == "example.org")
        #expect(throws: LibraryError.nameTaken("news")) {
            try library.subscribe([], url: "https://e.com/6", name: "news")
        }
        for name in ["", ".x", "a/b", "Downloaded", "a\nb", " a"] {
            #expect(throws: LibraryError.self) { try library.subscribe([], url: "https://e.com/7", name: name) }
        }
        #expect(try library.podcast(url: "https://e.com/7") == nil)
        #expect(try library.podcasts().map(\.name) == ["example.org", "Latest (2)", "News", "NEWS (2)", "search"])
    }

    @Test func episodesAreUniqueByStem() throws {
        let items = [
            makeItem("Same", url: "https://e.com/3.ogg", published: noon, type: "audio/ogg"),
            makeItem("same", url: "https://e.com/2.mp3", published: noon - 1),
            makeItem("Same", url: "https://e.com/1.mp3", published: noon - 2),
            makeItem("cover", url: "https://e.com/0.mp3", published: nil),
        ]
        let id = try library.subscribe(items).podcast.id
        // The undated episode is sorted by the time when it was first seen. Of the episodes with equal titles, the
        // oldest gets a name without a number.
        #expect(
            try library.entries(of: id).map(\.name) == [
                "cover (2).mp3", "2026-11-20 Same (3).ogg", "2026-11-20 same (2).mp3", "2026-11-20 Same.mp3",
            ])
    }

    @Test func aNewMediaURLClearsTheConfirmedSizeUnlessARenditionExists() throws {
        let items = ["1", "2"].map { makeItem("E" + $0, guid: $0, url: "https://e.com/\($0).mp3") }
        let first = try library.subscribe(items)
        let ids = try library.episodes(of: first.podcast.id).sorted { $0.title < $1.title }.map(\.id)
        try library.confirm(episode: ids[0], size: 100_000, now: noon)
        try library.pin(Rendition(episode: ids[1], generation: 1, file: "f", size: 200_000), now: noon)
        let moved = ["1", "2"].map { makeItem("E" + $0, guid: $0, url: "https://cdn.e.com/\($0).mp3") }
        #expect(try library.merge(moved, into: first.podcast.id).updated.count == 2)
        #expect(try library.episode(id: ids[0])?.confirmedSize == nil)
        #expect(try library.episode(id: ids[1])?.confirmedSize == 200_000)
        #expect(try library.entry(id: ids[1])?.size == 200_000)
        // After the eviction the new address applies, and no server has confirmed the size of its file.
        try library.dropRendition(episode: ids[1], now: noon + 2)
        #expect(try library.episode(id: ids[1])?.confirmedSize == nil)
        #expect(try library.entry(id: ids[1])?.sizeSource != .server)
    }

    @Test func aBuriedEpisodeReturnsOnlyAfterDelisting() throws {
        let one = makeItem("One", guid: "1", url: "https://e.com/1.mp3")
        let first = try library.subscribe([one])
        let (podcast, id) = (first.podcast.id, first.inserted[0])
        try library.pin(Rendition(episode: id, generation: 1, file: "f"), now: noon)
        #expect(try library.bury(episodes: [id], now: noon).map(\.file) == ["f"])
        #expect(try library.entries(of: podcast).isEmpty)
        #expect(try library.entry(id: id) == nil && library.episode(id: id) == nil)
        #expect(try library.podcast(id: podcast)?.episodes == 0)

        #expect(try library.merge([one], into: podcast).inserted.isEmpty)
        #expect(try library.entries(of: podcast).isEmpty)
        var changed = one
        changed.title = "One, again"
        _ = try library.merge([changed], into: podcast)
        #expect(try library.entries(of: podcast).isEmpty)

        #expect(try library.merge([], into: podcast).unlisted.isEmpty)
        let back = try library.merge([one], into: podcast, now: noon + 2 * day)
        #expect(back.inserted.isEmpty && back.updated == [id])
        let entry = try #require(try library.entries(of: podcast).first)
        #expect(entry.id == id && entry.name == "2026-11-20 One.mp3" && entry.generation == 2)
        #expect(entry.changed == noon + 2 * day)
    }

    @Test func idsAreNotReusedAfterUnsubscribing() throws {
        let first = try library.subscribe([makeItem("One", url: "https://e.com/1.mp3")])
        let download = try library.enqueue(episode: first.inserted[0], session: "s", now: noon)
        try library.pin(Rendition(episode: first.inserted[0], generation: 1, file: "f"), now: noon)
        try library.set(podcast: first.podcast.id, key: "keep", value: "listed")
        #expect(try library.unsubscribe(podcast: first.podcast.id).map(\.file) == ["f"])
        #expect(try library.podcasts().isEmpty && library.downloads().isEmpty && library.renditions().isEmpty)
        #expect(try library.settings(of: first.podcast.id).isEmpty)
        #expect(throws: LibraryError.noSuchPodcast(first.podcast.id)) {
            try library.unsubscribe(podcast: first.podcast.id)
        }

        let second = try library.subscribe([makeItem("One", url: "https://e.com/1.mp3")])
        #expect(second.podcast.id > first.podcast.id)
        #expect(second.inserted[0] > first.inserted[0])
        #expect(try library.enqueue(episode: second.inserted[0], session: "s", now: noon).id > download.id)
    }

    @Test func aFailedRefreshIsRecorded() throws {
        let id = try library.subscribe([]).podcast.id
        try library.refreshFailed(podcast: id, status: 500, error: "server error", next: noon + 900, now: noon + 1)
        let podcast = try #require(try library.podcast(id: id))
        #expect(podcast.state == "failed" && podcast.error == "server error" && podcast.httpStatus == 500)
        #expect(podcast.nextRefresh == noon + 900 && podcast.changed == noon + 1 && podcast.lastRefresh == noon)
        #expect(try library.refreshSubjects(dueAt: noon + 899).isEmpty)
        #expect(try library.refreshSubjects(dueAt: noon + 900).map(\.id) == [id])

        try library.refreshFailed(podcast: id, status: 410, isGone: true, error: "gone", next: noon, now: noon + 3)
        #expect(try library.podcast(id: id)?.state == "gone")
        #expect(try library.refreshSubjects(dueAt: .max).isEmpty)
    }

    @Test func movingASubscriptionChangesItsURL() throws {
        let id = try library.subscribe([]).podcast.id
        _ = try library.subscribe([], url: "https://e.com/other", title: "Other")
        _ = try library.merge([], into: id)
        #expect(try library.move(podcast: id, to: "https://new.example/feed", now: noon + 5).isEmpty)
        let podcast = try #require(try library.podcast(url: "https://new.example/feed"))
        #expect(podcast.id == id && podcast.etag == nil)
        #expect(throws: LibraryError.alreadySubscribed(name: "Other")) {
            try library.move(podcast: id, to: "https://e.com/other", now: noon)
        }
    }

    @Test func aMoveReplacesASearchResultAndReturnsItsFiles() throws {
        let id = try library.subscribe([]).podcast.id
        let found = try library.subscribe(
            url: "https://e.com/found", feed: makeFeed([makeItem("One", url: "https://e.com/1.mp3")], title: "Found"),
            response: FeedResponse(finalURL: "https://e.com/found", status: 200), ephemeral: true)
        let episode = try #require(found.inserted.first)
        try library.pin(Rendition(episode: episode, generation: 1, file: "f1", size: 7, received: 7), now: noon)
        #expect(try library.move(podcast: id, to: "https://e.com/found", now: noon).map(\.file) == ["f1"])
        #expect(try library.podcast(id: found.podcast.id) == nil && library.renditions().isEmpty)
        #expect(try library.podcast(url: "https://e.com/found")?.id == id)
    }

    @Test func renamesAreValidatedAndSurviveAMerge() throws {
        let items = ["A", "B"].map { (title: String) in
            makeItem(title, guid: title, url: "https://e.com/\(title).mp3", published: nil)
        }
        let first = try library.subscribe(items)
        let podcast = first.podcast.id
        let episode = try #require(try library.entry(of: podcast, named: "A.mp3")).id
        #expect(try library.renameEpisode(id: episode, to: "Pilot 1.5") == "Pilot 1.5.mp3")
        #expect(try library.renameEpisode(id: episode, to: "pilot.MP3") == "pilot.mp3")
        #expect(try library.renameEpisode(id: episode, to: "Pilot", now: noon + 3) == "Pilot.mp3")
        #expect(try library.entry(of: podcast, named: "Pilot.mp3")?.changed == noon + 3)
        #expect(throws: LibraryError.nameTaken("b.mp3")) { try library.renameEpisode(id: episode, to: "b") }
        for name in ["", ".mp3", "..", "a/b", "cover", "INDEX.mp3", "x ", String(repeating: "y", count: 236)] {
            #expect(throws: LibraryError.self, "\(name)") { try library.renameEpisode(id: episode, to: name) }
        }
        #expect(throws: LibraryError.noSuchEpisode(99)) { try library.renameEpisode(id: 99, to: "x") }
        _ = try library.merge(items, into: podcast)
        #expect(try library.entry(id: episode)?.name == "Pilot.mp3")

        _ = try library.subscribe([], url: "https://e.com/other", title: "Other")
        try library.renamePodcast(id: podcast, to: "Neuer Näme")
        #expect(try library.podcast(named: "Neuer Näme")?.id == podcast)
        try library.renamePodcast(id: podcast, to: "NEUER NÄME")
        #expect(throws: LibraryError.nameTaken("OTHER")) { try library.renamePodcast(id: podcast, to: "OTHER") }
        #expect(throws: LibraryError.self) { try library.renamePodcast(id: podcast, to: "latest") }
        #expect(throws: LibraryError.noSuchPodcast(99)) { try library.renamePodcast(id: 99, to: "x") }
    }
}
