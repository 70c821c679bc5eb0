import ContentCache
import Foundation
import PodcastClient
import PodcastLibrary
import PodcastProtocol
import PodcastService
import SystemPackage
import TestSupport
import Testing

/// What stays in a cache that is too small.
struct CacheTests {
    private let home: ServiceHome
    private static let size = 200_000

    init() throws {
        home = try ServiceHome()
        home.publish(episodes: 5, size: Self.size)
    }

    private func start(capacity: Int64, keepFree: Int64 = 0) async throws -> (RunningService, ServiceClient) {
        let daemon = try await home.start {
            $0.eviction = EvictionPolicy(capacity: capacity, keepFree: keepFree)
        }
        let client = try await daemon.connect()
        try await client.subscribe(home.web.url("/feed.xml"))
        return (daemon, client)
    }

    private func download(_ numbers: Int..., with daemon: RunningService, _ client: ServiceClient) async throws {
        for number in numbers {
            let id = try daemon.episode(number).id
            try await client.act(.download, id)
            try await client.completion(of: id)
        }
    }

    private func cached(_ daemon: RunningService) throws -> [Int] {
        try (1...5).filter { try daemon.episode($0).complete }
    }

    @Test func theLeastRecentlyOpenedGoesFirstAndWhatWasPlayedBeforeThat() async throws {
        let (daemon, client) = try await start(capacity: 700_000)
        try await download(1, 2, 3, with: daemon, client)
        for (number, moment) in [(1, 1_000), (2, 3_000), (3, 2_000)] as [(Int, Int64)] {
            try daemon.library.opened(episode: try daemon.episode(number).id, now: moment)
        }
        try daemon.library.setPlayed(episode: try daemon.episode(2).id, true, now: 1)
        try await download(4, with: daemon, client)
        #expect(try cached(daemon) == [1, 3, 4])
        try await download(5, with: daemon, client)
        #expect(try cached(daemon) == [3, 4, 5])
        #expect(home.cacheFiles.count == 3)
        await daemon.stop()
    }

    @Test func whatIsPinnedOrOpenStaysAndTheTransferWaitsForRoom() async throws {
        let (daemon, client) = try await start(capacity: 450_000)
        try await download(1, 2, with: daemon, client)
        let (pinned, open) = (try daemon.episode(1), try daemon.episode(2))
        try await client.act(.pin, pinned.id)
        let file = try #require(try daemon.library.rendition(of: open.id)?.file)
        var lease: MediaReader? = try MediaReader(name: file, in: FilePath(home.places.cache))
        let third = try daemon.episode(3).id
        try await client.act(.download, third)
        try await waitUntil(description: "the download rests") {
            try await client.tasks().first { $0.episode == third }?.state == "suspended"
        }
        let task = try #require(try await client.tasks().first)
        #expect(task.error?.hasPrefix("no space left in the cache: the cache is full") == true)
        #expect(task.error?.contains("podfs evict") == true)
        #expect(try cached(daemon) == [1, 2])
        // A reader is told at once.
        await #expect { try await client.read(third, 199_000..<200_000) } throws: {
            ($0 as? Failure)?.errorNumber == 28
        }
        // The file is closed and the next look finds room; a person's command is such a look.
        withExtendedLifetime(lease) {}
        lease = nil
        try await client.act(.pin, pinned.id)
        try await client.completion(of: third)
        #expect(try cached(daemon) == [1, 3])
        await daemon.stop()
    }

    @Test func unpinningMakesRoom() async throws {
        let (daemon, client) = try await start(capacity: 450_000)
        try await download(1, 2, with: daemon, client)
        for number in 1...2 { try await client.act(.pin, try daemon.episode(number).id) }
        let third = try daemon.episode(3).id
        try await client.act(.download, third)
        try await waitUntil(description: "the download rests") {
            try await client.tasks().first { $0.episode == third }?.state == "suspended"
        }
        try await client.act(.unpin, try daemon.episode(1).id)
        try await client.completion(of: third)
        #expect(try cached(daemon) == [2, 3])
        await daemon.stop()
    }

    @Test func theDisksFloorCountsTooAndIsNamed() async throws {
        let disk = try DiskSpace(at: FilePath(home.places.cache))
        let (daemon, client) = try await start(capacity: 1 << 40, keepFree: disk.total)
        let first = try daemon.episode(1).id
        try await client.act(.download, first)
        try await waitUntil(description: "the download rests") {
            try await client.tasks().first?.state == "suspended"
        }
        #expect(try await client.tasks().first?.error?.contains("cache.keep_free") == true)
        await daemon.stop()
        // With another configuration the next daemon goes on.
        let second = try await home.start { $0.eviction = EvictionPolicy(capacity: 1 << 40, keepFree: 0) }
        try await waitUntil(description: "the episode is complete") { try second.episode(1).complete }
        await second.stop()
    }

    @Test func aFullCacheAtTheStartIsBroughtWithinItsLimit() async throws {
        let (daemon, client) = try await start(capacity: 1 << 30)
        try await download(1, 2, 3, with: daemon, client)
        await daemon.stop()
        let second = try await home.start { $0.eviction = EvictionPolicy(capacity: 250_000, keepFree: 0) }
        #expect(try cached(second).count == 1)
        await second.stop()
    }

    @Test func opensThatTheDaemonIsOnlyToldOfCount() async throws {
        let (daemon, client) = try await start(capacity: 1 << 30)
        try await download(1, with: daemon, client)
        let id = try daemon.episode(1).id
        #expect(try daemon.episode(1).lastOpened == nil)
        client.connection.post(.opened, EpisodeReference(episode: id).payload)
        try await waitUntil(description: "the open is noted") { try daemon.episode(1).lastOpened != nil }
        await daemon.stop()
    }
}
