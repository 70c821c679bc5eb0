import PodcastProtocol
import Testing
import Transfers

@testable import PodcastLibrary

struct LibraryRenditionTests {
    private var (folder, library) = makeLibrary()
    private let podcast: ShowID
    private let episode: EpisodeID
    private let other: EpisodeID

    init() throws {
        let result = try library.subscribe([
            makeItem("Two", url: "https://e.com/2.mp3", published: noon + 1),
            makeItem("One", url: "https://e.com/1.mp3", length: 20_000),
        ])
        podcast = result.podcast.id
        episode = result.inserted[0]
        other = result.inserted[1]
    }

    private func rendition(_ generation: Int, _ file: String, size: Int64? = nil, opened: Int64 = noon) -> Rendition {
        Rendition(
            episode: episode, generation: generation, file: file, size: size, validator: "etag \"x\"",
            finalURL: "https://cdn.e.com/1.mp3", received: 0, created: noon,
            lastOpened: opened)
    }

    @Test func aPinnedRenditionConfirmsTheSize() throws {
        let pinned = rendition(1, "f1", size: 123_456)
        #expect(try library.pin(pinned, now: noon + 1) == nil)
        #expect(try library.rendition(of: episode) == pinned)
        #expect(try library.rendition(file: "f1") == pinned)
        #expect(try library.renditions() == [pinned])
        let entry = try #require(try library.entry(id: episode))
        #expect(entry.size == 123_456 && entry.sizeSource == .server && entry.changed == noon + 1)
        // The same rendition is recorded again by `pin`, with more bytes received. The size is the same, so the ctime
        // stays.
        var more = pinned
        more.received = 50
        #expect(try library.pin(more, now: noon + 2) == nil)
        #expect(try library.entry(id: episode)?.changed == noon + 1)
        #expect(try library.entry(id: episode)?.cachedBytes == 50)
    }

