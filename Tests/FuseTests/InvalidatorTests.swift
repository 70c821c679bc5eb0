import Glibc
import Synchronization
import TestSupport
import Testing

@testable import Fuse

/// Invalidations sent to the kernel, in their wire format, and the calls of their completions.
struct InvalidatorTests {
    @Test func messagesComeInOrderBeforeTheirCompletions() throws {
        let kernel = try KernelSide(TestFilesystem())
        let invalidator = kernel.session.invalidator
        let reply = RecordedReply()
        let (parked, answered) = (ParkedRequest(reply.request()), Counter())
        invalidator.send(.attributes(NodeID(rawValue: 2))) {
            parked.take()?.replyDone()
            answered.add()
        }
        invalidator.send(.entry(parent: .root, name: "bé"))
        invalidator.send(.data(NodeID(rawValue: 4)))

        let attributes = try kernel.notification()
        #expect(attributes.error == 2)  // FUSE_NOTIFY_INVAL_INODE
        #expect(attributes.number(UInt64.self, at: 0) == 2)
        #expect(attributes.number(Int64.self, at: 8) < 0)
        #expect(answered.wait() && reply.answer == .done)
        let entry = try kernel.notification()
        #expect(entry.error == 3)  // FUSE_NOTIFY_INVAL_ENTRY
        #expect(entry.payload == bytes(UInt64(1), UInt32(3), UInt32(0)) + text("bé"))
        let data = try kernel.notification()
        #expect(data.error == 2)
        #expect(data.payload == bytes(UInt64(4), Int64(0), Int64(0)))
    }

    @Test func completionsRunAfterTheEndOfTheSession() throws {
        let done = Counter()
        let kernel = try KernelSide(TestFilesystem())
        for node in 0..<100 {
            kernel.session.invalidator.send(.attributes(NodeID(rawValue: UInt64(node)))) { done.add() }
        }
        kernel.hangUp()
        #expect(kernel.waitForEnd().ended)
        #expect(done.count == 100)
        kernel.session.invalidator.send(.attributes(.root)) { done.add() }
        #expect(done.wait(101))
    }

    @Test func completionsRunForASessionThatNeverRan() throws {
        let done = Counter()
        do {
            let session = try Session(operations: TestFilesystem(), options: .test())
            session.invalidator.send(.entry(parent: .root, name: "bé")) { done.add() }
        }
        #expect(done.wait())
    }
}
