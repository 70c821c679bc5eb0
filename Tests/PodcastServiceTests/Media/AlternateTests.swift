import Glibc
import PodcastProtocol
import TestSupport
import Testing
import Transfers

@testable import PodcastLibrary
@testable import PodcastService

/// Tests of the alternate media of an episode. Each alternate has an episode identifier of its own, and the daemon
/// downloads it like an episode.
@Suite(.stopsDaemons) struct AlternateTests {
    private let home = ServiceHome()
    private let content = TestContent(seed: 1, size: 200_000)
    private let small = TestContent(seed: 2, size: 60_000)

    private func start(
        _ change: (inout ServiceConfiguration) -> Void = { _ in }
    ) async throws -> (RunningService, ServiceClient, main: EpisodeID, alternate: EpisodeID) {
        var feed = FeedBuilder.show("Show", episodes: 1, length: content.size) { _ in home.web.url("/main.mp3") }
        feed.items[0].raw = """
            <podcast:alternateEnclosure type="audio/opus" title="Small">\
            <podcast:source uri="\(home.web.url("/gone.opus"))"/><podcast:source uri="\(home.web.url("/a.opus"))"/>\
            <podcast:integrity type="sri" value="md5-AAAA"/></podcast:alternateEnclosure>
            """
        home.web.serve("/feed.xml", Resource(text: feed.text, contentType: "application/rss+xml", etag: "\"f\""))
        home.web.serve("/main.mp3", Resource(content, etag: "\"m\""))
        home.web.serve("/a.opus", Resource(small, contentType: "audio/opus", etag: "\"a\""))
        let (daemon, client) = try await home.subscribe(change)
        let main = try daemon.episode().id
        let alternate = try #require(try daemon.library.alternates(of: main).first).id
        return (daemon, client, main, alternate)
    }

    @Test func theEpisodeAndItsAlternateHaveSeparateFiles() async throws {
        let (daemon, client, main, alternate) = try await start()
        #expect(try await client.open(alternate).total == 60_000)
        _ = try await client.read(alternate, 0..<60_000)
        let event = try await client.completion(of: alternate)
        #expect(event.task?.path == "Show/.alternates/2026-01-01 Episode 1/Small.opus")
        #expect(home.web.requests(for: "/gone.opus").count == 1, "the next source is tried")
        #expect(home.web.requests(for: "/main.mp3").isEmpty)
        _ = try await client.act(.download, main)
        try await client.completion(of: main)
        let files = try [main, alternate].map { try #require(try daemon.library.rendition(of: $0)) }
        #expect(files.map(\.size) == [200_000, 60_000] && files.allSatisfy(\.complete))
        #expect(try home.bytes(of: files[0].file, in: 0..<100) == content.bytes(in: 0..<100))
        #expect(try home.bytes(of: files[1].file, in: 0..<100) == small.bytes(in: 0..<100))
        #expect(try daemon.library.podcasts().first?.cached == 1)
        // Evicting the alternate does not evict the episode.
        client.close(alternate)
        try await waitUntil { try await client.act(.evict, alternate).count == 1 }
        #expect(try daemon.library.rendition(of: alternate) == nil && daemon.episode().complete)
        #expect(home.cacheFiles.count == 1)
    }

    @Test func playingAnAlternateCountsForTheEpisode() async throws {
        let (daemon, client, main, alternate) = try await start()
        var report = ListeningReport(episode: alternate, source: .mpris, player: "vlc", phase: .started, position: 0)
        _ = try await client.perform(.report(report))
        (report.phase, report.position) = (.paused, 100)
        _ = try await client.perform(.report(report))
        _ = try await client.perform(.setPosition(episode: alternate, seconds: 120))
        #expect(try daemon.library.episode(id: main)?.position == 120)
        _ = try await client.perform(.setPlayed(episode: alternate, true))
        #expect(try daemon.library.episode(id: main)?.played == true)
        #expect(try daemon.library.episode(id: alternate)?.played == false)
    }

    @Test func alternatesCountTowardsTheCacheLimit() async throws {
        let (daemon, client, main, alternate) = try await start {
            $0.storage = StorageLimits(capacity: 230_000, keepFree: 0)
        }
        _ = try await client.act(.download, alternate)
        try await client.completion(of: alternate)
        _ = try await client.act(.download, main)
        try await client.completion(of: main)
        #expect(try daemon.library.rendition(of: alternate) == nil, "the alternate was evicted for the episode")
        #expect(home.cacheFiles.count == 1)
    }

    @Test func theNextDaemonRestoresAnAlternatesTask() async throws {
        let (daemon, client, _, alternate) = try await start()
        _ = try await client.act(.suspend, alternate)
        await daemon.stop()
        let (_, other) = try await home.connect()
        let task = try #require(try await other.tasks().first)
        #expect(task.episode == alternate && task.path.hasSuffix("/Small.opus") && task.state == .suspended)
        _ = try await other.act(.resume, alternate)
        try await other.completion(of: alternate)
    }

    /// Downloads the first 30,000 bytes of the alternate. The server then stops sending.
    private func downloadPart(of alternate: EpisodeID, _ daemon: RunningService, _ client: ServiceClient) async throws {
        let gate = Gate(heldAt: 30_000)
        home.web.serve("/a.opus", Resource(small, contentType: "audio/opus", etag: "\"a\"")) { _ in .hold(gate) }
        _ = try await client.act(.download, alternate)
        try await gate.waitUntilReached()
        try await waitUntil(description: "there is a file") { try daemon.library.rendition(of: alternate) != nil }
    }

    @Test(arguments: ["unsubscribed", "removed by keep"])
    func theDownloadOfAnAlternateEndsWhenItsEpisodeIsRemoved(how: String) async throws {
        let (daemon, client, main, alternate) = try await start { $0.keep = .listed }
        try await downloadPart(of: alternate, daemon, client)
        let show = try #require(try daemon.library.podcasts().first).id
        if how == "unsubscribed" {
            _ = try await client.perform(.unsubscribe(podcast: show))
        } else {
            var feed = FeedBuilder.show("Show", episodes: 2) { home.web.url("/\($0).mp3") }
            feed.items.removeAll { $0.title == "Episode 1" }
            home.web.serve("/feed.xml", Resource(text: feed.text, contentType: "application/rss+xml", etag: "\"g\""))
            _ = try await client.perform(.refresh(podcasts: [show]))
        }
        #expect(try daemon.library.episode(id: main) == nil)
        let web = home.web
        try await waitUntil(description: "the transfer ends") { web.requests(for: "/a.opus").allSatisfy(\.isFinished) }
        // The daemon handles the engine's last report of the transfer before it answers this command. The report must
        // not create the task again.
        _ = try await client.perform(.tasks)
        #expect(try await client.tasks().isEmpty && daemon.library.downloads().isEmpty)
        try await waitUntil(description: "the file is removed") { home.cacheFiles.isEmpty }
    }
}
