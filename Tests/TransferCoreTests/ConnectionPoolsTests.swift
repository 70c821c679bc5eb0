import Platform
import TestSupport
import Testing

@testable import Transfers

@Suite struct ConnectionPoolsTests {
    private var pools: ConnectionPools

    init() {
        var limits = ConnectionPools.Limits()
        limits.filling = 3
        limits.fillingPerHost = 2
        limits.readers = 4
        limits.readersPerHost = 2
        limits.slotTime = .seconds(1)
        limits.linger = .seconds(10)
        pools = ConnectionPools(
            limits: limits, retry: RetryPolicy(firstDelay: .milliseconds(10), maxDelay: .milliseconds(60)))
    }

    /// Requests connections for filling, each of another host if none is given. Returns those that may start at once.
    private mutating func fill(
        _ tokens: ClosedRange<Int>, _ host: String? = nil, _ priority: TransferPriority = .asked, now: Instant = 0
    ) -> [Int] {
        tokens.filter {
            pools.request($0, host: host ?? "h\($0)", forReader: false, isProbe: false, priority: priority, now: now)
        }
    }

    /// Requests connections for readers. Returns those that may start at once.
    private mutating func read(
        _ tokens: ClosedRange<Int>, _ host: String, isProbe: Bool = false, now: Instant = 0
    ) -> [Int] {
        tokens.filter {
            pools.request($0, host: host, forReader: true, isProbe: isProbe, priority: .asked, now: now)
        }
    }

    private mutating func fail(_ host: String, retryAfter: Duration? = nil, now: Instant) {
        pools.hostFailed(host, TransferError(.unreachable, "down"), retryAfter: retryAfter, now: now, random: 0)
    }

    @Test mutating func fillingIsBoundedInAllAndByHost() {
        #expect(fill(1...3, "a") == [1, 2])
        #expect(fill(4...5, "b") == [4])
        #expect(pools.release(4, now: 1) == [5], "the host of 3 is still full")
        #expect(pools.release(1, now: 2) == [3])
        #expect(pools.release(1, now: 3) == [], "connection 1 has already ended")
    }

    @Test mutating func aHostThatIsDownGetsOneRetryForAllThatWait() {
        #expect(fill(1...100, "a") == [1, 2])
        fail("a", now: 1)
        fail("a", now: 1)
        #expect(pools.release(1, now: 1) == [] && pools.release(2, now: 1) == [])
        #expect(pools.closure(3)?.error.message == "down" && pools.closure(3)?.until == 6)
        #expect(pools.waiting(at: "a", limit: 2) == [3, 4])
        #expect(fill(101...101, "b", now: 2) == [101], "other hosts do not wait")
        #expect(read(102...102, "a", now: 2) == [102], "readers do not wait")
        #expect(pools.deadline == 6 && pools.reopen(now: 5) == [])
        #expect(pools.reopen(now: 6) == [3, 4])
        fail("a", now: 7)
        #expect(pools.release(3, now: 7) == [] && pools.release(4, now: 7) == [])
        #expect(pools.deadline == 17, "the delay doubles")
        #expect(pools.reopen(now: 17) == [5, 6])
        #expect(pools.hostAnswered("a", now: 18) == [] && pools.closure(7) == nil)
        fail("a", now: 19)
        #expect(pools.deadline == 24, "after an answer it is the shortest again")
    }

    @Test mutating func anAnswerOrANewNetworkEndsTheWaitForAHost() {
        for (token, host) in [(1, "a"), (2, "b")] {
            fail(host, retryAfter: .milliseconds(90), now: 0)
            #expect(fill(token...token, host) == [])
        }
        #expect(pools.deadline == 90)
        #expect(pools.hostAnswered("a", now: 1) == [1])
        #expect(pools.networkChanged(now: 2) == [2])
        #expect(pools.deadline == nil)
    }

    @Test mutating func probesHaveAPoolOfTheirOwn() {
        #expect(read(1...3, "a", isProbe: true) == [1, 2])
        #expect(read(4...5, "a") == [4, 5])
        #expect(fill(6...6, "a") == [6])
        #expect(pools.setServing(1, false, now: 1) == [] && pools.setServing(3, false, now: 1) == [])
        #expect(pools.preempted(now: 100_000) == [], "a probe's connection neither lingers nor is preempted")
        #expect(pools.release(1, now: 2) == [3])
    }

    @Test mutating func readersDoNotWaitBehindFillingAndPreemptNone() {
        #expect(fill(1...3, nil, .automatic) == [1, 2, 3])
        #expect(read(9...9, "h1") == [9])
        #expect(pools.preempted(now: 0) == [])
    }

