import Foundation
import Platform
import PodcastLibrary
import PodcastProtocol
import Synchronization
import TestSupport
import Testing

@testable import PodcastService

/// The covers that the daemon fetches by itself.
@Suite(.stopsDaemons) struct CoverTests {
    private let home = ServiceHome()
    private static let jpeg: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0] + [UInt8](repeating: 7, count: 5_000)
    private static let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 1]

    private func publish(_ number: Int = 1, image: String) {
        var feed = FeedBuilder.show("Show \(number)", episodes: 1, length: 1_000) {
            home.web.url("/\(number)-\($0).mp3")
        }
        feed.image = home.web.url(image)
        home.web.serve("/feed\(number).xml", Resource(text: feed.text, contentType: "application/rss+xml"))
    }

    private func subscribe(_ client: ServiceClient, _ number: Int = 1) async throws {
        try await client.subscribe(home.web.url("/feed\(number).xml"))
    }

    private func show(_ daemon: RunningService) throws -> Podcast { try #require(try daemon.library.podcasts().first) }

    private func cover(of show: Podcast) -> Data? {
        FileManager.default.contents(atPath: "\(home.paths.assets)/\(AssetKind.cover.fileName(show.id.rawValue))")
    }

    @Test func aCoverIsFetchedOnceAndAgainFromANewAddress() async throws {
        publish(image: "/a.jpg")
        home.web.serve("/a.jpg", Resource(bytes: Self.jpeg, contentType: "image/jpeg"))
        home.web.serve("/b", Resource(bytes: Self.png, contentType: "image/jpeg"))
        let (daemon, client) = try await home.connect()
        try await subscribe(client)
        try await waitUntil { try show(daemon).cover == "jpg" }
        #expect(try show(daemon).coverDue == nil && cover(of: try show(daemon)) == Data(Self.jpeg))
        // The mounts learn of it, and show the cover on their pages.
        let id = try show(daemon).id
        try await waitUntil {
            client.events.entries.contains { if case .show(id, _, _) = $0.body { true } else { false } }
        }
        _ = try await client.perform(.refresh(podcasts: []))
        _ = try await client.perform(.asset(.cover, id: id.rawValue))
        #expect(home.web.requests(for: "/a.jpg").count == 1)
        publish(image: "/b")
        _ = try await client.perform(.refresh(podcasts: []))
        // The name follows the image, whatever the server calls it.
        try await waitUntil { try show(daemon).coverName == "cover.png" }
        #expect(cover(of: try show(daemon)) == Data(Self.png) && home.web.requests(for: "/b").count == 1)
    }

    @Test func aFewCoversAreFetchedAtATimeAndTheOthersAreCounted() async throws {
        let gates = (1...6).map { _ in Gate(heldAt: 0) }
        for number in 1...6 {
            publish(number, image: "/\(number).jpg")
            home.web.serve(
                "/\(number).jpg", Resource(bytes: Self.jpeg, contentType: "image/jpeg"), [.holdHead(gates[number - 1])])
        }
        let isMetered = Mutex(true)
        let (daemon, client) = try await home.connect {
            $0.conditions = {
                LinkConditions(isMetered: isMetered.withLock { $0 }, isOnBattery: false)
            }
            $0.conditionLifetime = .milliseconds(20)
        }
        for number in 1...6 { try await subscribe(client, number) }
        #expect(home.web.requests.allSatisfy { $0.path.hasPrefix("/feed") }, "covers wait for an unmetered link")
        isMetered.withLock { $0 = false }
        for gate in gates.prefix(4) { try await gate.waitUntilReached() }
        let now = WallTime.now.seconds
        #expect(try await client.tasks().map(\.kind) == Array(repeating: .artwork, count: 4))
        #expect(try daemon.library.coverCount(dueAt: now) == 6)
        for gate in gates { gate.open() }
        try await waitUntil { try daemon.library.coverCount(dueAt: now) == 0 }
        #expect(try daemon.library.podcasts().allSatisfy { $0.cover == "jpg" })
        try await waitUntil { try await client.tasks().isEmpty }
    }

    /// A cover that is refused is fetched no more until its address changes; a server that fails is asked again later.
    @Test(arguments: [(404, false), (403, false), (200, false), (500, true), (503, true)])
    func aFailureIsRepeatedOnlyIfItMayPass(status: Int, isRepeated: Bool) async throws {
        publish(image: "/a.jpg")
        if status == 200 {
            home.web.serve("/a.jpg", Resource(text: "<html>", contentType: "image/jpeg"))
        } else {
            home.web.serve("/a.jpg") { _ in .status(status) }
        }
        let (daemon, client) = try await home.connect()
        try await subscribe(client)
        let now = WallTime.now.seconds
        try await waitUntil { try show(daemon).coverDue.map { $0 > now } ?? true }
        #expect(try (show(daemon).coverDue != nil) == isRepeated && show(daemon).cover == nil)
        #expect(home.web.requests(for: "/a.jpg").count == 1)
        home.web.serve("/a.jpg", Resource(bytes: Self.jpeg, contentType: "image/jpeg"))
        publish(image: "/a.jpg?2")
        _ = try await client.perform(.refresh(podcasts: []))
        try await waitUntil { try show(daemon).cover == "jpg" }
        await daemon.stop()
        // A clock that was set back does not postpone it.
        let image = try #require(try show(daemon).image)
        try daemon.library.coverFailed(of: try show(daemon).id, from: image, due: now + 2 * 86_400)
        try daemon.library.clearFutureSchedules(
            now: now, longestRefresh: .seconds(86_400), longestSync: .seconds(86_400))
        #expect(try show(daemon).coverDue == now)
    }

    @Test func theCoverOfAShowThatWasFoundIsFetchedWhenItIsSubscribed() async throws {
        let feed = home.web.url("/feed1.xml")
        publish(image: "/a.jpg")
        home.web.serve("/a.jpg", Resource(bytes: Self.jpeg, contentType: "image/jpeg"))
        let (daemon, client) = try await home.connect()
        var found = FoundShow(title: "Show 1", url: feed)
        found.artwork = home.web.url("/a.jpg")
        _ = try daemon.library.store(found: [found], now: WallTime.now.seconds)
        #expect(try daemon.library.nextCover() == nil)
        try await client.subscribe(feed)
        try await waitUntil { try show(daemon).cover == "jpg" }
    }
}
