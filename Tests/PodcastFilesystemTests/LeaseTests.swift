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

    private let mounted: Mounted
    private let node: NodeID

    init() throws {
        mounted = try Mounted(script: "touch \"$0.started\"")
        try mounted.subscribe()
        node = try mounted.episodeNode()
    }

    private func expectFree(_ file: CacheFile) async throws {
        // A forked child holds the lease too, until it calls execve(2).
        try await waitUntil(description: "the file can be evicted") { try mounted.evicts(file.name) }
    }

    @Test func aPartialFileIsLeasedByEveryOpen() async throws {
        let file = try mounted.store(content, of: try mounted.episode(), ranges: [0..<200_000], complete: false)
        let open = try mounted.open(node).answer.opened
        #expect(open.keepCache && !open.directIO && open.backing == nil)
        let second = try await mounted.open(node).handle()
        #expect(try !mounted.evicts(file.name))
        mounted.release(node, open.handle)
        #expect(try !mounted.evicts(file.name))
        mounted.release(node, second)
        try await expectFree(file)
        #expect(!mounted.wasStarted)
    }

    @Test func aLaterCacheFileIsLeasedForAllHandles() async throws {
        let id = try mounted.episode().id
        try mounted.library.confirm(episode: id, size: Int64(content.size), now: 1_700_000_001)
        let daemon = try await mounted.daemon()
        let idle = try await mounted.open(node).handle()
        let reading = try await mounted.open(node).handle()
        let read = mounted.read(node, reading, 0, 4_096)
        let frame = try #require(try await daemon.wait(for: .read).first)
        let file = try mounted.store(content, of: try mounted.episode(), ranges: [0..<200_000], complete: false)
        daemon.answer(frame, mounted.grant(file, content, present: 0..<200_000))
        #expect(try await read.answered() == .bytes(content.bytes(in: 0..<4_096)))
        mounted.release(node, reading)
        #expect(try !mounted.evicts(file.name))
        mounted.release(node, idle)
        try await expectFree(file)
    }

    @Test func aFileNamedByTheDaemonAtOpenIsLeased() async throws {
        let grants = Journal<Grant>()
        let daemon = try await mounted.daemon { daemon, frame in
            if frame.kind == .open, let grant = grants.entries.last { daemon.answer(frame, grant) }
        }
        let other = try ContentCache(directory: FilePath(mounted.paths.cache)).create(size: 500_000)
        grants.append(mounted.grant(other, content, present: 0..<200_000))
        let handle = try await mounted.open(node).handle()
        #expect(try !mounted.evicts(other.name))
        // The mount sends the first read to the daemon although the cache file has the bytes of this read: the request
        // starts the download of the rest.
        let read = mounted.read(node, handle, 0, 4_096)
        try await daemon.wait(for: .read)
        read.interrupt()
        mounted.release(node, handle)
        try await daemon.wait(for: .close)
        try await expectFree(other)
    }

    @Test func aFileRemovedMeanwhileOpensAsUncached() async throws {
        let file = try mounted.store(content, of: try mounted.episode(), ranges: [0..<200_000], complete: false)
        #expect(try mounted.evicts(file.name))
        let daemon = try await mounted.daemon { daemon, frame in
            daemon.answer(frame, Failure(errorNumber: ESTALE, message: "replaced"))
        }
        let handle = try await mounted.open(node).handle()
        #expect(try await mounted.read(node, handle, 0, 4_096).answered() == .error(.staleNFSFileHandle))
        #expect(daemon.frames.map(\.kind) == [.read])
    }
}
