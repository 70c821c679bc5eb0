import Dispatch
import Glibc
import Platform
import Synchronization
import SystemPackage
import TestSupport
import Testing

@testable import Fuse

/// Tests of parked requests: requests of the kernel that wait in the filesystem until another thread answers them.
struct ParkedRequestTests {
    @Test func aParkedReadIsAnsweredByAnotherThread() throws {
        let parked = Counter()
        let filesystem = TestFilesystem(whenParked: { _ in parked.add() })
        let kernel = try KernelSide(filesystem, threads: 1)
        let read = kernel.send(.read, node: 2, readRequest(handle: 77, offset: 0, size: 4_096))
        #expect(parked.wait())
        // The session's only thread is free while the read is parked.
        #expect(try kernel.call(.lookup, node: 1, text("a")).error == 0)
        filesystem.answer(read, Array("bytes".utf8))
        #expect(try kernel.answer(to: read).payload == Array("bytes".utf8))
    }

    @Test func anInterruptReachesAParkedRead() throws {
        let parked = Counter()
        let filesystem = TestFilesystem(whenParked: { _ in parked.add() })
        let kernel = try KernelSide(filesystem, threads: 1)
        let read = kernel.send(.read, node: 2, readRequest(handle: 77, offset: 0, size: 4_096))
        #expect(parked.wait())
        kernel.interrupt(read)
        #expect(try kernel.answer(to: read).error == -EINTR)
        filesystem.answer(read, [1])
        #expect(filesystem.calls.withLock { $0 } == ["interrupt"])
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
        let answering = OtherThread { for id in ids.reversed() { filesystem.answer(id, [7]) } }
        for id in ids { kernel.interrupt(id) }
        for id in ids {
            let answer = try kernel.answer(to: id)
            #expect(answer.error == -EINTR || answer.payload == [7])
        }
        answering.join()
        // No request is left, and none is answered twice. The session reads the lookup after all interrupts, so a
        // second reply would usually arrive before the lookup's.
        #expect(filesystem.parked.withLock { $0.isEmpty })
        let last = try kernel.call(.lookup, node: 1, text("a"))
        #expect(last.error == 0)
        #expect(kernel.receivedReplies(to: Set(ids)).isEmpty)
    }

    @Test func onlyTheFirstThreadTakesTheRequest() {
        let reply = RecordedReply()
        let parked = ParkedRequest(reply.request())
        let won = Atomic(0)
        let takers = (0..<4).map { _ in
            OtherThread {
                guard let request = parked.take() else { return }
                won.add(1, ordering: .relaxed)
                request.reply(error: .badFileDescriptor)
            }
        }
        for taker in takers { taker.join() }
        #expect(won.load(ordering: .relaxed) == 1)
        #expect(reply.answer == .error(.badFileDescriptor))
        let isEmpty = parked.take() == nil
        #expect(isEmpty)
    }

    @Test func aReleasedParkedRequestIsAnsweredWithAnError() {
        let reply = RecordedReply()
        do { _ = ParkedRequest(reply.request()) }
        #expect(reply.answer == .error(.ioError))
        #expect(reply.wasDropped)
    }

    @Test func handlersAreReleasedWithTheAnswer() throws {
        final class Witness: Sendable {
            let gone: Counter
            init(_ gone: Counter) { self.gone = gone }
            deinit { gone.add() }
        }
        let gone = Counter()
        let reply = RecordedReply()
        let parked = ParkedRequest(reply.request())
        do {
            let witness = Witness(gone)
            parked.onInterrupt { _ = witness }
        }
        #expect(gone.count == 0)
        parked.take()?.replyDone()
        #expect(gone.count == 1)
        reply.interrupt()
        #expect(reply.answer == .done)
    }
}

/// A thread for calls that must not block the test runner's threads.
final class OtherThread: Sendable {
    private let end = DispatchSemaphore(value: 0)

    init(_ body: @escaping @Sendable () -> Void) {
        startThread("test") { [end] in
            body()
            end.signal()
        }
    }

    func join() { end.wait() }
}
