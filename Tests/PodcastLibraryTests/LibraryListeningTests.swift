import Foundation
import PodcastFeed
import PodcastProtocol
import Testing
import Transfers

@testable import PodcastLibrary

/// Players' reports in the library, and the changes that are sent to other devices.
@Suite struct LibraryListeningTests {
    private var (folder, library) = makeLibrary()
    private let now = Int64(Date().timeIntervalSince1970)

    private func show() throws -> (podcast: ShowID, episodes: [EpisodeID]) {
        let result = try library.subscribe(
            [
                makeItem("One", guid: "guid-1", url: "https://m.example/1.mp3", duration: 1_000),
                makeItem("Two", guid: "guid-2", url: "https://m.example/2.mp3"),
            ], url: feedURL)
        return (result.podcast.id, result.inserted.reversed())
    }

    private func logIn() throws {
        try library.beginSync(SyncAccount(url: "https://s.example", user: "u", device: "d", kind: .gpodder), now: now)
    }

    private func pending() throws -> [SyncAction] {
        try library.pendingActions(clock: SyncClock(local: now, server: now), device: "d", limit: 100).map(\.action)
    }

    @Test func listeningIsStored() throws {
        let (_, episodes) = try show()
        #expect(try library.listening(of: episodes[0]) == StoredListening(duration: 1_000))
        #expect(try library.listening(of: 999) == nil)
        try library.recordListening(
            to: episodes[0], ListeningChange(played: false, position: 61.5, started: 0, total: nil), now: now)
        let episode = try #require(try library.episode(id: episodes[0]))
        #expect(episode.position == 61.5 && !episode.played && episode.lastPlayed == now && episode.isInProgress)
        try library.recordListening(
            to: episodes[0], ListeningChange(played: true, position: nil, started: 0, total: nil), now: now + 9)
        let played = try #require(try library.episode(id: episodes[0]))
        #expect(played.position == nil && played.played && played.lastPlayed == now + 9 && !played.isInProgress)
        #expect(throws: LibraryError.noSuchEpisode(999)) {
            try library.recordListening(
                to: 999, ListeningChange(played: true, position: nil, started: 0, total: nil), now: now)
        }
    }

    /// The pages then show how far the episode was played.
    @Test func withoutADurationInTheFeedThePlayersCounts() throws {
        let (podcast, episodes) = try show()
        for episode in episodes {
            try library.recordListening(
                to: episode, ListeningChange(played: false, position: 61.5, started: 0, total: 2_400), now: now)
        }
        #expect(Set(try library.episodesInProgress(limit: 9).map(\.duration)) == [1_000, 2_400])
        #expect(Set(try library.summaries(of: podcast).map(\.duration)) == [1_000, 2_400])
    }

    @Test func aPlayActionSaysWhereListeningBegan() throws {
        let (_, episodes) = try show()
        try logIn()
        try library.recordListening(
            to: episodes[0], ListeningChange(played: false, position: 754.2, started: 120.7, total: 999.9), now: now)
        let action = try #require(try pending().first)
        #expect(action.kind == .play)
        #expect(action.started == 120 && action.position == 754 && action.total == 999)
        try library.recordListening(
            to: episodes[0], ListeningChange(played: true, position: nil, started: 120.7, total: 999.9), now: now)
        let end = try #require(try pending().first)
        #expect(end.started == 120 && end.position == 999 && end.total == 999)
        try library.setPosition(episode: episodes[0], 300, now: now)
        let byHand = try #require(try pending().first)
        #expect(byHand.started == 300 && byHand.position == 300)
    }

    @Test func listeningOnAnotherDeviceHasTheTimeOfItsAction() throws {
        let (_, episodes) = try show()
        try logIn()
        let action = SyncAction(
            podcast: feedURL, episode: "https://m.example/1.mp3", guid: "guid-1", kind: .play, timestamp: now - 100,
            started: 0, position: 400, total: 1_000)
        let taken = try library.apply(
            [action], clock: SyncClock(local: now, server: now), window: SyncWindow(last: now, lastFull: now),
            keepsLatestOnly: false, now: now)
        #expect(taken.changed == [episodes[0]])
        let episode = try #require(try library.episode(id: episodes[0]))
        #expect(episode.position == 400 && episode.lastPlayed == now - 100 && episode.isInProgress)
    }

    @Test func aWholeShowIsMarkedAtOnce() throws {
        let (podcast, episodes) = try show()
        try library.setPosition(episode: episodes[1], 40, now: now)
        #expect(try library.setPlayed(podcast: podcast, true, now: now + 1) == 2)
        #expect(try library.setPlayed(podcast: podcast, true, now: now + 2) == 0)
        #expect(try library.episodes(of: podcast).allSatisfy { $0.played && $0.changed == now + 1 })
        #expect(try library.setPlayed(podcast: podcast, false, now: now + 3) == 2)
        #expect(try library.episodes(of: podcast).allSatisfy { !$0.played })
        #expect(throws: LibraryError.noSuchPodcast(99)) { try library.setPlayed(podcast: 99, true, now: now) }
    }
}
