import Fuse
import Glibc
import PodcastFilesystem
import PodcastLibrary
import PodcastProtocol
import SystemPackage
import TestSupport
import Testing
import Transfers

struct OpeningTests {
    let content = TestContent(seed: 7, size: 500_000)

    func node(_ mounted: Mounted, generation: Int = 1) throws -> NodeID {
        NodeNumber(kind: .episode, generation: generation, row: try mounted.episode().id).node
    }

    func grant(total: Int64?, generation: Int = 1) -> Grant {
        Grant(generation: generation, total: total, file: nil, present: ByteRanges())
    }

    // MARK: Without the daemon

    @Test func aWholeFileIsOpenedAndReadWithoutADaemon() async throws {
        let mounted = try Mounted(script: "touch \"$0.started\"")
        try mounted.subscribe()
        try mounted.store(content, of: try mounted.episode())
        let node = try node(mounted)
        let open = try mounted.open(node).answer.opened
        #expect(open.keepCache && !open.directIO && open.noFlush)
        for (offset, size) in [(0, 131_072), (131_072, 131_072), (499_999, 1), (400_000, 131_072), (1, 17)] {
            let expected = content.bytes(in: offset..<min(offset + size, 500_000))
            #expect(mounted.read(node, open.handle, Int64(offset), size).answer == .bytes(expected))
        }
        for offset in [500_000, 500_001, 1 << 40] as [Int64] {
            #expect(mounted.readTail(node, open.handle, offset, 4_096) == .bytes([]))
        }
        #expect(mounted.read(node, open.handle, -1, 4_096).answer == .error(.badFileDescriptor))
        // The daemon cannot evict an open file.
        let cache = try ContentCache(directory: FilePath(mounted.paths.cache))
        let file = try #require(try mounted.library.rendition(of: try mounted.episode().id)?.file)
        #expect(!cache.evict(file))
        mounted.release(node, open.handle)
        #expect(mounted.read(node, open.handle, 0, 4_096).answer == .error(.badFileDescriptor))
        // A child process that was forked while the file was open also holds the lease (the lock on the cache file),
        // until it calls execve(2).
        try await waitUntil(description: "the file can be evicted") { cache.evict(file) }
        #expect(!mounted.wasStarted)
    }

    /// The open of a cache file that another program has changed is sent to the daemon, which verifies the file. No
    /// daemon runs here, so the mount starts one.
    @Test(arguments: Tampering.allCases)
    func aCompleteFileWithADifferentStateIsNotServed(tampering: Tampering) async throws {
        let mounted = try Mounted(script: "touch \"$0.started\"")
        try mounted.subscribe()
        let file = try mounted.store(content, of: try mounted.episode())
        try await tampering.apply(to: file.path.string)
        if case .open? = mounted.open(try node(mounted)).answer { Issue.record("opened without verification") }
        try await waitUntil(description: "a daemon is started") { mounted.wasStarted }
    }

    @Test func theDaemonIsNotifiedOfLocalOpens() async throws {
        let mounted = try Mounted()
        try mounted.subscribe()
        try mounted.store(content, of: try mounted.episode())
        let daemon = try FakeDaemon(mounted.paths) { _, _ in }
        try await mounted.connect()
        let open = try mounted.open(try node(mounted)).answer.opened
        let id = try mounted.episode().id
        try await waitUntil(description: "the daemon is notified of the open") { daemon.opened == [id] }
        mounted.release(try node(mounted), open.handle)
        #expect(daemon.frames.isEmpty)
    }

    @Test func aFileWithAConfirmedSizeOpensAtOnceWithoutADaemon() throws {
        let mounted = try Mounted(script: "touch \"$0.started\"")
        try mounted.subscribe()
        try mounted.library.confirm(episode: try mounted.episode().id, size: 400_000, now: 1_700_000_001)
        let open = try mounted.open(try node(mounted)).answer.opened
        #expect(open.keepCache && !open.directIO)
        // A read beyond the end needs no bytes, so no daemon is started for it.
        #expect(mounted.readTail(try node(mounted), open.handle, 400_000, 10) == .bytes([]))
        #expect(!mounted.wasStarted)
    }

