import Glibc
import Platform
import Synchronization
import SystemPackage
import TestSupport
import Testing

@testable import Fuse

/// Tests of parked requests: requests of the kernel that wait in the filesystem until another thread answers them.
struct ParkedRequestTests {
    @Test func aParkedReadIsAnsweredByAnotherThreadOrByAnInterrupt() throws {
        let parked = Counter()
        let filesystem = TestFilesystem(whenParked: { _ in parked.add() })
        let kernel = try KernelSide(filesystem, threads: 1)
        let reads = (0..<2).map { _ in kernel.send(.read, node: 2, readRequest(handle: 77, offset: 0, size: 4_096)) }
        #expect(parked.wait(2))
        // The session's only thread is free while the reads are parked.
        #expect(try kernel.call(.getattr, node: 2, bytes(UInt32(0), UInt32(0), UInt64(0))).error == 0)
        filesystem.answer(reads[0], Array("bytes".utf8))
        #expect(try kernel.answer(to: reads[0]).payload == Array("bytes".utf8))
        kernel.interrupt(reads[1])
        #expect(try kernel.answer(to: reads[1]).error == -EINTR)
        filesystem.answer(reads[1], [1])
        #expect(filesystem.calls.withLock { $0 } == ["getattr 2 -", "interrupt"])
    }

    @Test func anInterruptBeforeTheRequestIsParkedIsNotLost() throws {
        let arrived = Counter()
        let goOn = Counter()
        let filesystem = TestFilesystem(beforeParking: { _ in
            arrived.add()
            _ = goOn.wait()
        })
        let kernel = try KernelSide(filesystem, threads: 2)
        let read = kernel.send(.read, node: 2, readRequest(handle: 77, offset: 0, size: 4_096))
        #expect(arrived.wait())
        kernel.interrupt(read)
        // The other thread handles the interrupt, then this lookup: the reply proves that the interrupt was handled.
        #expect(try kernel.call(.lookup, node: 1, text("a")).error == 0)
        goOn.add()
        #expect(try kernel.answer(to: read).error == -EINTR)
    }

    @Test func concurrentRepliesAndInterruptsAnswerOnce() throws {
        let number = 150
        let parked = Counter()
        let filesystem = TestFilesystem(whenParked: { _ in parked.add() })
        let kernel = try KernelSide(filesystem, threads: 3)
        var reads: [UInt64] = []
        for _ in 0..<number {
            reads.append(kernel.send(.read, node: 2, readRequest(handle: 77, offset: 0, size: 16)))
        }
        #expect(parked.wait(number))
        let ids = reads
        let answered = Counter()
        startThread("test") {
            for id in ids.reversed() { filesystem.answer(id, [7]) }
            answered.add()
        }
        for id in ids { kernel.interrupt(id) }
        for id in ids {
            let answer = try kernel.answer(to: id)
            #expect(answer.error == -EINTR || answer.payload == [7])
        }
        #expect(answered.wait())
        // No request is left, and none is answered twice. The session reads the lookup after all interrupts, so a
        // second reply would usually arrive before the lookup's.
        #expect(filesystem.parked.withLock { $0.isEmpty })
        let last = try kernel.call(.lookup, node: 1, text("a"))
        #expect(last.error == 0)
        #expect(kernel.receivedReplies(to: Set(ids)).isEmpty)
    }

    @Test func aReleasedParkedRequestIsAnsweredWithAnError() {
        let reply = RecordedReply()
        do { _ = ParkedRequest(reply.request()) }
        #expect(reply.answer == .error(.ioError))
        #expect(reply.wasDropped)
    }
}
