import Foundation
import PodcastLibrary
import PodcastProtocol
import TestSupport
import Testing

@testable import PodcastService

/// The updates of the search index by the daemon.
@Suite(.stopsDaemons) struct FindUpdateTests {
    private let home = ServiceHome()

    private func found(_ term: String, _ daemon: RunningService) throws -> [String] {
        let index = FindIndex(path: home.paths.findIndex)
        let ids = try index.episodes(matching: try #require(FindTerm(term)))
        return try daemon.library.foundEntries(ids, limit: 10).map(\.name)
    }

    @Test func episodesAndCachedTranscriptsAreIndexed() async throws {
        var feed = FeedBuilder.show("Show", episodes: 2) { home.web.url("/\($0).mp3") }
        feed.items[0].description = "About the <i>sea</i>."
        feed.items[0].raw = "<podcast:transcript url=\"\(home.web.url("/t.srt"))\" type=\"application/x-subrip\"/>"
        home.web.serve("/feed.xml", Resource(text: feed.text, contentType: "application/rss+xml"))
        home.web.serve("/t.srt", Resource(text: "1\n00:00:01,000 --> 00:00:02,000\ngiant squid\n"))
        let (daemon, client) = try await home.subscribe()
        try await waitUntil(description: "the notes are indexed") { try found("sea", daemon).count == 1 }
        #expect(try found("episode", daemon).count == 2)
        #expect(try found("squid", daemon).isEmpty)
        #expect(home.web.requests(for: "/t.srt").isEmpty)
        let episode = try daemon.episode(2)
        try await client.perform(.asset(.vtt, id: episode.id.rawValue))
        try await waitUntil(description: "the transcript is indexed") { try found("squid", daemon) == [episode.name] }
        // A removed index is created again.
        for suffix in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: home.paths.findIndex + suffix)
        }
        #expect(try found("squid", daemon).isEmpty)
        try await client.perform(.rename(podcast: episode.podcast, episode: nil, name: "Other"))
        try await waitUntil(description: "the index is there again") { try found("squid", daemon) == [episode.name] }
        try await client.perform(.unsubscribe(podcast: episode.podcast))
        #expect(try found("squid", daemon).isEmpty)
        try await waitUntil(description: "the index is empty") {
            try FindIndex(path: home.paths.findIndex).count() == 0
        }
    }
}