    @Test func aNewGenerationReplacesTheOld() throws {
        try library.pin(rendition(1, "f1", size: 100), now: noon)
        #expect(try library.pin(rendition(2, "f2", size: 200), now: noon)?.file == "f1")
        #expect(try library.renditions().map(\.file) == ["f2"])
        #expect(try library.episode(id: episode)?.generation == 2)
        #expect(try library.episode(id: episode)?.confirmedSize == 200)
        #expect(throws: LibraryError.staleGeneration(episode: episode, given: 1, current: 2)) {
            try library.pin(rendition(1, "f3"), now: noon)
        }
        #expect(throws: LibraryError.staleGeneration(episode: episode, given: 2, current: 2)) {
            try library.pin(rendition(2, "f3"), now: noon)
        }
        #expect(try library.renditions().map(\.file) == ["f2"])
        #expect(throws: LibraryError.noSuchEpisode(999)) {
            try library.pin(Rendition(episode: 999, generation: 1, file: "x"), now: noon)
        }
    }

    @Test func generationsNeverGoBack() throws {
        #expect(try library.episode(id: episode)?.generation == 1)
        try library.pin(rendition(1, "f1", size: 100), now: noon)
        #expect(try library.dropRendition(episode: episode, now: noon) == 2)
        #expect(try library.rendition(of: episode) == nil)
        #expect(throws: LibraryError.self) { try library.pin(rendition(1, "f1"), now: noon) }
        try library.pin(rendition(5, "f5"), now: noon)
        #expect(try library.dropRendition(episode: episode, now: noon) == 6)
        #expect(try library.dropRendition(episode: episode, now: noon) == 7)
        #expect(try library.entry(id: episode)?.generation == 7)
        // `dropRendition` keeps the size that the first `pin` confirmed.
        #expect(try library.entry(id: episode)?.size == 100)
        #expect(throws: LibraryError.noSuchEpisode(999)) { try library.dropRendition(episode: 999, now: noon) }
    }

    @Test func completionIsCountedAndEndsTheDownload() throws {
        try library.pin(rendition(1, "f1"), now: noon)
        let download = try library.enqueue(episode: episode, session: "background", now: noon)
        #expect(try library.episode(id: episode)?.download == download)
        try library.recordReceived(episode: episode, generation: 1, bytes: 4096)
        try library.recordReceived(episode: episode, generation: 2, bytes: 9999)
        #expect(try library.entry(id: episode)?.cachedBytes == 4096)
        #expect(throws: LibraryError.noSuchRendition(episode: episode, generation: 2)) {
            try library.complete(episode: episode, generation: 2, size: 8192, sha256: "ab", now: noon)
        }
        #expect(try library.downloads() == [download])

        try library.complete(episode: episode, generation: 1, size: 8192, sha256: "abcd", now: noon + 9)
        let done = try #require(try library.episode(id: episode))
        #expect(done.complete && done.cachedBytes == 8192 && done.sha256 == "abcd" && done.confirmedSize == 8192)
        #expect(done.download == nil && done.changed == noon + 9)
        #expect(try library.downloads().isEmpty)
        #expect(try library.podcast(id: podcast)?.cached == 1)
        #expect(try library.podcasts().map(\.cached) == [1])
        #expect(try library.episodes(in: "Downloaded") == [episode])
        #expect(try library.podcasts().map(\.episodes) == [2])
    }

    @Test func playedFilesAreEvictedFirstThenTheLeastRecentlyOpened() throws {
        try library.pin(rendition(1, "one"), now: noon)
        try library.pin(Rendition(episode: other, generation: 1, file: "two", lastOpened: noon + 5), now: noon)
        #expect(try library.evictionCandidates().map(\.file) == ["one", "two"])
        try library.recordOpening(of: episode, now: noon + 10)
        #expect(try library.entry(id: episode)?.lastOpened == noon + 10)
        #expect(try library.rendition(of: episode)?.lastOpened == noon + 10)
        #expect(try library.evictionCandidates().map(\.file) == ["two", "one"])
        try library.setPlayed(episode: episode, true, now: noon)
        #expect(try library.evictionCandidates().map(\.file) == ["one", "two"])
        try library.setPinned(episode: episode, true, now: noon)
        #expect(try library.evictionCandidates().map(\.file) == ["two"])
        #expect(try library.rendition(of: episode)?.pinned == true)
        // The protection from eviction that `setPinned` sets belongs to the episode: it still applies after the
        // rendition is dropped and another one is stored.
        let next = try library.dropRendition(episode: episode, now: noon)
        try library.pin(rendition(next, "anew"), now: noon)
        #expect(try library.rendition(of: episode)?.pinned == true)
        try library.setPinned(episode: episode, false, now: noon)
        #expect(try library.rendition(of: episode)?.pinned == false)
    }

    @Test func playedAndPositionUpdateChangedOnlyIfTheyDiffer() throws {
        try library.setPlayed(episode: episode, false, now: noon + 1)
        try library.setPosition(episode: episode, nil, now: noon + 2)
        #expect(try library.episode(id: episode)?.changed == noon)
        try library.setPosition(episode: episode, 61.25, now: noon + 3)
        try library.setPlayed(episode: episode, true, now: noon + 4)
        try library.setPosition(episode: episode, 61.25, now: noon + 5)
        let result = try #require(try library.episode(id: episode))
        #expect(result.played && result.position == 61.25 && result.changed == noon + 4)
    }

    @Test func downloadsAreEnqueuedOnce() throws {
        let first = try library.enqueue(episode: episode, session: "a", now: noon)
        #expect(try library.enqueue(episode: episode, session: "b", now: noon + 1) == first)
        try library.setSuspended(download: first.id, true)
        try library.fail(download: first.id, error: "no route", errorNumber: 113)
        let failed = try #require(try library.download(of: episode))
        #expect(failed.suspended && failed.error == "no route" && failed.errorNumber == 113)
        let retried = try library.enqueue(episode: episode, session: "c", now: noon + 2)
        #expect(retried.id == first.id && retried.error == nil && retried.errorNumber == nil && retried.suspended)
        #expect(try library.download(id: first.id) == retried)

        try library.removeDownload(id: first.id)
        try library.removeDownload(id: first.id)
        #expect(try library.downloads().isEmpty)
        let second = try library.enqueue(episode: episode, session: "a", now: noon)
        #expect(second.id > first.id)
        #expect(throws: LibraryError.noSuchDownload(first.id)) { try library.setSuspended(download: first.id, false) }
        #expect(throws: LibraryError.noSuchEpisode(999)) { try library.enqueue(episode: 999, session: "a", now: noon) }
    }
}

struct RetentionTests {
    private var (folder, library) = makeLibrary()

    @Test func factsAreTakenFromTheRows() throws {
        let show = try library.subscribe([
            makeItem("A", url: "https://m.example/a.mp3", published: nil, duration: 60),
            makeItem("B", url: "https://m.example/b.mp3"), makeItem("C", url: "https://m.example/c.mp3"),
        ]).podcast
        let ids = try library.episodes(of: show.id).sorted { $0.title < $1.title }.map(\.id)
        try library.setPosition(episode: ids[0], 3, now: noon)
        try library.setPinned(episode: ids[0], true, now: noon)
        let automatic = try library.enqueue(episode: ids[0], session: "podfs", automatic: true, now: noon)
        try library.fail(download: automatic.id, error: "404", errorNumber: 61)
        try library.decline([ids[1]])
        _ = try library.bury(episodes: [ids[2]], now: noon)
        let facts = try library.retainedEpisodes(of: show.id, goneError: 61).sorted { $0.id < $1.id }
        var expected = [
            RetainedEpisode(
                id: ids[0], moment: noon, title: "A", duration: 60, position: 3, pinned: true, hasTask: true,
                isMediaGone: true, isAutomatic: true),
            RetainedEpisode(id: ids[1], moment: noon, title: "B", isDeclined: true),
            RetainedEpisode(id: ids[2], moment: noon, title: "C"),
        ]
        expected[2].isBuried = true
        #expect(facts == expected.sorted { $0.id < $1.id })
        #expect(try library.hasRetention(show.id))
    }
}
