import Foundation
import Platform
import PodcastLibrary
import PodcastProtocol
import TestSupport
import Testing

@testable import PodcastService

/// Art, transcripts and chapters, as fetched and stored by the daemon.
@Suite(.stopsDaemons) struct AssetTests {
    private let home = ServiceHome()
    private static let image: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0] + [UInt8](repeating: 7, count: 5_000)

    private func start() async throws -> (RunningService, ServiceClient) {
        var feed = FeedBuilder.show("Show", episodes: 2, length: 1_000) { home.web.url("/\($0).mp3") }
        feed.image = home.web.url("/cover.jpg")
        feed.items[0].raw = """
            <itunes:image href="\(home.web.url("/art.jpg"))"/>
            <podcast:transcript url="\(home.web.url("/t.vtt"))" type="text/vtt"/>
            <podcast:transcript url="\(home.web.url("/t.srt"))" type="application/x-subrip"/>
            <podcast:chapters url="\(home.web.url("/c.json"))" type="application/json+chapters"/>
            """
        home.web.serve("/feed.xml", Resource(text: feed.text, contentType: "application/rss+xml"))
        home.web.serve("/cover.jpg", Resource(bytes: Self.image, contentType: "image/jpeg", etag: "\"c1\""))
        home.web.serve("/t.vtt", Resource(text: "WEBVTT\n\n00:00.000 --> 00:01.000\nHello\n"))
        return try await home.subscribe(Self.withoutUnattendedFetches)
    }

    /// On a metered link, covers are fetched only when a program opens them.
    private static func withoutUnattendedFetches(_ configuration: inout ServiceConfiguration) {
        configuration.conditions = { LinkConditions(isMetered: true, isOnBattery: false) }
    }

    /// Waits until no asset is being fetched.
    private func settle(_ client: ServiceClient) async throws {
        try await waitUntil(description: "no fetch is running") { try await client.tasks().isEmpty }
    }

    private func size(_ client: ServiceClient, _ kind: AssetKind, _ id: Int64) async throws -> Int64? {
        guard case .asset(let file, let size) = try await client.perform(.asset(kind, id: id)) else { return nil }
        let bytes = FileManager.default.contents(atPath: "\(home.paths.assets)/\(file)")
        #expect(file == kind.fileName(id) && bytes?.count == Int(size))
        return size
    }

    @Test func anAssetIsFetchedOnceAndStored() async throws {
        let (daemon, client) = try await start()
        let show = try #require(try daemon.library.podcasts().first).id
        #expect(home.web.requests(for: "/cover.jpg").isEmpty)
        for _ in 1...3 { #expect(try await size(client, .cover, show.rawValue) == 5_004) }
        #expect(home.web.requests(for: "/cover.jpg").count == 1)
        let episode = try daemon.episode(2).id
        #expect(try await size(client, .vtt, episode.rawValue) == 38)
        #expect(try home.mode(of: "\(home.paths.assets)/\(AssetKind.vtt.fileName(episode.rawValue))") == 0o600)
        // The next daemon serves the stored cover too.
        await daemon.stop()
        let (_, other) = try await home.connect(Self.withoutUnattendedFetches)
        #expect(try await size(other, .cover, show.rawValue) == 5_004)
        #expect(home.web.requests(for: "/cover.jpg").count == 1)
        // The assets are removed with the show.
        _ = try await other.perform(.unsubscribe(podcast: show))
        #expect(try FileManager.default.contentsOfDirectory(atPath: home.paths.assets).isEmpty)
    }

    @Test func simultaneousCommandsForAnAssetShareOneRequest() async throws {
        let (daemon, client) = try await start()
        let show = try #require(try daemon.library.podcasts().first).id
        let gate = Gate(heldAt: 0)
        home.web.serve("/cover.jpg", Resource(bytes: Self.image, contentType: "image/jpeg"), [.holdHead(gate)])
        async let first = size(client, .cover, show.rawValue)
        try await gate.waitUntilReached()
        async let second = size(client, .cover, show.rawValue)
        try await waitUntil { try await client.tasks().contains { $0.kind == .artwork && $0.path == "Show/cover.jpg" } }
        gate.open()
        let sizes = try await [first, second]
        #expect(sizes == [5_004, 5_004])
        #expect(home.web.requests(for: "/cover.jpg").count == 1)
        #expect(try await client.tasks().isEmpty)
    }

    @Test(arguments: [
        ("/art.jpg", "<html>log in</html>", "image/jpeg", AssetKind.art), ("/art.jpg", "", "image/jpeg", .art),
        ("/t.srt", " <!DOCTYPE html><p>", "text/plain", .srt), ("/c.json", "[1]", "application/json", .chapters),
    ]) func contentOfTheWrongKindIsNotStored(path: String, text: String, type: String, kind: AssetKind) async throws {
        let (daemon, client) = try await start()
        let episode = try daemon.episode(2).id
        home.web.serve(path, Resource(text: text, contentType: type))
        for _ in 1...3 { #expect(await client.failure(of: .asset(kind, id: episode.rawValue))?.errorNumber == EIO) }
        // The failure is remembered, so the later commands send no request.
        #expect(home.web.requests(for: path).count == 1)
        #expect(try FileManager.default.contentsOfDirectory(atPath: home.paths.assets).isEmpty)
    }

    @Test(arguments: [(404, ENODATA), (410, ENODATA), (403, EACCES), (500, EIO)])
    func eachRefusalHasItsErrorNumber(status: Int, number: Int32) async throws {
        let (daemon, client) = try await start()
        let episode = try daemon.episode(2).id
        home.web.serve("/art.jpg") { _ in .status(status) }
        for _ in 1...2 { #expect(await client.failure(of: .asset(.art, id: episode.rawValue))?.errorNumber == number) }
        #expect(home.web.requests(for: "/art.jpg").count == 1)
        // No feed offers these assets.
        let first = try daemon.episode(1).id
        #expect(await client.failure(of: .asset(.art, id: first.rawValue))?.errorNumber == ENODATA)
        #expect(await client.failure(of: .asset(.cover, id: 99))?.errorNumber == ENODATA)
    }

    /// Starts a daemon whose cached cover and art are more than a week old, so that they are revalidated.
    private func startWithOutdatedArt() async throws -> (RunningService, ServiceClient, show: Int64, episode: Int64) {
        let (first, client) = try await start()
        let show = try #require(try first.library.podcasts().first).id.rawValue
        let episode = try first.episode(2).id.rawValue
        home.web.serve("/art.jpg", Resource(bytes: Self.image, contentType: "image/jpeg"))
        for (kind, id) in [(AssetKind.cover, show), (.art, episode)] {
            #expect(try await size(client, kind, id) == 5_004)
        }
        await first.stop()
        let second = try await home.start {
            Self.withoutUnattendedFetches(&$0)
            $0.wallClock = { WallTime.now + .seconds(8 * 86_400) }
        }
        return (second, try await second.connect(), show, episode)
    }

    @Test func outdatedArtThatCannotBeReplacedStays() async throws {
        let (_, other, show, _) = try await startWithOutdatedArt()
        let gate = Gate(heldAt: 1_000)
        let image = Self.image + [UInt8](repeating: 8, count: 1_000)
        home.web.serve("/cover.jpg", Resource(bytes: image, contentType: "image/jpeg", etag: "\"c2\"")) { _ in
            .hold(gate)
        }
        // The open does not wait for the server.
        #expect(try await size(other, .cover, show) == 5_004)
        try await gate.waitUntilReached()
        // At the end the daemon renames the received file over the old one. Delete the received file, so that the
        // rename fails.
        let manager = FileManager.default
        for name in try manager.contentsOfDirectory(atPath: home.paths.assets) where name.hasPrefix("new-") {
            try manager.removeItem(atPath: "\(home.paths.assets)/\(name)")
        }
        gate.open()
        try await settle(other)
        #expect(manager.contents(atPath: "\(home.paths.assets)/\(AssetKind.cover.fileName(show))")?.count == 5_004)
    }

    @Test(arguments: [(404, 2), (400, 2), (200, 2), (429, 1), (503, 1)])
    func onlyServerFailuresHoldBackTheServersOtherAssets(status: Int, requests: Int) async throws {
        let (_, other, show, episode) = try await startWithOutdatedArt()
        if status == 200 {
            home.web.serve("/cover.jpg", Resource(text: "<html>", contentType: "image/jpeg"))
        } else {
            home.web.serve("/cover.jpg") { _ in .status(status) }
        }
        for (kind, id) in [(AssetKind.cover, show), (.cover, show), (.art, episode)] {
            #expect(try await size(other, kind, id) == 5_004)
            try await settle(other)
        }
        #expect(home.web.requests(for: "/cover.jpg").count == 2, "the second command for the cover sends no request")
        #expect(home.web.requests(for: "/art.jpg").count == requests)
    }

    /// MP4 videos and AVIF and HEIF images are ISO base media files; their brands distinguish them.
    @Test(arguments: [("avif", true), ("heic", true), ("mif1", true), ("isom", false), ("mp42", false)])
    func theBrandDecidesWhetherArtIsAnImage(brand: String, isImage: Bool) async throws {
        let (daemon, client) = try await start()
        let episode = try daemon.episode(2).id
        let bytes = [0, 0, 0, 16] + Array("ftyp\(brand)".utf8) + [0, 0, 0, 0]
        home.web.serve("/art.jpg", Resource(bytes: bytes, contentType: "image/jpeg"))
        if isImage {
            #expect(try await size(client, .art, episode.rawValue) == 16)
        } else {
            #expect(await client.failure(of: .asset(.art, id: episode.rawValue))?.errorNumber == EIO)
        }
    }

    @Test func aTranscriptInAnotherFormatIsConvertedToWebVTT() async throws {
        let (daemon, client) = try await start()
        let episode = try daemon.episode(2).id
        home.web.serve("/t.vtt", Resource(text: "1\r\n00:00:01,000 --> 00:00:02,500\r\nHello <b>there</b>\r\n"))
        let size = try await size(client, .vtt, episode.rawValue)
        let path = "\(home.paths.assets)/\(AssetKind.vtt.fileName(episode.rawValue))"
        let text = String(decoding: try #require(FileManager.default.contents(atPath: path)), as: UTF8.self)
        #expect(text == "WEBVTT\n\n00:00:01.000 --> 00:00:02.500\nHello <b>there</b>\n\n")
        #expect(size == Int64(text.utf8.count))
        // A web page in place of a transcript is refused, because it contains no timed text.
        var feed = FeedBuilder.show("Show", episodes: 2, length: 1_000) { home.web.url("/\($0).mp3") }
        feed.items[0].raw = "<podcast:transcript url=\"\(home.web.url("/page.html"))\" type=\"text/html\"/>"
        home.web.serve("/feed.xml", Resource(text: feed.text, contentType: "text/xml"))
        home.web.serve("/page.html", Resource(text: "<!DOCTYPE html><p>Log in</p>", contentType: "text/html"))
        _ = try await client.perform(.refresh(podcasts: [try daemon.episode(2).podcast]))
        #expect(await client.failure(of: .asset(.vtt, id: episode.rawValue))?.errorNumber == EIO)
    }

    /// The transcript is refused after the response head if the head states the size, otherwise after 16 MiB.
    @Test(arguments: [true, false]) func aTranscriptOfAHundredMegabytesIsRefused(isAnnounced: Bool) async throws {
        let (daemon, client) = try await start()
        let episode = try daemon.episode(2).id
        let content = TestContent(seed: 3, size: 100_000_000)
        home.web.serve("/t.vtt", Resource(content, contentType: "text/vtt", sendsLength: isAnnounced))
        let failure = await client.failure(of: .asset(.vtt, id: episode.rawValue))
        #expect(failure?.errorNumber == EIO && failure?.message.contains("larger than") ?? false)
        #expect(try FileManager.default.contentsOfDirectory(atPath: home.paths.assets).isEmpty)
    }

    @Test func theFormerCoverIsServedUntilTheNewOneIsThere() async throws {
        let (daemon, client) = try await start()
        let podcast = try #require(try daemon.library.podcasts().first)
        #expect(try await size(client, .cover, podcast.id.rawValue) == 5_004)
        var feed = FeedBuilder.show("Show", episodes: 2, length: 1_000) { home.web.url("/\($0).mp3") }
        feed.image = home.web.url("/new.png")
        home.web.serve("/feed.xml", Resource(text: feed.text, contentType: "application/rss+xml"))
        let gate = Gate(heldAt: 0)
        home.web.serve("/new.png", Resource(bytes: [0x89, 0x50, 0x4E, 0x47, 1], contentType: "image/png")) { _ in
            .holdHead(gate)
        }
        _ = try await client.perform(.refresh(podcasts: [podcast.id]))
        #expect(try await size(client, .cover, podcast.id.rawValue) == 5_004)
        gate.open()
        try await settle(client)
        #expect(try await size(client, .cover, podcast.id.rawValue) == 5)
        #expect(try daemon.library.podcast(id: podcast.id)?.coverName == "cover.png")
    }
}
