import Synchronization
import SystemPackage
import TestSupport
import Testing

@testable import Fuse

/// Operations called directly, with neither a mount nor libfuse.
struct RecordedReplyTests {
    private let filesystem = TestFilesystem()

    @Test func answersAreRecorded() {
        let lookup = RecordedReply()
        filesystem.lookup(lookup.request(), parent: .root, name: "a")
        #expect(lookup.answer == .entry(TestFilesystem.entry(2)))
        let open = RecordedReply()
        filesystem.open(open.request(), node: NodeID(rawValue: 3), flags: 0)
        #expect(open.answer == .open(TestFilesystem.cached(77, isDirect: true)))
    }

    @Test func theCallerCanBeChosen() {
        let reply = RecordedReply()
        filesystem.lookup(reply.request(uid: 5, gid: 6, pid: 7), parent: .root, name: "a")
        #expect(filesystem.calls.withLock { $0 } == ["lookup 1 a by 5:6 7"])
    }

    @Test func listingsAreDecoded() {
        let reply = RecordedReply()
        let page = DirectoryPage(handle: FileHandle(rawValue: 0), offset: 3, size: 330, withAttributes: true)
        filesystem.readdir(reply.request(), node: .root, page: page)
        let entries = reply.answer?.listing ?? []
        #expect(entries.map(\.name) == ["name 3", "hidden"] && entries.map(\.inode) == [113, 104])
        #expect(entries.map(\.nextOffset) == [4, 5] && entries.map(\.kind) == [.regular, .regular])
        #expect(entries.map(\.node) == [13, 0].map { NodeID(rawValue: $0) } && entries.map(\.size) == [1_000, nil])
    }

    @Test func interruptsReachTheHandler() {
        let reply = RecordedReply()
        filesystem.read(
            reply.request(id: 8), node: NodeID(rawValue: 2), handle: FileHandle(rawValue: 0), offset: 0, size: 10)
        #expect(reply.answer == nil)
        reply.interrupt()
        #expect(reply.answer == .error(.interrupted))
        let early = RecordedReply()
        early.interrupt()
        filesystem.read(
            early.request(id: 10), node: NodeID(rawValue: 2), handle: FileHandle(rawValue: 0), offset: 0, size: 10)
        #expect(early.answer == .error(.interrupted))
        #expect(filesystem.parked.withLock { $0.isEmpty })
    }

    @Test func aRejectedReplyIsReported() {
        let open = OpenReply(handle: FileHandle(rawValue: 0))
        let accepted = RecordedReply().request().reply(open: open)
        #expect(accepted)
        let refused = RecordedReply(refusing: true).request().reply(open: open)
        #expect(!refused)
    }

    @Test func attributeValuesFollowTheCapacity() {
        func answer(_ value: String, _ capacity: Int) -> RecordedAnswer? {
            let reply = RecordedReply()
            reply.request().reply(value: value, capacity: capacity)
            return reply.answer
        }
        #expect(answer("grün", 0) == .size(5))
        #expect(answer("grün", 5) == .bytes(Array("grün".utf8)))
        #expect(answer("grün", 4) == .error(.outOfRange))
        #expect(answer("", 0) == .size(0))
        #expect(answer("", 10) == .bytes([]))
        let list = RecordedReply()
        list.request().reply(attributeNames: ["user.a", "user.b"], capacity: 100)
        #expect(list.answer == .bytes(Array("user.a\0user.b\0".utf8)))
        let none = RecordedReply()
        none.request().reply(attributeNames: [], capacity: 0)
        #expect(none.answer == .size(0))
    }

    @Test func aReadThatFailsAnswersItsError() {
        let reply = RecordedReply()
        reply.request().reply(upTo: 10) { _ throws(Errno) -> Int in throw Errno.staleNFSFileHandle }
        #expect(reply.answer == .error(.staleNFSFileHandle))
    }
}
