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
    private let content = TestContent(seed: 7, size: 500_000)
    private let mounted: Mounted
    private let podcast: Podcast
    private let node: NodeID

    init() throws {
        mounted = try Mounted(script: "touch \"$0.started\"", indexers: ["sleep", "updatedb"])
        podcast = try mounted.subscribe(length: 111_111)
        node = try mounted.episodeNode()
    }

    private func grant(total: Int64?, generation: Int = 1) -> Grant {
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

    // MARK: With the daemon

    @Test func theSizeIsPushedBeforeTheOpenIsAnswered() async throws {
        let daemon = try await mounted.daemon()
        let id = try mounted.episode().id
        let open = mounted.open(node)
        let frame = try #require(try await daemon.wait(for: .open).first)
        #expect(ReadRequest(payload: frame.payload)?.episode == id)
        #expect(open.answer == nil && mounted.notifier.messages.isEmpty)

        mounted.notifier.hold()
        try mounted.library.confirm(episode: id, size: 400_000, now: 1_700_000_002)
        daemon.answer(frame, grant(total: 400_000))
        try await waitUntil { !mounted.notifier.messages.isEmpty }
        #expect(mounted.notifier.messages == [.attributes(node)])
        #expect(open.answer == nil)
        mounted.notifier.letGo()
        let answer = try await open.answered().opened
        #expect(answer.keepCache && !answer.directIO)
        #expect(mounted.attributes(node, handle: answer.handle)?.size == 400_000)
        #expect(mounted.readTail(node, answer.handle, 400_000, 10) == .bytes([]))
        #expect(daemon.frames.count == 1)

        mounted.release(node, answer.handle)
        let close = try #require(try await daemon.wait(for: .close).first)
        #expect(WireJSON.decode(EpisodeID.self, close.payload) == id)
    }

    /// A refresh soon after an open finds that the feed refers to another file for the same episode.
    @Test func theSizeOfTheOldFileIsNotUsedForTheNew() async throws {
        let daemon = try await mounted.daemon(handler: FakeDaemon.granting(grant(total: 400_000)))
        let id = try mounted.episode().id
        mounted.release(node, try await mounted.open(node).handle())
        #expect(mounted.attributes(node)?.size == 400_000)
        let now = Int64(time(nil))
        try mounted.library.confirm(episode: id, size: 400_000, now: now)
        #expect(mounted.attributes(node)?.size == 400_000)
        try mounted.refresh(
            podcast, .show("Show", episodes: 1, length: 222_222) { "http://127.0.0.1:9/new/\($0).mp3" }, now: now)
        #expect(mounted.attributes(node)?.size == 222_222)
        #expect(mounted.fact(node, "user.podfs.size_source") == "feed")
        #expect(mounted.fact(node, "user.podfs.bytes_expected") == "222222")
        #expect(daemon.frames.count { $0.kind == .open } == 1)
    }

    @Test func aFileWithoutALengthBypassesThePageCache() async throws {
        let grants = Journal<Grant>()
        let daemon = try await mounted.daemon { daemon, frame in
            if frame.kind == .open, let grant = grants.entries.last { daemon.answer(frame, grant) }
        }
        grants.append(grant(total: nil))
        let first = try await mounted.open(node).answered().opened
        #expect(first.directIO && !first.keepCache)
        // While the file is open with direct I/O, other opens use direct I/O too, because all handles of a node must
        // have the same mode.
        grants.append(grant(total: 300_000))
        let second = try await mounted.open(node).answered().opened
        #expect(second.directIO && second.handle != first.handle)
        mounted.release(node, first.handle)
        mounted.release(node, second.handle)
        let third = try await mounted.open(node).answered().opened
        #expect(!third.directIO && third.keepCache)
        try await daemon.wait(for: .close, count: 2)
    }

    @Test(arguments: [EACCES, ENODATA, EHOSTUNREACH, ETIMEDOUT, ENOSPC, EIO])
    func aServersRefusalFailsTheOpen(number: Int32) async throws {
        let daemon = try await mounted.daemon { daemon, frame in
            daemon.answer(frame, Failure(errorNumber: number, message: "no"))
        }
        #expect(try await mounted.open(node).answered() == .error(Errno(rawValue: number)))
        #expect(daemon.frames.map(\.kind) == [.open])
    }

    @Test func anOpenThatFindsANewRenditionIsStale() async throws {
        let daemon = try await mounted.daemon(handler: FakeDaemon.granting(grant(total: 5, generation: 2)))
        #expect(try await mounted.open(node).answered() == .error(.staleNFSFileHandle))
        // The daemon has counted the open, so the mount sends a close.
        try await daemon.wait(for: .close)
        #expect(
            mounted.notifier.messages == [
                .entry(parent: NodeNumber(kind: .show, row: podcast.id).node, name: "2026-01-01 Episode 1.mp3")
            ])
    }

    @Test func anOpenWhoseReplyIsRejectedIsClosed() async throws {
        let daemon = try await mounted.daemon(handler: FakeDaemon.granting(grant(total: 400_000)))
        let reply = mounted.request(refusing: true) { mounted.filesystem.open($0, node: node, flags: O_RDONLY) }
        try await reply.answered()
        try await daemon.wait(for: .close)
        #expect(daemon.frames.map(\.kind) == [.open, .close])
    }

    @Test func anInterruptedOpenIsCancelled() async throws {
        let daemon = try await mounted.daemon()
        let open = mounted.open(node)
        let frame = try #require(try await daemon.wait(for: .open).first)
        open.interrupt()
        #expect(try await open.answered() == .error(.interrupted))
        #expect(try await daemon.wait(for: .cancel).first?.number == frame.number)
        // A grant (the daemon's answer to an open) that arrives after the interrupt opens nothing. So the next open
        // gets the first handle.
        daemon.answer(frame, grant(total: 400_000))
        #expect(try await mounted.open(try mounted.entry(".status").node).handle().rawValue == 1)
    }

    @Test func anInterruptDuringThePushClosesTheOpen() async throws {
        let daemon = try await mounted.daemon()
        let open = mounted.open(node)
        let frame = try #require(try await daemon.wait(for: .open).first)
        mounted.notifier.hold()
        daemon.answer(frame, grant(total: 400_000))
        try await waitUntil { !mounted.notifier.messages.isEmpty }
        open.interrupt()
        #expect(try await open.answered() == .error(.interrupted))
        mounted.notifier.letGo()
        try await daemon.wait(for: .close)
        #expect(!daemon.frames.contains { $0.kind == .cancel })
        // No handle is open, so the kernel may cache the attributes again. The second notification makes it request
        // them once more.
        try await waitUntil { mounted.notifier.messages == [.attributes(node), .attributes(node)] }
    }

    @Test func openingUpdatesTheAccessTime() async throws {
        try mounted.store(content, of: try mounted.episode())
        let before = try #require(mounted.attributes(node))
        let now = Int64(time(nil))
        let handle = try await mounted.open(node).handle()
        let opened = try #require(mounted.attributes(node))
        #expect(before.accessed < now && opened.accessed >= now)
        #expect(opened.modified == before.modified && opened.changed == before.changed)
        mounted.release(node, handle)
    }
}
