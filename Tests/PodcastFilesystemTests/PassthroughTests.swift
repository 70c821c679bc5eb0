import Glibc
import PodcastFilesystem
import PodcastLibrary
import PodcastProtocol
import Synchronization
import SystemPackage
import TestSupport
import Testing
import Transfers

@testable import Fuse

/// Opens answered with a backing file, which the kernel itself reads.
struct PassthroughTests {
    private let content = TestContent(seed: 7, size: 500_000)

    /// A registry in place of the kernel's. It accepts backing files unless `refuses` is true.
    private final class TestRegistry: BackingFileRegistry {
        let registered = Mutex<[BackingID]>([])
        let ended = Mutex<[BackingID]>([])
        let refuses = Mutex(false)

        func register(_ file: FileDescriptor) -> BackingFile? {
            if refuses.withLock({ $0 }) { return nil }
            let id = registered.withLock { registered in
                let id = BackingID(rawValue: Int32(registered.count + 1))
                registered.append(id)
                return id
            }
            return BackingFile(id: id) { [self] id in ended.withLock { $0.append(id) } }
        }
    }

    private let registry = TestRegistry()
    private let mounted: Mounted
    private let node: NodeID

    init() throws {
        mounted = try Mounted()
        try mounted.subscribe()
        mounted.filesystem.start(notifier: mounted.notifier, backings: registry, startsDaemon: false)
        node = try mounted.episodeNode()
    }

    private func open(flags: Int32 = O_RDONLY) throws -> OpenReply {
        try mounted.open(node, flags: flags).answer.opened
    }

    private var ended: [Int32] { registry.ended.withLock { $0.map(\.rawValue) } }

    @Test func aWholeEpisodeIsReadByTheKernelUntilTheLastClose() throws {
        try mounted.store(content, of: try mounted.episode())
        let first = try open()
        #expect(first.backing?.rawValue == 1)
        #expect(!first.directIO && !first.keepCache && first.noFlush)
        let second = try open()
        #expect(second.backing?.rawValue == 1)
        mounted.release(node, first.handle)
        let third = try open()
        #expect(third.backing?.rawValue == 1)
        mounted.release(node, second.handle)
        #expect(ended == [])
        mounted.release(node, third.handle)
        #expect(ended == [1])
        #expect(try open().backing?.rawValue == 2)
    }

    @Test func handlesOfADownloadShareItsMode() throws {
        try mounted.library.confirm(episode: try mounted.episode().id, size: 500_000, now: 1_700_000_001)
        let early = try open()
        #expect(early.backing == nil && early.keepCache)
        try mounted.store(content, of: try mounted.episode())
        let late = try open()
        #expect(late.backing == nil && late.keepCache)
        #expect(mounted.read(node, late.handle, 1_000, 10).answer == .bytes(content.bytes(in: 1_000..<1_010)))
        mounted.release(node, early.handle)
        let last = try open()
        #expect(last.backing == nil && registry.registered.withLock { $0.isEmpty })
        // After the last cached handle, the kernel reads.
        for handle in [late.handle, last.handle] { mounted.release(node, handle) }
        #expect(try open().backing?.rawValue == 1)
    }

    @Test func aRejectedBackingFileMeansCachedReads() throws {
        registry.refuses.withLock { $0 = true }
        try mounted.store(content, of: try mounted.episode())
        let reply = try open()
        #expect(reply.backing == nil && reply.keepCache && !reply.directIO)
        #expect(mounted.read(node, reply.handle, 0, 10).answer == .bytes(content.bytes(in: 0..<10)))
    }

    @Test func aRejectedOpenReleasesTheBackingFile() throws {
        try mounted.store(content, of: try mounted.episode())
        mounted.request(refusing: true) { mounted.filesystem.open($0, node: node, flags: O_RDONLY) }
        #expect(ended == [1])
        #expect(try open().backing?.rawValue == 2)
    }

    @Test func readsThatBypassThePageCacheAreAnswered() throws {
        try mounted.store(content, of: try mounted.episode())
        let first = try open()
        // While a node has passthrough handles, the kernel accepts no open in another mode. So this open gets the
        // backing file as well, with direct I/O in addition.
        let direct = try open(flags: O_RDONLY | __O_DIRECT)
        #expect(direct.backing == first.backing && direct.directIO)
        #expect(mounted.read(node, direct.handle, 777, 1_001).answer == .bytes(content.bytes(in: 777..<1_778)))
        #expect(mounted.read(node, direct.handle, 500_000, 1_001).answer == .bytes([]))
        mounted.release(node, first.handle)
        mounted.release(node, direct.handle)
        // An open with O_DIRECT of a node without other handles is in cached mode. In passthrough mode, its reads would
        // have to be aligned as the cache file's disk requires.
        let alone = try open(flags: O_RDONLY | __O_DIRECT)
        #expect(alone.backing == nil && !alone.directIO && alone.keepCache)
        #expect(try open().backing == nil)
    }

    @Test func aFileRemovedFromTheCacheIsSharedWhileOpen() throws {
        let file = try mounted.store(content, of: try mounted.episode())
        let first = try open()
        unlink(ContentCache.path(of: file.name, in: mounted.options.cache).string)
        let second = try open()
        #expect(second.backing == first.backing)
        // The bytes of the removed file are available for direct I/O too.
        let direct = try open(flags: O_RDONLY | __O_DIRECT)
        #expect(mounted.read(node, direct.handle, 5, 5).answer == .bytes(content.bytes(in: 5..<10)))
        for reply in [first, second, direct] { mounted.release(node, reply.handle) }
        #expect(ended == [1])
    }

    @Test func theDaemonIsNotifiedOfTheOpen() async throws {
        let mounted = try Mounted()
        try mounted.subscribe()
        try mounted.store(content, of: try mounted.episode())
        let daemon = try FakeDaemon(mounted.paths)
        mounted.filesystem.start(notifier: mounted.notifier, backings: registry, startsDaemon: false)
        try await waitUntil(description: "the daemon is found") {
            mounted.notifier.messages.contains(.attributes(.root))
        }
        let id = try mounted.episode().id
        let node = try mounted.episodeNode()
        // The daemon is notified of at most one open per second and episode.
        let begin = time(nil)
        for _ in 0..<100 { mounted.release(node, try mounted.open(node).answer.opened.handle) }
        let seconds = time(nil) - begin + 1
        try await waitUntil(deadline: .seconds(60), description: "another second has begun") {
            time(nil) >= begin + seconds
        }
        mounted.release(node, try mounted.open(node).answer.opened.handle)
        try await waitUntil(description: "the daemon is notified again") { daemon.opened.count >= 2 }
        #expect(daemon.opened.allSatisfy { $0 == id } && daemon.opened.count <= seconds + 1)
    }
}
