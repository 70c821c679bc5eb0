import Fuse
import Glibc
import PodcastFilesystem
import PodcastLibrary
import PodcastProtocol
import SystemPackage
import TestSupport
import Testing
import Transfers

// The daemon's part in an open: the mount's request to it, and the effects of its answer.
extension OpeningTests {
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

    /// The kernel ends a read at the size that it has cached. So after a lookup or a listing has returned another size,
    /// the next open must push the server's size again.
    @Test(arguments: [false, true])
    func aSizeIsPushedAgainAfterADifferentReply(lists: Bool) async throws {
        let daemon = try await mounted.daemon(handler: FakeDaemon.granting(grant(total: 400_000)))
        mounted.release(node, try await mounted.open(node).handle())
        try mounted.library.confirm(episode: try mounted.episode().id, size: 400_000, now: 1_700_000_001)
        // The feed states another length: the confirmed size no longer applies.
        try mounted.refresh(
            podcast, .show("Show", episodes: 1, length: 222_222) { "http://127.0.0.1:9/Show/\($0).mp3" })
        let show = NodeNumber(kind: .show, row: podcast.id).node
        if lists {
            let listed = mounted.list(show, try mounted.opendir(show))
            #expect(listed?.contains { $0.name == "2026-01-01 Episode 1.mp3" && $0.size == 222_222 } == true)
        } else {
            #expect(try mounted.entry("Show", "2026-01-01 Episode 1.mp3").attributes.size == 222_222)
        }
        // The server still has the same file.
        mounted.notifier.hold()
        mounted.notifier.clear()
        let open = mounted.open(node)
        try await daemon.wait(for: .open, count: 2)
        try await waitUntil(description: "the node is invalidated") { mounted.notifier.messages == [.attributes(node)] }
        #expect(open.answer == nil)
        // Events cause no second invalidation of the node before the kernel has requested the attributes.
        let other = try mounted.subscribe("Other")
        for (id, name) in [(podcast.id, "Show"), (other.id, "Other")] {
            daemon.send(Event(sequence: 1, time: 1_700_000_000, .show(id, name: name, formerName: nil)))
        }
        try await waitUntil(description: "the entry is invalidated") {
            mounted.notifier.messages.contains(.entry(parent: .root, name: "Other"))
        }
        #expect(mounted.notifier.messages.count { $0 == .attributes(node) } == 1)
        mounted.notifier.letGo()
        _ = try await open.handle()
        #expect(mounted.attributes(node)?.size == 400_000)
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