    @Test mutating func waitingReadersAreServedInOrder() {
        #expect(read(1...5, "a") == [1, 2])
        #expect(pools.preempted(now: 1_000_000) == [] && pools.deadline == nil, "1 and 2 serve readers")
        #expect(pools.release(4, now: 1) == [], "4 is withdrawn while it waits")
        #expect(pools.release(1, now: 2) == [3])
        #expect(pools.release(2, now: 3) == [5])
    }

    @Test mutating func aReadersConnectionThatOnlyFillsMovesToTheFillingPool() {
        #expect(read(1...3, "a") == [1, 2])
        #expect(pools.setServing(1, false, now: 5) == [3])
        #expect(pools.preempted(now: 1_000_000) == [])
        #expect(pools.deadline == nil)
    }

    @Test mutating func aLingeringConnectionGivesWayToAReader() {
        #expect(fill(1...2, "a") == [1, 2])
        #expect(read(3...4, "a", now: 100) == [3, 4])
        #expect(pools.setServing(4, false, now: 200) == [], "the filling pool of that host is full")
        #expect(pools.preempted(now: 200) == [])
        #expect(pools.deadline == 10_200)
        #expect(read(5...5, "a", now: 300) == [])
        #expect(pools.deadline == 1_100, "its slot time is over by then")
        #expect(pools.preempted(now: 1_099) == [])
        #expect(pools.preempted(now: 1_100) == [4])
        #expect(pools.release(4, now: 1_100) == [5])
        #expect(pools.preempted(now: 1_100) == [])
    }

    /// Two readers wait for host `a`, whose slots lingering connections have. Ending the older connection to `z` would
    /// help neither.
    @Test mutating func onlyConnectionsInTheWayOfReadersArePreempted() {
        #expect(fill(1...2, "a") == [1, 2] && fill(3...3, "b") == [3])
        for (token, host) in zip(4...6, ["z", "a", "a"]) {
            #expect(read(token...token, host) == [token])
            #expect(pools.setServing(token, false, now: token == 5 ? 100 : 2_000) == [], "the filling pool is full")
        }
        #expect(read(7...8, "a", now: 3_000) == [])
        #expect(pools.preempted(now: 3_000) == [5])
        #expect(pools.release(8, now: 3_000) == [])
        #expect(pools.preempted(now: 10_100) == [5], "its end after the linger time leaves a slot for the reader")
    }

    @Test mutating func aLingeringConnectionIsPreemptedAfterTheLingerTime() {
        #expect(fill(1...2, "a") == [1, 2])
        #expect(read(3...3, "a") == [3])
        #expect(pools.setServing(3, false, now: 500) == [])
        #expect(pools.setServing(3, true, now: 600) == [])
        #expect(pools.setServing(3, false, now: 700) == [])
        #expect(pools.deadline == 10_700)
        #expect(pools.preempted(now: 10_699) == [])
        #expect(pools.preempted(now: 10_700) == [3])
    }

    @Test mutating func aLingeringConnectionMovesWhenTheFillingPoolHasRoom() {
        #expect(fill(1...2, "a") == [1, 2])
        #expect(read(3...4, "a") == [3, 4])
        #expect(pools.setServing(3, false, now: 500) == [])
        #expect(read(5...5, "a", now: 600) == [])
        #expect(pools.release(1, now: 700) == [5], "3 moves to the place of 1, and 5 gets the place of 3")
        #expect(pools.deadline == nil)
    }

    @Test mutating func aWaitingRequestChangesPoolsWhenAReaderNeedsIt() {
        #expect(fill(1...3, "a") == [1, 2])
        #expect(pools.setServing(3, true, now: 1) == [3])
    }

    @Test mutating func manyReadersShareInTurn() {
        #expect(read(1...4, "a") == [1, 2])
        #expect(fill(11...13) == [11, 12, 13])
        #expect(pools.setServing(1, false, now: 10) == [] && pools.setServing(2, false, now: 20) == [])
        #expect(pools.preempted(now: 2_000) == [1])
        #expect(pools.release(1, now: 2_000) == [3])
        #expect(pools.preempted(now: 2_000) == [2])
        #expect(read(1...1, "a", now: 2_001) == [])
        #expect(pools.release(2, now: 2_001) == [4])
        #expect(pools.release(3, now: 2_002) == [1])
    }

    // MARK: Priorities

