import Fuse
import Glibc
import PodcastFilesystem
import PodcastLibrary
import PodcastProtocol
import SystemPackage
import TestSupport
import Testing
import Transfers

/// The playlist files of episodes that are streams.
struct StreamTests {
    private let mounted: Mounted

    init() throws { mounted = try Mounted() }

    private static let url = "http://127.0.0.1:9/live/a.m3u8"
    private static let text = "#EXTM3U\n#EXTINF:-1,Episode 1\n\(url)\n"

    private func subscribe() throws -> Entry {
        var feed = FeedBuilder.show("Show", episodes: 1, length: 70_000_000) { _ in Self.url }
        feed.items[0].type = "application/vnd.apple.mpegurl"
        try mounted.subscribe(feed)
        return try mounted.entry("Show", "2026-01-01 Episode 1.m3u8")
    }

    @Test func aStreamIsListedAsASmallPlaylistWithoutTheDaemon() throws {
        let entry = try subscribe()
        #expect(entry.attributes.size == Int64(Self.text.utf8.count))
        #expect(mounted.fact(entry.node, "user.podfs.state") == "stream")
        #expect(mounted.fact(entry.node, "user.mime_type") == "application/vnd.apple.mpegurl")
        for name in ["progress", "bytes_received", "ranges", "size_source", "error", "sha256"] {
            #expect(mounted.fact(entry.node, "user.podfs.\(name)") == nil, "\(name)")
        }
        let show = try mounted.entry("Show").node
        let listed = try #require(mounted.list(show, try mounted.opendir(show)))
        let item = try #require(listed.first { $0.name == "2026-01-01 Episode 1.m3u8" })
        #expect(item.size == Int64(Self.text.utf8.count))
        #expect(!mounted.wasStarted)
    }

    @Test func aStreamIsReadAfterTheDaemonHasCheckedIt() async throws {
        let entry = try subscribe()
        let id = try mounted.episode().id
        let daemon = try FakeDaemon(mounted.paths) { daemon, frame in
            daemon.answer(frame, .asset(file: AssetKind.stream.fileName(id.rawValue), size: 0))
        }
        let handle = try await mounted.open(entry.node).handle()
        #expect(daemon.commands == [.asset(.stream, id: id.rawValue)])
        let bytes = mounted.read(entry.node, handle, 0, 4_096).answer
        #expect(bytes == .bytes(Array(Self.text.utf8)))
        #expect(mounted.attributes(entry.node, handle: handle)?.size == Int64(Self.text.utf8.count))
        mounted.release(entry.node, handle)
        try await waitUntil { daemon.opened == [id] }
        #expect(daemon.frames.count == 1, "the check is the only request")
    }

    @Test func aFailureIsReported() async throws {
        let entry = try subscribe()
        let daemon = try FakeDaemon(mounted.paths) { daemon, frame in
            daemon.answer(frame, Failure(errorNumber: ENODATA, message: "the server answered 404"))
        }
        #expect(try await mounted.open(entry.node).answered() == .error(.noData))
        #expect(mounted.fact(entry.node, "user.podfs.error") == "the server answered 404")
        #expect(mounted.fact(entry.node, "user.podfs.state") == "stream")
        _ = daemon
    }
}
