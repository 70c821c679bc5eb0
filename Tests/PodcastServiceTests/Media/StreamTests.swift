import Foundation
import PodcastLibrary
import PodcastProtocol
import TestSupport
import Testing

@testable import PodcastService

/// The daemon's handling of episodes whose media is a stream (an HLS playlist).
@Suite(.stopsDaemons) struct StreamTests {
    private let home = ServiceHome()

    private static let playlist = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2.0,\nseg0.ts\n#EXT-X-ENDLIST\n"

    /// Starts a daemon, and subscribes to a show whose only episode is a stream. The server answers requests for the
    /// stream with `playlist`, or with 404 if `playlist` is `nil`.
    private func start(
        _ playlist: Resource?, _ change: (inout ServiceConfiguration) -> Void = { _ in }
    ) async throws -> (RunningService, ServiceClient, EpisodeID) {
        var feed = FeedBuilder.show("Show", episodes: 1) { _ in home.web.url("/live/a.m3u8") }
        feed.items[0].type = "application/x-mpegURL"
        home.web.serve("/feed.xml", Resource(text: feed.text, contentType: "application/rss+xml"))
        if let playlist { home.web.serve("/live/a.m3u8", playlist) }
        let (daemon, client) = try await home.subscribe(change)
        return (daemon, client, try daemon.episode().id)
    }

    @Test func aStreamsPlaylistIsCheckedOnceAndNotStored() async throws {
        let (daemon, client, id) = try await start(Resource(text: Self.playlist))
        #expect(home.web.requests(for: "/live/a.m3u8").isEmpty)
        let command = Command.asset(.stream, id: id.rawValue)
        for _ in 1...3 {
            #expect(try await client.perform(command) == .asset(file: "stream-\(id)", size: 0))
        }
        #expect(home.web.requests(for: "/live/a.m3u8").count == 1)
        #expect(try FileManager.default.contentsOfDirectory(atPath: home.paths.assets).isEmpty)
        #expect(home.cacheFiles.isEmpty)
        #expect(try daemon.episode().name.hasSuffix(".m3u8"))
    }

    @Test func aGoneStreamFailsWithItsReason() async throws {
        let (_, client, id) = try await start(nil)
        let command = Command.asset(.stream, id: id.rawValue)
        for _ in 1...2 {
            let failure = try #require(await client.failure(of: command))
            #expect(failure.errorNumber == ENODATA && failure.message == "the server answered 404")
        }
        #expect(home.web.requests(for: "/live/a.m3u8").count == 1, "the failure is remembered")
        #expect(await client.failure(of: .asset(.stream, id: 99))?.errorNumber == ENODATA)
    }

    @Test func aPlaylistOfAGigabyteIsRefused() async throws {
        let (_, client, id) = try await start(
            Resource(TestContent(seed: 1, size: 1 << 30), contentType: "audio/mpegurl"))
        #expect(await client.failure(of: .asset(.stream, id: id.rawValue))?.errorNumber == EIO)
    }

    @Test func streamsAreNeverDownloaded() async throws {
        let (daemon, client, id) = try await start(Resource(text: Self.playlist)) { $0.autoDownload = 1 }
        for action in [TaskAction.download, .resume, .suspend] {
            let (count, problems) = try await client.act(action, id)
            #expect(count == 0 && problems.count == 1)
            #expect(problems.first?.contains("players fetch it") == true)
        }
        #expect(await client.failure(of: .asset(.art, id: id.rawValue)) != nil)
        await #expect(throws: Failure.self) { try await client.open(id) }
        await #expect(throws: Failure.self) { try await client.read(id, 0..<10) }
        #expect(try await client.tasks().isEmpty)
        #expect(try daemon.library.downloads().isEmpty && home.cacheFiles.isEmpty)
        #expect(home.web.requests(for: "/live/a.m3u8").isEmpty)
    }
}
