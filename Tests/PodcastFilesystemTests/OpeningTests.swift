import Foundation
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
    let mounted: Mounted
    let podcast: Podcast
    let node: NodeID

    init() throws {
        mounted = try Mounted(script: "touch \"$0.started\"", indexers: ["sleep", "updatedb"])
        podcast = try mounted.subscribe(length: 111_111)
        node = try mounted.episodeNode()
    }

    func grant(total: Int64?, generation: Int = 1) -> Grant {
        Grant(generation: generation, total: total, file: nil, present: ByteRanges())
    }

    // MARK: Without the daemon

    @Test func aWholeFileIsOpenedAndReadWithoutADaemon() async throws {
        let file = try mounted.store(content, of: try mounted.episode())
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
        #expect(try !mounted.evicts(file.name))
        mounted.release(node, open.handle)
        #expect(mounted.read(node, open.handle, 0, 4_096).answer == .error(.badFileDescriptor))
        // A child process that was forked while the file was open also holds the lease (the lock on the cache file),
        // until it calls execve(2).
        try await waitUntil(description: "the file can be evicted") { try mounted.evicts(file.name) }
        #expect(!mounted.wasStarted)
    }

    /// The open of a cache file that another program has changed is sent to the daemon, which verifies the file. No
    /// daemon runs here, so the mount starts one.
    @Test(arguments: Tampering.allCases)
    func aCompleteFileWithADifferentStateIsNotServed(tampering: Tampering) async throws {
        let file = try mounted.store(content, of: try mounted.episode())
        try await tampering.apply(to: file.path.string)
        if case .open? = mounted.open(node).answer { Issue.record("opened without verification") }
        try await waitUntil(description: "a daemon is started") { mounted.wasStarted }
    }

    @Test func aFileWithAConfirmedSizeOpensAtOnceWithoutADaemon() throws {
        try mounted.library.confirm(episode: try mounted.episode().id, size: 400_000, now: 1_700_000_001)
        let open = try mounted.open(node).answer.opened
        #expect(open.keepCache && !open.directIO)
        // A read beyond the end needs no bytes, so no daemon is started for it.
        #expect(mounted.readTail(node, open.handle, 400_000, 10) == .bytes([]))
        #expect(!mounted.wasStarted)
    }

    @Test func aReadaheadBeyondTheEndIsRefusedOnce() throws {
        try mounted.store(TestContent(seed: 1, size: 500_000), of: try mounted.episode())
        let open = try mounted.open(node).answer.opened
        let direct = try mounted.open(node, flags: O_RDONLY | __O_DIRECT).answer.opened
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
        mounted.start()
        try mounted.library.dropRendition(episode: try mounted.episode().id, now: 1_700_000_001)
        #expect(mounted.open(node).answer == .error(.staleNFSFileHandle))
        #expect(
            mounted.notifier.messages == [
                .entry(parent: NodeNumber(kind: .show, row: podcast.id).node, name: "2026-01-01 Episode 1.mp3")
            ])
        #expect(mounted.open(NodeID(rawValue: .max)).answer == .error(.staleNFSFileHandle))
        #expect(mounted.open(NodeNumber(kind: .fixed, row: 50).node).answer == .error(.staleNFSFileHandle))
    }

    @Test func indexersCannotOpenUncachedEpisodesOrSearch() async throws {
        let child = try ChildProcess("/bin/sleep", ["1000"])
        let show = try mounted.subscribe("Zoo").id
        let other = try #require(try mounted.library.entries(of: show).first).id
        let confirmed = NodeNumber(kind: .episode, generation: 1, row: other).node
        try mounted.library.confirm(episode: other, size: 5, now: 1)
        try await waitUntil(description: "the child runs its program") {
            try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(child.processIdentifier)/exe")
                .hasSuffix("/sleep")
        }
        for node in [node, confirmed] {
            #expect(mounted.open(node, pid: child.processIdentifier).answer == .error(.permissionDenied))
        }
        let term = try mounted.entry(".search", "tide").node
        let search = mounted.request(pid: child.processIdentifier) { mounted.filesystem.opendir($0, node: term) }
        #expect(search.answer == .error(.permissionDenied) && !mounted.wasStarted)
        // Other programs may open an uncached episode. Indexers may open generated files and cached episodes.
        _ = try await mounted.open(confirmed).handle()
        _ = try await mounted.open(try mounted.entry(".status").node, pid: child.processIdentifier).handle()
        try mounted.store(content, of: try mounted.episode())
        _ = try await mounted.open(node, pid: child.processIdentifier).handle()
        child.kill()
    }
}
