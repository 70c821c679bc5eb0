import Foundation
import PodcastLibrary
import PodcastProtocol
import TestSupport
import Testing

/// Episodes whose feed names a hash of the media file.
@Suite(.stopsDaemons) struct SourceTests {
    private let home = ServiceHome()
    private let content = TestContent(seed: 1, size: 200_000)

    /// Serves an episode whose feed names `hash` as the hash of its media.
    private func publish(_ hash: [UInt8]) {
        home.web.serve("/main.mp3", Resource(content, etag: "\"m\""))
        var feed = FeedBuilder.show("Show", episodes: 1, length: content.size) { _ in home.web.url("/main.mp3") }
        feed.items[0].raw = """
            <podcast:alternateEnclosure type="audio/mpeg"><podcast:source uri="\(home.web.url("/main.mp3"))"/>
            <podcast:integrity type="sri" value="sha256-\(Data(hash).base64EncodedString())"/>
            </podcast:alternateEnclosure>
            """
        home.web.serve("/feed.xml", Resource(text: feed.text, contentType: "application/rss+xml"))
    }

    @Test func anEpisodeWithAMatchingHashIsVerified() async throws {
        publish(try await sha256(of: content))
        let (daemon, client, id) = try await home.subscribeToEpisode()
        try await client.download(id)
        #expect(try daemon.episode().isVerified)
    }

    @Test func aDifferentHashFailsTheDownload() async throws {
        publish([UInt8](repeating: 0, count: 32))
        let (daemon, client, id) = try await home.subscribeToEpisode()
        try await client.act(.download, id)
        let failure = try await client.event("it fails") { $0.kind == .failed && $0.episode == id }
        #expect(failure.task?.error?.contains("hash differs") == true)
        let episode = try daemon.episode()
        #expect(!episode.complete && episode.download?.error != nil && episode.cachedBytes == 0)
        try await waitUntil { home.cacheFiles.isEmpty }
    }

    private func sha256(of content: TestContent) async throws -> [UInt8] {
        let path = try home.directory.write("plain", content.bytes(in: 0..<content.size))
        let text = try await ChildProcess.run("sha256sum", [path]).output.prefix(64)
        return stride(from: 0, to: 64, by: 2).compactMap { UInt8(text.dropFirst($0).prefix(2), radix: 16) }
    }
}
