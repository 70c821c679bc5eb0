import Foundation
import Glibc
import PodcastLibrary
import PodcastProtocol
import TestSupport
import Testing
import Transfers

/// Episodes whose feed names several sources or a hash of the media file.
@Suite(.stopsDaemons) struct SourceTests {
    private let home = ServiceHome()
    private let content = TestContent(seed: 1, size: 200_000)

    /// Serves a feed with one episode, whose main address is `/main.mp3`. Serves no media.
    ///
    /// - Parameter alternate: The XML of the episode's `podcast:alternateEnclosure` elements.
    private func publish(_ alternate: String) {
        var feed = FeedBuilder.show("Show", episodes: 1, length: content.size) { _ in home.web.url("/main.mp3") }
        feed.items[0].raw = alternate
        home.web.serve("/feed.xml", Resource(text: feed.text, contentType: "application/rss+xml"))
    }

    private func alternate(_ type: String, _ paths: [String], integrity: String = "") -> String {
        "<podcast:alternateEnclosure type=\"\(type)\">"
            + paths.map { "<podcast:source uri=\"\(home.web.url($0))\"/>" }.joined()
            + integrity + "</podcast:alternateEnclosure>"
    }

    @Test func anEpisodeWhoseAddressIsGoneIsReadFromTheNextSource() async throws {
        home.web.serve("/mirror.mp3", Resource(content, etag: "\"m\""))
        home.web.serve("/other.opus", Resource(TestContent(seed: 2, size: 1_000), contentType: "audio/opus"))
        publish(alternate("audio/opus", ["/other.opus"]) + alternate("audio/mpeg", ["/main.mp3", "/mirror.mp3"]))
        let (daemon, client) = try await home.subscribe()
        let id = try daemon.episode().id
        #expect(try await client.open(id).total == 200_000)
        _ = try await client.read(id, 0..<200_000)
        try await client.completion(of: id)
        #expect(home.web.requests(for: "/main.mp3").count == 1)
        #expect(home.web.requests(for: "/other.opus").isEmpty, "this source has another encoding")
        let episode = try daemon.episode()
        #expect(episode.complete && !episode.isVerified && episode.name.hasSuffix(".mp3"))
        #expect(home.web.requests(for: "/feed.xml").count == 1, "the feed was not asked for a newer address")
    }

    @Test func anEpisodeWithAMatchingHashIsVerified() async throws {
        let hash = try await sha256(of: content)
        home.web.serve("/main.mp3", Resource(content, etag: "\"m\""))
        publish(alternate("audio/mpeg", ["/main.mp3"], integrity: integrity(hash)))
        let (daemon, client) = try await home.subscribe()
        let id = try daemon.episode().id
        _ = try await client.act(.download, id)
        try await client.completion(of: id)
        #expect(try daemon.episode().isVerified)
    }

    @Test func aDifferentHashFailsTheDownload() async throws {
        home.web.serve("/main.mp3", Resource(content, etag: "\"m\""))
        publish(alternate("audio/mpeg", ["/main.mp3"], integrity: integrity([UInt8](repeating: 0, count: 32))))
        let (daemon, client) = try await home.subscribe()
        let id = try daemon.episode().id
        _ = try await client.act(.download, id)
        let failure = try await client.event("it fails") { $0.kind == .failed && $0.episode == id }
        #expect(failure.task?.error?.contains("hash differs") == true)
        let episode = try daemon.episode()
        #expect(!episode.complete && episode.download?.error != nil && episode.cachedBytes == 0)
        try await waitUntil { home.cacheFiles.isEmpty }
    }

    private func integrity(_ hash: [UInt8]) -> String {
        "<podcast:integrity type=\"sri\" value=\"sha256-\(Data(hash).base64EncodedString())\"/>"
    }

    private func sha256(of content: TestContent) async throws -> [UInt8] {
        let path = try home.directory.write("plain", content.bytes(in: 0..<content.size))
        let text = try await ChildProcess.run("sha256sum", [path]).output.prefix(64)
        return stride(from: 0, to: 64, by: 2).compactMap { UInt8(text.dropFirst($0).prefix(2), radix: 16) }
    }
}
