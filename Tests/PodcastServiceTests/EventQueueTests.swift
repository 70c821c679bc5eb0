import Platform
import PodcastProtocol
import TestSupport
import Testing

@testable import PodcastService
@testable import Transfers

struct EventQueueTests {
    private let queue = EventQueue()
    private let wakes = Journal<Int>()

    /// Starts a task that appends an entry to `wakes` for each signal to drain the queue.
    private func watch() -> Task<Void, Never> {
        Task { [queue, wakes] in for await _ in queue.wakes { wakes.append(1) } }
    }

    private func numbers(_ items: [EventQueue.Item]) -> [Int64] {
        items.compactMap { if case .opened(let episode) = $0 { episode.rawValue } else { nil } }
    }

    @Test func theEngineTimesTheDelivery() async throws {
        let watching = watch()
        defer { watching.cancel() }
        #expect(queue.scheduleDelivery(now: .seconds(1)) == nil)
        queue.enqueue(.opened(1))
        #expect(queue.scheduleDelivery(now: .seconds(2)) == .milliseconds(10))
        queue.enqueue(.opened(2))
        #expect(queue.scheduleDelivery(now: .milliseconds(2_004)) == .milliseconds(6))
        #expect(queue.scheduleDelivery(now: .milliseconds(2_009)) == .milliseconds(1))
        #expect(wakes.entries.isEmpty)
        #expect(queue.scheduleDelivery(now: .milliseconds(2_010)) == nil)
        try await waitUntil { wakes.entries.count == 1 }
        #expect(queue.scheduleDelivery(now: .seconds(3)) == nil)
        #expect(numbers(queue.drain()) == [1, 2])
        // After a drain, the next event begins a new interval.
        queue.enqueue(.opened(3))
        #expect(queue.scheduleDelivery(now: .milliseconds(3_001)) == .milliseconds(10))
        #expect(numbers(queue.drain()) == [3])
        queue.enqueue(.opened(4))
        #expect(queue.scheduleDelivery(now: .milliseconds(3_012)) == .milliseconds(10))
        #expect(wakes.entries.count == 1)
    }

    @Test(arguments: [EventQueue.Item.marker {}, .opened(9)])
    func anUrgentItemDeliversAllEarlierOnesImmediately(item: EventQueue.Item) async throws {
        let watching = watch()
        defer { watching.cancel() }
        queue.enqueue(.opened(1))
        queue.enqueue(item, isUrgent: item.isRecord ? true : nil)
        try await waitUntil { wakes.entries.count == 1 }
        #expect(queue.drain().count == 2)
    }
}
