import Fuse
import Glibc
import PodcastFilesystem
import PodcastLibrary
import PodcastProtocol
import SystemPackage
import TestSupport
import Testing
import Transfers

/// Leases, the locks with which a mount prevents the daemon from evicting an open cache file, even before the first
/// read.
struct LeaseTests {
    private let content = TestContent(seed: 7, size: 500_000)

    private func node(_ mounted: Mounted) throws -> NodeID {
        NodeNumber(kind: .episode, generation: 1, row: try mounted.episode().id).node
    }

    /// Attempts to evict a file, as the daemon does. Returns `false` if a lease prevents it.
    private func isEvictable(_ file: CacheFile, _ mounted: Mounted) throws -> Bool {
        try ContentCache(directory: FilePath(mounted.paths.cache)).evict(file.name)
    }

    private func expectFree(_ file: CacheFile, _ mounted: Mounted) async throws {
        // A forked child holds the lease too, until it calls execve(2).
        try await waitUntil(description: "the file can be evicted") { try isEvictable(file, mounted) }
    }

    @Test func aPartialFileIsLeasedByEveryOpen() async throws {
        let mounted = try Mounted(script: "touch \"$0.started\"")
        try mounted.subscribe()
        let file = try mounted.store(content, of: try mounted.episode(), ranges: [0..<200_000], complete: false)
        let node = try node(mounted)
        let open = try mounted.open(node).answer.opened
        #expect(open.keepCache && !open.directIO && open.backing == nil)
        let second = try await mounted.open(node).handle()
        #expect(try !isEvictable(file, mounted))
        mounted.release(node, open.handle)
        #expect(try !isEvictable(file, mounted))
        mounted.release(node, second)
        try await expectFree(file, mounted)
        #expect(!mounted.wasStarted)
    }

    @Test func aLaterCacheFileIsLeasedForAllHandles() async throws {
        let mounted = try Mounted()
        try mounted.subscribe()
        let id = try mounted.episode().id
        try mounted.library.confirm(episode: id, size: Int64(content.size), now: 1_700_000_001)
        let daemon = try FakeDaemon(mounted.paths)
        try await mounted.connect()
        let node = try node(mounted)
        let idle = try await mounted.open(node).handle()
        let reading = try await mounted.open(node).handle()
        let read = mounted.read(node, reading, 0, 4_096)
        let frame = try #require(try await daemon.wait(for: .read).first)
        let file = try mounted.store(content, of: try mounted.episode(), ranges: [0..<200_000], complete: false)
        daemon.answer(frame, mounted.grant(file, content, present: 0..<200_000))
        #expect(try await read.answered() == .bytes(content.bytes(in: 0..<4_096)))
        mounted.release(node, reading)
        #expect(try !isEvictable(file, mounted))
        mounted.release(node, idle)
        try await expectFree(file, mounted)
    }

    @Test func aFileNamedByTheDaemonAtOpenIsLeased() async throws {
        let mounted = try Mounted()
        try mounted.subscribe()
        let grants = Journal<Grant>()
        let daemon = try FakeDaemon(mounted.paths) { daemon, frame in
            if frame.kind == .open, let grant = grants.entries.last { daemon.answer(frame, grant) }
        }
        try await mounted.connect()
        let other = try ContentCache(directory: FilePath(mounted.paths.cache)).create(size: 500_000)
        grants.append(mounted.grant(other, content, present: 0..<200_000))
        let node = try node(mounted)
        let handle = try await mounted.open(node).handle()
        #expect(try !isEvictable(other, mounted))
        // The mount sends the first read to the daemon although the cache file has the bytes of this read: the request
        // starts the download of the rest.
        let read = mounted.read(node, handle, 0, 4_096)
        try await daemon.wait(for: .read)
        read.interrupt()
        mounted.release(node, handle)
        try await daemon.wait(for: .close)
        try await expectFree(other, mounted)
    }

    @Test func aFileRemovedMeanwhileOpensAsUncached() async throws {
        let mounted = try Mounted()
        try mounted.subscribe()
        let file = try mounted.store(content, of: try mounted.episode(), ranges: [0..<200_000], complete: false)
        #expect(try isEvictable(file, mounted))
        let daemon = try FakeDaemon(mounted.paths) { daemon, frame in
            daemon.answer(frame, Failure(errorNumber: ESTALE, message: "replaced"))
        }
        try await mounted.connect()
        let node = try node(mounted)
        let handle = try await mounted.open(node).handle()
        #expect(try await mounted.read(node, handle, 0, 4_096).answered() == .error(.staleNFSFileHandle))
        #expect(daemon.frames.map(\.kind) == [.read])
    }
}