    @Test mutating func requestedTasksComeBeforeAutomaticOnes() {
        #expect(fill(1...3) == [1, 2, 3])
        #expect(fill(4...5, nil, .automatic) == [] && fill(6...7) == [])
        #expect(pools.preempted(now: 0) == [])
        for (ended, next) in [(1, 6), (2, 7), (3, 4), (6, 5)] { #expect(pools.release(ended, now: 1) == [next]) }
    }

    @Test mutating func requestedTasksPreemptAutomaticOnes() {
        #expect(fill(1...4, nil, .automatic) == [1, 2, 3], "an automatic task waits for the others")
        #expect(pools.preempted(now: 0) == [])
        #expect(fill(5...6) == [])
        #expect(pools.deadline == nil, "the preemption needs no timer: it is already due")
        #expect(pools.preempted(now: 0) == [3], "it began last")
        #expect(pools.release(3, now: 0) == [5])
        #expect(pools.preempted(now: 0) == [2])
        #expect(pools.release(2, now: 0) == [6])
        #expect(pools.preempted(now: 0) == [])
        #expect(fill(2...3, nil, .automatic) == [], "the preempted tasks request a connection again")
        #expect(pools.release(5, now: 1) == [4])
    }

    @Test mutating func aConnectionIsPreemptedOnlyIfItsPlaceHelps() {
        #expect(fill(1...2, "a") == [1, 2])
        #expect(fill(3...3, "b", .automatic) == [3])
        #expect(fill(4...4, "a") == [])
        #expect(pools.preempted(now: 0) == [], "its host is full of requested tasks")
        #expect(pools.release(1, now: 1) == [4])
        #expect(fill(5...5, "c") == [])
        #expect(pools.preempted(now: 1) == [3])
    }

    @Test mutating func aTaskThatIsRaisedMovesAhead() {
        #expect(fill(1...5, nil, .automatic) == [1, 2, 3])
        #expect(pools.setPriority(5, .asked, now: 0) == [])
        #expect(pools.preempted(now: 0) == [3])
        #expect(pools.setPriority(3, .asked, now: 0) == [])
        #expect(pools.preempted(now: 0) == [2], "a running task that is raised is no longer preempted")
        #expect(pools.release(2, now: 0) == [5])
    }

    // MARK: Random requests

    /// Simulates random requests: no pool exceeds its limits, no connection waits that could start, and those of one
    /// host and priority start in order of arrival.
    @Test mutating func theLimitsAndTheOrderHoldForRandomRequests() {
        var random = SeededGenerator(seed: 7)
        struct Download {
            var host: String
            var priority: TransferPriority
        }
        var waiting: [(token: Int, download: Download)] = []
        var active: [Int: Download] = [:]
        func start(_ tokens: [Int]) {
            for token in tokens {
                guard let index = waiting.firstIndex(where: { $0.token == token }) else {
                    Issue.record("\(token) did not wait")
                    continue
                }
                let (_, download) = waiting.remove(at: index)
                let isFirst = !waiting[..<index].contains {
                    $0.download.host == download.host && $0.download.priority == download.priority
                }
                #expect(isFirst, "\(token) overtakes one of its line")
                active[token] = download
            }
        }
        for token in 1...5_000 {
            let now = Instant.milliseconds(Int64(token))
            let download = Download(
                host: "h\(Int.random(in: 0..<5, using: &random))", priority: random.chance(50) ? .asked : .automatic)
            if fill(token...token, download.host, download.priority, now: now).isEmpty {
                waiting.append((token, download))
            } else {
                active[token] = download
            }
            for ended in pools.preempted(now: now) {
                #expect(active.removeValue(forKey: ended)?.priority == .automatic)
                start(pools.release(ended, now: now))
            }
            if random.chance(40), let ended = active.keys.sorted().randomElement(using: &random) {
                active[ended] = nil
                start(pools.release(ended, now: now))
            }
            if random.chance(20), let withdrawn = waiting.randomElement(using: &random)?.token {
                waiting.removeAll { $0.token == withdrawn }
                start(pools.release(withdrawn, now: now))
            }
            if random.chance(10), let raised = waiting.indices.randomElement(using: &random) {
                waiting[raised].download.priority = .asked
                start(pools.setPriority(waiting[raised].token, .asked, now: now))
            }
            let hosts = Dictionary(grouping: active.values, by: \.host).mapValues(\.count)
            #expect(active.count <= 3 && hosts.values.allSatisfy { $0 <= 2 })
            let couldStart = active.count < 3 ? waiting.filter { hosts[$0.download.host, default: 0] < 2 } : []
            #expect(couldStart.isEmpty, "\(couldStart.count) of \(waiting.count) wait for nothing")
        }
        #expect(waiting.count > 1_000)
    }
}
