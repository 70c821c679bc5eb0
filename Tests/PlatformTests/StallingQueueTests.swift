import Dispatch
import Platform
import Synchronization
import TestSupport
import Testing

struct StallingQueueTests {
    private struct Refusal: Error, Equatable {}

    private func queue(_ deadline: Duration) -> StallingQueue {
        StallingQueue(name: "test-stalling", deadline: deadline)
    }

    @Test func jobsRunInOrderAndReturnTheirResults() async throws {
        let queue = queue(.seconds(3_600))
        let order = Mutex<[Int]>([])
        for number in 1...3 {
            let value = try await queue.run {
                order.withLock { $0.append(number) }
                return number * 2
            }
            #expect(value == number * 2)
        }
        #expect(order.withLock { $0 } == [1, 2, 3])
        await #expect(throws: Refusal()) { try await queue.run { throw Refusal() } }
        #expect(!queue.isStalled)
    }

    @Test func aCallThatDoesNotReturnFailsItsJobAndAllOthersUntilItReturns() async throws {
        let queue = queue(.milliseconds(20))
        let blocked = DispatchSemaphore(value: 0)
        let posted = OneShot<Void>()
        let recovered = OneShot<Void>()
        queue.onRecovery { recovered.deliver(()) }
        let first = Task { try await queue.run { blocked.wait() } }
        await #expect(throws: StallingQueue.Stalled.self) { try await first.value }
        #expect(queue.isStalled)
        await #expect(throws: StallingQueue.Stalled.self) { try await queue.run { 1 } }
        queue.post { posted.deliver(()) }
        blocked.signal()
        // What was posted waits for the thread.
        #expect(recovered.wait(seconds: 60) != nil)
        #expect(posted.wait(seconds: 60) != nil)
        try await waitUntil(description: "the queue works again") { !queue.isStalled }
        #expect(try await queue.run { 2 } == 2)
    }

    @Test func jobsQueuedBehindACallThatDoesNotReturnFailWithIt() async throws {
        let queue = queue(.milliseconds(50))
        let blocked = DispatchSemaphore(value: 0)
        let hasRun = Mutex(false)
        let failures = Mutex(0)
        queue.run {
            blocked.wait()
        } completion: { _ in
            failures.withLock { $0 += 1 }
        }
        queue.run {
            hasRun.withLock { $0 = true }
        } completion: { result in
            if case .failure = result { failures.withLock { $0 += 1 } }
        }
        try await waitUntil(description: "both jobs fail") { failures.withLock { $0 } == 2 }
        blocked.signal()
        try await waitUntil(description: "the queue works again") { !queue.isStalled }
        _ = try await queue.run {}
        #expect(!hasRun.withLock { $0 })
        #expect(failures.withLock { $0 } == 2)
    }

    @Test func aJobWithSignsOfLifeOutlivesTheDeadline() async throws {
        let queue = queue(.milliseconds(200))
        let pause = DispatchSemaphore(value: 0)
        try await queue.run {
            for _ in 1...8 {
                _ = pause.wait(timeout: .now() + .milliseconds(50))
                queue.beat()
            }
        }
        #expect(!queue.isStalled)
    }
}
