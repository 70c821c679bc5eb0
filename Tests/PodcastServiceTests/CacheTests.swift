import PodcastLibrary
import PodcastProtocol
import SystemPackage
import TestSupport
import Testing
import Transfers

@testable import PodcastService

/// Evictions, and downloads that wait for space, in a cache that is too small.
@Suite(.stopsDaemons) struct CacheTests {
    private let home = ServiceHome()
    private static let size = 200_000

    init() throws {
        home.publish(episodes: 5, size: Self.size)
    }

    private func start(capacity: Int64, keepFree: Int64 = 0) async throws -> (RunningService, ServiceClient) {
        try await home.subscribe {
            $0.storage = StorageLimits(capacity: capacity, keepFree: keepFree)
        }
    }

    private func cached(_ daemon: RunningService) throws -> [Int] {
        try (1...5).filter { try daemon.episode($0).complete }
    }

    /// More files than are evicted in one turn.
    @Test func aLoweredLimitEvictsUntilTheRestFits() async throws {
        home.publish(episodes: 50, size: 10_000)
        let (first, client) = try await start(capacity: 1 << 30)
        for number in 1...50 { try await client.act(.download, try first.episode(number).id) }
        try await waitUntil(description: "all are cached") {
            try first.library.downloads().isEmpty && home.cacheFiles.count == 50
        }
        await first.stop()
        let second = try await home.start { $0.storage = StorageLimits(capacity: 100_000, keepFree: 0) }
        try await waitUntil(description: "ten files are left") {
            try second.library.cachedBytes() == 100_000 && home.cacheFiles.count == 10
        }
    }

    @Test func pinnedAndOpenFilesStayAndTheDownloadWaitsForSpace() async throws {
        let (daemon, client) = try await start(capacity: 450_000)
        try await daemon.download(1, 2, with: client)
        let (pinned, open) = (try daemon.episode(1), try daemon.episode(2))
        try await client.act(.pin, pinned.id)
        let file = try #require(try daemon.library.rendition(of: open.id)?.file)
        var lease: MediaReader? = try MediaReader(name: file, in: FilePath(home.paths.cache))
        let third = try daemon.episode(3).id
        try await client.act(.download, third)
        let rest = try await client.event("the download waits") {
            $0.episode == third && $0.task?.waitsForSpace == true
        }
        #expect(rest.task?.state == .queued && rest.task?.received == 0)
        let task = try #require(try await client.tasks().first)
        #expect(task.state == .queued && task.waitsForSpace == true)
        #expect(task.error?.hasPrefix("no space left in the cache: the cache is full") == true)
        #expect(task.error?.contains("podfs evict") == true)
        #expect(try cached(daemon) == [1, 2])
        #expect(home.web.requests(for: "/feed-3.mp3").isEmpty)
        // The daemon is not told of the close. Pinning the pinned episode again changes nothing, but makes the daemon
        // assess the cache at once.
        withExtendedLifetime(lease) {}
        lease = nil
        try await client.act(.pin, pinned.id)
        try await client.completion(of: third)
        #expect(try cached(daemon) == [1, 3])
    }

    /// The cache has space for two of five episodes. Two downloads complete, and the others wait. The third starts when
    /// the first episode is marked as played.
    @Test func downloadsThatFitCompleteAndTheOthersWait() async throws {
        let (daemon, client) = try await start(capacity: 450_000)
        let ids = try (1...5).map { try daemon.episode($0).id }
        #expect(try await client.perform(.act(.download, episodes: ids)) == .acted(count: 5, problems: []))
        for id in ids[..<2] { try await client.completion(of: id) }
        for id in ids[2...] {
            try await client.event("\(id) waits") {
                $0.episode == id && $0.task?.waitsForSpace == true && $0.task?.state == .queued
            }
        }
        #expect(try cached(daemon) == [1, 2])
        #expect(try await client.tasks().map(\.waitsForSpace) == [true, true, true])
        for number in 3...5 { #expect(home.web.requests(for: "/feed-\(number).mp3").isEmpty) }
        // Nothing more can be done: the daemon is idle and reports it.
        try await client.event("all is done") { $0.kind == .idle }
        try await client.perform(.setPlayed(episode: ids[0], true))
        try await client.completion(of: ids[2])
        #expect(try cached(daemon) == [2, 3])
        await daemon.stop()
        // The next daemon restores the waiting downloads.
        let second = try await home.start { $0.storage = StorageLimits(capacity: 900_000, keepFree: 0) }
        try await waitUntil(description: "the other downloads are complete") { try cached(second) == [2, 3, 4, 5] }
    }

    @Test func anEpisodeLargerThanTheCacheFailsToDownloadAndCanBeRead() async throws {
        let gate = Gate(heldAt: 100_000)
        let media = Resource(home.content(1, size: Self.size), etag: "\"m1\"")
        home.web.serve("/feed-1.mp3", media) { _ in .hold(gate) }
        let (daemon, client) = try await start(capacity: 150_000)
        let first = try daemon.episode(1).id
        try await client.act(.download, first)
        let failure = try await client.event("it fails") { $0.kind == .failed && $0.episode == first }
        #expect(failure.task?.error?.contains("does not fit into cache.limit (146.5 KiB)") == true)
        gate.open()
        let grant = try await client.open(first)
        let read = try await client.read(first, 199_000..<200_000, generation: grant.generation)
        #expect(read.present.covers(199_000..<200_000))
    }

    @Test func theSpaceToKeepFreeCountsAndTheErrorNamesItsSetting() async throws {
        let disk = try DiskSpace(at: FilePath(home.paths.cache))
        let (daemon, client) = try await start(capacity: 1 << 40, keepFree: disk.total)
        let first = try daemon.episode(1).id
        try await client.act(.download, first)
        try await waitUntil(description: "the download is suspended") {
            try await client.tasks().first?.state == .suspended
        }
        #expect(try await client.tasks().first?.error?.contains("cache.keep_free") == true)
        await daemon.stop()
        // The next daemon need not leave any space free, so it resumes the download.
        let second = try await home.start { $0.storage = StorageLimits(capacity: 1 << 40, keepFree: 0) }
        try await waitUntil(description: "the episode is complete") { try second.episode(1).complete }
    }
}
