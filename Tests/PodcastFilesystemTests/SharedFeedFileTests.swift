import Fuse
import PodcastFilesystem
import PodcastLibrary
import TestSupport
import Testing
import Transfers

/// The feeds for other people's podcast clients. A client that sends If-Modified-Since fetches a changed feed only if
/// its mtime has moved.
struct SharedFeedFileTests {
    private let mounted: Mounted
    private let show: Podcast

    init() throws {
        mounted = try Mounted { $0.shareBase = "https://nas.example/podcasts" }
        show = try mounted.subscribe("Show", episodes: 2)
    }

    private func feed(of folder: String) async throws -> (text: String, modified: Int64) {
        let modified = try mounted.entry(folder, "feed.xml").attributes.modified
        return (try await mounted.content(folder, "feed.xml"), modified)
    }

    @Test func renamingAShowMovesTheTimeOfTheFeedsThatContainItsFolder() async throws {
        let before = try await feed(of: "Latest")
        #expect(before.text.contains("https://nas.example/podcasts/Show/2026-01-02%20Episode%202.mp3"))
        try mounted.library.renamePodcast(id: show.id, to: "Other", now: before.modified + 100)
        let after = try await feed(of: "Latest")
        #expect(after.text.contains("https://nas.example/podcasts/Other/2026-01-02%20Episode%202.mp3"))
        #expect(after.modified == before.modified + 100)
        #expect(try await feed(of: "Other").modified == before.modified + 100)
    }

    @Test func theSettingShareMovesTheTimeOfTheFeeds() async throws {
        let before = try await feed(of: "Latest")
        try mounted.library.set(podcast: show.id, key: "share", value: "false", now: before.modified + 100)
        let without = try await feed(of: "Latest")
        #expect(!without.text.contains("<item>") && without.modified == before.modified + 100)
        try mounted.library.set(podcast: show.id, key: "share", value: nil, now: before.modified + 200)
        let again = try await feed(of: "Latest")
        #expect(again.text.contains("<item>") && again.modified == before.modified + 200)
        #expect(try await feed(of: "Show").modified == before.modified + 200)
        try mounted.library.set(podcast: show.id, key: "keep", value: "3", now: before.modified + 300)
        #expect(try await feed(of: "Latest").modified == before.modified + 200)
    }
}