    @Test func aReadaheadBeyondTheEndIsRefusedOnce() throws {
        let mounted = try Mounted()
        try mounted.subscribe()
        try mounted.store(TestContent(seed: 1, size: 500_000), of: try mounted.episode())
        let node = try node(mounted)
        guard case .open(let open)? = mounted.open(node).answer,
            case .open(let direct)? = mounted.open(node, flags: O_RDONLY | __O_DIRECT).answer
        else {
            Issue.record("not opened at once")
            return
        }
        // Readahead fails, and the kernel repeats the read page by page.
        #expect(mounted.read(node, open.handle, 524_288, 131_072).answer == .error(.ioError))
        #expect(mounted.read(node, open.handle, 528_384, 4_096).answer == .bytes([]))
        // The filesystem treats later reads beyond the end as readahead again.
        #expect(mounted.read(node, open.handle, 524_288, 4_096).answer == .error(.ioError))
        #expect(mounted.read(node, open.handle, 528_384, 4_096).answer == .error(.ioError))
        // A read that bypasses the page cache is never readahead.
        #expect(mounted.read(node, direct.handle, 524_288, 4_096).answer == .bytes([]))
    }

    @Test func aNodeOfAnOldGenerationIsStaleAndItsNameInvalidated() throws {
        let mounted = try Mounted()
        let podcast = try mounted.subscribe()
        mounted.start()
        let old = try node(mounted)
        try mounted.library.dropRendition(episode: try mounted.episode().id, now: 1_700_000_001)
        #expect(mounted.open(old).answer == .error(.staleNFSFileHandle))
        #expect(
            mounted.notifier.messages == [
                .entry(parent: NodeNumber(kind: .show, row: podcast.id).node, name: "2026-01-01 Episode 1.mp3")
            ])
        #expect(mounted.open(NodeID(rawValue: .max)).answer == .error(.staleNFSFileHandle))
        #expect(mounted.open(NodeNumber(kind: .fixed, row: 50).node).answer == .error(.staleNFSFileHandle))
    }

    @Test func indexersCannotOpenUncachedEpisodes() async throws {
        let child = try ChildProcess("/bin/sleep", ["1000"])
        let mounted = try Mounted(script: "touch \"$0.started\"", indexers: ["sleep", "updatedb"])
        try mounted.subscribe(episodes: 2)
        try mounted.library.confirm(episode: try mounted.episode(2).id, size: 5, now: 1)
        try await waitUntil(description: "the child runs its program") {
            try FilePath.linkTarget("/proc/\(child.processIdentifier)/exe").hasSuffix("/sleep")
        }
        for number in 1...2 {
            let node = NodeNumber(kind: .episode, generation: 1, row: try mounted.episode(number).id).node
            #expect(mounted.open(node, pid: child.processIdentifier).answer == .error(.permissionDenied))
        }
        #expect(!mounted.wasStarted)
        // Other programs may open an uncached episode. Indexers may open generated files and cached episodes.
        let second = NodeNumber(kind: .episode, generation: 1, row: try mounted.episode(2).id).node
        _ = try await mounted.open(second).handle()
        _ = try await mounted.open(try mounted.entry(".status").node, pid: child.processIdentifier).handle()
        try mounted.store(content, of: try mounted.episode(1))
        _ = try await mounted.open(try node(mounted), pid: child.processIdentifier).handle()
        child.kill()
    }
}

extension FilePath {
    /// Returns the target of a symbolic link; empty if it cannot be read.
    static func linkTarget(_ path: String) throws -> String {
        var buffer = [CChar](repeating: 0, count: 4_096)
        let count = readlink(path, &buffer, buffer.count)
        return String(decoding: buffer[..<max(0, count)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
