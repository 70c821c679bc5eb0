import Platform
import PodcastProtocol
import TestSupport
import Testing
import Transfers

@testable import PodcastService

struct HostQueueTests {
    @Test func oneFetchServesAllWhoAsk() {
        var queue = HostQueue(total: 8, perHost: 2)
        queue.enqueue(0, host: "a")
        var joined = queue.enqueue(0, host: "a")
        #expect(queue.contains(0) && !joined)
        #expect(queue.start(now: .seconds(0)) == [0])
        joined = queue.enqueue(0, host: "a")
        #expect(!joined)
        queue.finish(0, .answered, now: .seconds(0))
        #expect(queue.isEmpty)
        joined = queue.enqueue(0, host: "a")
        #expect(joined && !queue.isEmpty)
    }

    @Test func aLongRetryAfterIsLimitedToAWeek() {
        var queue = HostQueue(total: 8, perHost: 2)
        queue.enqueue(0, host: "a")
        #expect(queue.start(now: .seconds(0)) == [0])
        queue.finish(0, .refused(retryAfter: .seconds(Int64.max)), now: .seconds(0))
        #expect(queue.blockedUntil(host: "a", now: .seconds(0)) == .seconds(604_800))
    }

    /// Compares the queue after each step with a model: a plain list that is searched from the front.
    @Test(arguments: 1...40) func randomArrivalsAndEndsKeepToTheLimits(seed: Int) {
        var dice = SeededGenerator(seed: UInt64(seed))
        let total = Int.random(in: 1...8, using: &dice)
        let perHost = Int.random(in: 1...3, using: &dice)
        var queue = HostQueue(total: total, perHost: perHost)
        var waiting: [(id: ShowID, host: String)] = []
        var running: [(id: ShowID, host: String)] = []
        var blocked: [String: Instant] = [:]
        var refusals: [String: Int64] = [:]
        var now = Instant.seconds(10_000)
        var arrivals: Int64 = 0
        for step in 0..<600 {
            now += .seconds(Int64.random(in: 0...20, using: &dice))
            switch Int.random(in: 0..<10, using: &dice) {
            case 0..<4:
                let host = "h\(Int.random(in: 0..<5, using: &dice))"
                let isNew = queue.enqueue(ShowID(arrivals), host: host)
                #expect(isNew)
                waiting.append((ShowID(arrivals), host))
                arrivals += 1
            case 4..<8:
                guard let index = running.indices.randomElement(using: &dice) else { continue }
                let end = running.remove(at: index)
                if Int.random(in: 0..<5, using: &dice) == 0 {
                    let retry =
                        Bool.random(using: &dice) ? Duration.seconds(Int64.random(in: 0...500, using: &dice)) : nil
                    queue.finish(end.id, .refused(retryAfter: retry), now: now)
                    if (blocked[end.host] ?? .start) < now - .seconds(3_600) { refusals[end.host] = 0 }
                    if (blocked[end.host] ?? .start) <= now { refusals[end.host, default: 0] += 1 }
                    let pause = Duration.seconds(min(3_600, 60 << min(max(refusals[end.host, default: 1], 1) - 1, 10)))
                    blocked[end.host] = max(blocked[end.host] ?? .start, now + max(pause, retry ?? .zero))
                } else {
                    queue.finish(end.id, .answered, now: now)
                    if (blocked[end.host] ?? .start) <= now { refusals[end.host] = 0 }
                }
            case 8:
                guard let index = waiting.indices.randomElement(using: &dice) else { continue }
                queue.remove(waiting.remove(at: index).id)
            default: break
            }
            var expected: [ShowID] = []
            var index = 0
            while index < waiting.count, running.count < total {
                let next = waiting[index]
                if running.count(where: { $0.host == next.host }) < perHost, (blocked[next.host] ?? .start) <= now {
                    running.append(waiting.remove(at: index))
                    expected.append(next.id)
                } else {
                    index += 1
                }
            }
            #expect(queue.start(now: now) == expected, "step \(step)")
            #expect(queue.runningCount == running.count && queue.isEmpty == (waiting.isEmpty && running.isEmpty))
            let wake = Set(waiting.map(\.host)).compactMap { blocked[$0] }.filter { $0 > now }.min()
            #expect(queue.nextWake(now: now) == wake, "step \(step)")
        }
    }
}
