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

    /// A registry in place of the kernel's. It accepts backing files unless `refuses` is set.
    private final class TestRegistry: BackingFileRegistry {
        let registered = Mutex<[BackingID]>([])
        let ended = Mutex<[BackingID]>([])
        let refuses: Bool

        init(refuses: Bool = false) { self.refuses = refuses }

        func register(_ file: FileDescriptor) -> BackingFile? {
            if refuses { return nil }
            let id = registered.withLock { registered in
                let id = BackingID(rawValue: Int32(registered.count + 1))
                registered.append(id)
                return id
            }
            return BackingFile(id: id) { [self] id in ended.withLock { $0.append(id) } }
        }
    }

    private func mounted(_ registry: TestRegistry) throws -> (Mounted, NodeID) {
        let mounted = try Mounted()
        try mounted.subscribe()
        mounted.filesystem.start(notifier: mounted.notifier, backings: registry, startsDaemon: false)
        return (mounted, NodeNumber(kind: .episode, generation: 1, row: try mounted.episode().id).node)
    }

    private func open(_ mounted: Mounted, _ node: NodeID, flags: Int32 = O_RDONLY) throws -> OpenReply {
        let answer = mounted.open(node, flags: flags).answer
        guard case .open(let reply)? = answer else { throw Mounted.MissingEntry(name: "\(String(describing: answer))") }
        return reply
    }

    @Test func aWholeEpisodeIsReadByTheKernelUntilTheLastClose() throws {
        let registry = TestRegistry()
        let (mounted, node) = try mounted(registry)
        try mounted.store(content, of: try mounted.episode())
        let first = try open(mounted, node)
        #expect(first.backing?.rawValue == 1)
        #expect(!first.directIO && !first.keepCache && first.noFlush)
        let second = try open(mounted, node)
        #expect(second.backing?.rawValue == 1)
        mounted.release(node, first.handle)
        let third = try open(mounted, node)
        #expect(third.backing?.rawValue == 1)
        mounted.release(node, second.handle)
        #expect(registry.ended.withLock { $0.isEmpty })
        mounted.release(node, third.handle)
        #expect(registry.ended.withLock { $0.map(\.rawValue) } == [1])
        #expect(try open(mounted, node).backing?.rawValue == 2)
    }

    @Test func handlesOfADownloadShareItsMode() throws {
        let registry = TestRegistry()
        let (mounted, node) = try mounted(registry)
        try mounted.library.confirm(episode: try mounted.episode().id, size: 500_000, now: 1_700_000_001)
        let early = try open(mounted, node)
        #expect(early.backing == nil && early.keepCache)
        try mounted.store(content, of: try mounted.episode())
        let late = try open(mounted, node)
        #expect(late.backing == nil && late.keepCache)
        #expect(mounted.read(node, late.handle, 1_000, 10).answer == .bytes(content.bytes(in: 1_000..<1_010)))
        mounted.release(node, early.handle)
        #expect(try open(mounted, node).backing == nil)
        #expect(registry.registered.withLock { $0.isEmpty })
    }

    @Test func afterTheLastCachedHandleTheKernelReads() throws {
        let registry = TestRegistry()
        let (mounted, node) = try mounted(registry)
        try mounted.library.confirm(episode: try mounted.episode().id, size: 500_000, now: 1_700_000_001)
        let early = try open(mounted, node)
        try mounted.store(content, of: try mounted.episode())
        mounted.release(node, early.handle)
        #expect(try open(mounted, node).backing?.rawValue == 1)
    }

    @Test func aRejectedBackingFileMeansCachedReads() throws {
        let (mounted, node) = try mounted(TestRegistry(refuses: true))
        try mounted.store(content, of: try mounted.episode())
        let reply = try open(mounted, node)
        #expect(reply.backing == nil && reply.keepCache && !reply.directIO)
        #expect(mounted.read(node, reply.handle, 0, 10).answer == .bytes(content.bytes(in: 0..<10)))
    }

    @Test func aRejectedOpenReleasesTheBackingFile() throws {
        let registry = TestRegistry()
        let (mounted, node) = try mounted(registry)
        try mounted.store(content, of: try mounted.episode())
        mounted.request(refusing: true) { mounted.filesystem.open($0, node: node, flags: O_RDONLY) }
        #expect(registry.ended.withLock { $0.map(\.rawValue) } == [1])
        #expect(try open(mounted, node).backing?.rawValue == 2)
    }

    @Test func readsThatBypassThePageCacheAreAnswered() throws {
        let registry = TestRegistry()
        let (mounted, node) = try mounted(registry)
        try mounted.store(content, of: try mounted.episode())
        let first = try open(mounted, node)
        // While a node has passthrough handles, the kernel accepts no open in another mode. So this open gets the
        // backing file as well, with direct I/O in addition.
        let direct = try open(mounted, node, flags: O_RDONLY | __O_DIRECT)
        #expect(direct.backing == first.backing && direct.directIO)
        #expect(mounted.read(node, direct.handle, 777, 1_001).answer == .bytes(content.bytes(in: 777..<1_778)))
        #expect(mounted.read(node, direct.handle, 500_000, 1_001).answer == .bytes([]))
        mounted.release(node, first.handle)
        mounted.release(node, direct.handle)
        // An open with O_DIRECT of a node without other handles is in cached mode. In passthrough mode, its reads would
        // have to be aligned as the cache file's disk requires.
        let alone = try open(mounted, node, flags: O_RDONLY | __O_DIRECT)
        #expect(alone.backing == nil && !alone.directIO && alone.keepCache)
        #expect(try open(mounted, node).backing == nil)
    }

    @Test func aFileRemovedFromTheCacheIsSharedWhileOpen() throws {
        let registry = TestRegistry()
        let (mounted, node) = try mounted(registry)
        let file = try mounted.store(content, of: try mounted.episode())
        let first = try open(mounted, node)
        unlink(ContentCache.path(of: file.name, in: mounted.options.cache).string)
        let second = try open(mounted, node)
        #expect(second.backing == first.backing)
        // The bytes of the removed file are available for direct I/O too.
        let direct = try open(mounted, node, flags: O_RDONLY | __O_DIRECT)
        #expect(mounted.read(node, direct.handle, 5, 5).answer == .bytes(content.bytes(in: 5..<10)))
        for reply in [first, second, direct] { mounted.release(node, reply.handle) }
        #expect(registry.ended.withLock { $0.map(\.rawValue) } == [1])
    }

    @Test func theDaemonIsNotifiedOfTheOpen() async throws {
        let registry = TestRegistry()
        let mounted = try Mounted()
        try mounted.subscribe()
        try mounted.store(content, of: try mounted.episode())
        let daemon = try FakeDaemon(mounted.paths) { _, _ in }
        mounted.filesystem.start(notifier: mounted.notifier, backings: registry, startsDaemon: false)
        try await waitUntil(description: "the daemon is found") {
            mounted.notifier.messages.contains(.attributes(.root))
        }
        let id = try mounted.episode().id
        let node = NodeNumber(kind: .episode, generation: 1, row: id).node
        // The daemon is notified of at most one open per second and episode.
        let begin = time(nil)
        for _ in 0..<100 { mounted.release(node, try open(mounted, node).handle) }
        let seconds = time(nil) - begin + 1
        try await waitUntil(deadline: .seconds(60), description: "another second has begun") {
            time(nil) >= begin + seconds
        }
        mounted.release(node, try open(mounted, node).handle)
        try await waitUntil(description: "the daemon is notified again") { daemon.opened.count >= 2 }
        #expect(daemon.opened.allSatisfy { $0 == id } && daemon.opened.count <= seconds + 1)
    }

    @Test func generatedFilesNeverUsePassthrough() throws {
        let registry = TestRegistry()
        let (mounted, _) = try mounted(registry)
        let reply = try open(mounted, try mounted.entry(".status").node)
        #expect(reply.backing == nil && reply.directIO)
        #expect(registry.registered.withLock { $0.isEmpty })
    }
}
