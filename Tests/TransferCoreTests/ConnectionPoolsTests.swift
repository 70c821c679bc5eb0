import Platform
import TestSupport
import Testing

@testable import Transfers

/// The pools under test. They are a struct; this class wraps them, so that `#expect` can contain mutating calls.
private final class Subject {
    private var pools: ConnectionPools

    init(_ limits: ConnectionPools.Limits) {
        pools = ConnectionPools(
            limits: limits, retry: RetryPolicy(firstDelay: .milliseconds(10), maxDelay: .milliseconds(60)))
    }

    func request(
        _ token: Int, host: String, forReader: Bool, isProbe: Bool = false, priority: TransferPriority = .asked,
        now: Instant
    ) -> Bool {
        pools.request(token, host: host, forReader: forReader, isProbe: isProbe, priority: priority, now: now)
    }

    func setPriority(_ token: Int, _ priority: TransferPriority, now: Instant) -> [Int] {
        pools.setPriority(token, priority, now: now)
    }

    func release(_ token: Int, now: Instant) -> [Int] { pools.release(token, now: now) }

    func setServing(_ token: Int, _ serving: Bool, now: Instant) -> [Int] {
        pools.setServing(token, serving, now: now)
    }

    func hostFailed(_ host: String, retryAfter: Duration? = nil, now: Instant) {
        pools.hostFailed(host, TransferError(.unreachable, "down"), retryAfter: retryAfter, now: now, random: 0)
    }

    func hostAnswered(_ host: String, now: Instant) -> [Int] { pools.hostAnswered(host, now: now) }

    func networkChanged(now: Instant) -> [Int] { pools.networkChanged(now: now) }

    func reopen(now: Instant) -> [Int] { pools.reopen(now: now) }

    func preempted(now: Instant) -> [Int] { pools.preempted(now: now) }

    var deadline: Instant? { pools.deadline }

    func closure(_ token: Int) -> (error: TransferError, until: Instant)? { pools.closure(token) }

    func waiting(at host: String, limit: Int) -> [Int] { pools.waiting(at: host, limit: limit) }
}

@Suite struct ConnectionPoolsTests {
    private let pools: Subject

    init() {
        var limits = ConnectionPools.Limits()
        limits.filling = 3
        limits.fillingPerHost = 2
        limits.readers = 4
        limits.readersPerHost = 2
        limits.slotTime = .seconds(1)
        limits.linger = .seconds(10)
        pools = Subject(limits)
    }

    @Test func fillingIsBoundedInAllAndByHost() {
        #expect(pools.request(1, host: "a", forReader: false, now: 0))
        #expect(pools.request(2, host: "a", forReader: false, now: 0))
        #expect(!pools.request(3, host: "a", forReader: false, now: 0))
        #expect(pools.request(4, host: "b", forReader: false, now: 0))
        #expect(!pools.request(5, host: "b", forReader: false, now: 0))
        #expect(pools.release(4, now: 1) == [5], "the host of 3 is still full")
        #expect(pools.release(1, now: 2) == [3])
        #expect(pools.release(1, now: 3) == [], "connection 1 has already ended")
    }

    @Test func aHostThatIsDownGetsOneRetryForAllThatWait() {
        #expect(pools.request(1, host: "a", forReader: false, now: 0))
        #expect(pools.request(2, host: "a", forReader: false, now: 0))
        for token in 3...100 { #expect(!pools.request(token, host: "a", forReader: false, now: 0)) }
        pools.hostFailed("a", now: 1)
        pools.hostFailed("a", now: 1)
        #expect(pools.release(1, now: 1) == [] && pools.release(2, now: 1) == [])
        #expect(pools.closure(3)?.error.message == "down" && pools.closure(3)?.until == 6)
        #expect(pools.waiting(at: "a", limit: 2) == [3, 4])
        #expect(pools.request(101, host: "b", forReader: false, now: 2), "other hosts do not wait")
        #expect(pools.request(102, host: "a", forReader: true, now: 2), "readers do not wait")
        #expect(pools.deadline == 6 && pools.reopen(now: 5) == [])
        #expect(pools.reopen(now: 6) == [3, 4])
        pools.hostFailed("a", now: 7)
        #expect(pools.release(3, now: 7) == [] && pools.release(4, now: 7) == [])
        #expect(pools.deadline == 17, "the delay doubles")
        #expect(pools.reopen(now: 17) == [5, 6])
        #expect(pools.hostAnswered("a", now: 18) == [] && pools.closure(7) == nil)
        pools.hostFailed("a", now: 19)
        #expect(pools.deadline == 24, "after an answer it is the shortest again")
    }

    @Test func anAnswerOrANewNetworkEndsTheWaitForAHost() {
        for (token, host) in [(1, "a"), (2, "b")] {
            pools.hostFailed(host, retryAfter: .milliseconds(90), now: 0)
            #expect(!pools.request(token, host: host, forReader: false, now: 0))
        }
        #expect(pools.deadline == 90)
        #expect(pools.hostAnswered("a", now: 1) == [1])
        #expect(pools.networkChanged(now: 2) == [2])
        #expect(pools.deadline == nil)
    }

    @Test func probesHaveAPoolOfTheirOwn() {
        for token in 1...2 { #expect(pools.request(token, host: "a", forReader: true, isProbe: true, now: 0)) }
        #expect(!pools.request(3, host: "a", forReader: true, isProbe: true, now: 0))
        for token in 4...5 { #expect(pools.request(token, host: "a", forReader: true, now: 0)) }
        #expect(pools.request(6, host: "a", forReader: false, now: 0))
        #expect(pools.setServing(1, false, now: 1) == [] && pools.setServing(3, false, now: 1) == [])
        #expect(pools.preempted(now: 100_000) == [], "a probe's connection neither lingers nor is preempted")
        #expect(pools.release(1, now: 2) == [3])
    }

    @Test func readersDoNotWaitBehindFilling() {
        for token in 1...3 { #expect(pools.request(token, host: "h\(token)", forReader: false, now: 0)) }
        #expect(pools.request(9, host: "h1", forReader: true, now: 0))
    }

    @Test func waitingRequestsAreServedInOrder() {
        for token in 1...2 { #expect(pools.request(token, host: "a", forReader: true, now: 0)) }
        for token in 3...5 { #expect(!pools.request(token, host: "a", forReader: true, now: 0)) }
        #expect(pools.release(4, now: 1) == [], "4 is withdrawn while it waits")
        #expect(pools.release(1, now: 2) == [3])
        #expect(pools.release(2, now: 3) == [5])
    }

    @Test func aReadersConnectionThatOnlyFillsMovesToTheFillingPool() {
        #expect(pools.request(1, host: "a", forReader: true, now: 0))
        #expect(pools.request(2, host: "a", forReader: true, now: 0))
        #expect(!pools.request(3, host: "a", forReader: true, now: 0))
        #expect(pools.setServing(1, false, now: 5) == [3])
        #expect(pools.preempted(now: 1_000_000) == [])
        #expect(pools.deadline == nil)
    }

    @Test func aLingeringConnectionGivesWayToAReader() {
        for token in 1...2 { #expect(pools.request(token, host: "a", forReader: false, now: 0)) }
        for token in 3...4 { #expect(pools.request(token, host: "a", forReader: true, now: 100)) }
        #expect(pools.setServing(4, false, now: 200) == [], "the filling pool of that host is full")
        #expect(pools.preempted(now: 200) == [])
        #expect(pools.deadline == 10_200)
        #expect(!pools.request(5, host: "a", forReader: true, now: 300))
        #expect(pools.deadline == 1_100, "its slot time is over by then")
        #expect(pools.preempted(now: 1_099) == [])
        #expect(pools.preempted(now: 1_100) == [4])
        #expect(pools.release(4, now: 1_100) == [5])
        #expect(pools.preempted(now: 1_100) == [])
    }

    /// Two readers wait for host `a`, whose slots lingering connections have. Ending the older connection to `z` would
    /// help neither.
    @Test func onlyConnectionsInTheWayOfReadersArePreempted() {
        for (token, host) in zip(1...3, ["a", "a", "b"]) {
            #expect(pools.request(token, host: host, forReader: false, now: 0))
        }
        for (token, host) in zip(4...6, ["z", "a", "a"]) {
            #expect(pools.request(token, host: host, forReader: true, now: 0))
            #expect(pools.setServing(token, false, now: token == 5 ? 100 : 2_000) == [], "the filling pool is full")
        }
        for token in 7...8 { #expect(!pools.request(token, host: "a", forReader: true, now: 3_000)) }
        #expect(pools.preempted(now: 3_000) == [5])
        #expect(pools.release(8, now: 3_000) == [])
        #expect(pools.preempted(now: 10_100) == [5], "its end after the linger time leaves a slot for the reader")
    }

    @Test func aConnectionThatServesAReaderIsNeverPreempted() {
        for token in 1...2 { #expect(pools.request(token, host: "a", forReader: true, now: 0)) }
        #expect(!pools.request(3, host: "a", forReader: true, now: 0))
        #expect(pools.preempted(now: 1_000_000) == [])
        #expect(pools.deadline == nil)
    }

    @Test func aLingeringConnectionIsPreemptedAfterTheLingerTime() {
        for token in 1...2 { #expect(pools.request(token, host: "a", forReader: false, now: 0)) }
        #expect(pools.request(3, host: "a", forReader: true, now: 0))
        #expect(pools.setServing(3, false, now: 500) == [])
        #expect(pools.setServing(3, true, now: 600) == [])
        #expect(pools.setServing(3, false, now: 700) == [])
        #expect(pools.deadline == 10_700)
        #expect(pools.preempted(now: 10_699) == [])
        #expect(pools.preempted(now: 10_700) == [3])
    }

    @Test func aLingeringConnectionMovesWhenTheFillingPoolHasRoom() {
        for token in 1...2 { #expect(pools.request(token, host: "a", forReader: false, now: 0)) }
        for token in 3...4 { #expect(pools.request(token, host: "a", forReader: true, now: 0)) }
        #expect(pools.setServing(3, false, now: 500) == [])
        #expect(!pools.request(5, host: "a", forReader: true, now: 600))
        #expect(pools.release(1, now: 700) == [5], "3 moves to the place of 1, and 5 gets the place of 3")
        #expect(pools.deadline == nil)
    }

    @Test func aWaitingRequestChangesPoolsWhenAReaderNeedsIt() {
        for token in 1...2 { #expect(pools.request(token, host: "a", forReader: false, now: 0)) }
        #expect(!pools.request(3, host: "a", forReader: false, now: 0))
        #expect(pools.setServing(3, true, now: 1) == [3])
    }

    @Test func manyReadersShareInTurn() {
        for token in 1...2 { #expect(pools.request(token, host: "a", forReader: true, now: 0)) }
        for token in 3...4 { #expect(!pools.request(token, host: "a", forReader: true, now: 0)) }
        for token in 11...13 { #expect(pools.request(token, host: "h\(token)", forReader: false, now: 0)) }
        #expect(pools.setServing(1, false, now: 10) == [])
        #expect(pools.setServing(2, false, now: 20) == [])
        #expect(pools.preempted(now: 2_000) == [1])
        #expect(pools.release(1, now: 2_000) == [3])
        #expect(pools.preempted(now: 2_000) == [2])
        #expect(!pools.request(1, host: "a", forReader: true, now: 2_001))
        #expect(pools.release(2, now: 2_001) == [4])
        #expect(pools.release(3, now: 2_002) == [1])
    }

    // MARK: Priorities

    private func request(_ tokens: ClosedRange<Int>, _ priority: TransferPriority, host: String? = nil) -> [Bool] {
        tokens.map { pools.request($0, host: host ?? "h\($0)", forReader: false, priority: priority, now: 0) }
    }

    @Test func requestedTasksComeBeforeAutomaticOnes() {
        #expect(request(1...3, .asked) == [true, true, true])
        #expect(request(4...5, .automatic) == [false, false])
        #expect(request(6...7, .asked) == [false, false])
        #expect(pools.preempted(now: 0) == [])
        #expect(pools.release(1, now: 1) == [6])
        #expect(pools.release(2, now: 2) == [7])
        #expect(pools.release(3, now: 3) == [4])
        #expect(pools.release(6, now: 4) == [5])
    }

    @Test func requestedTasksPreemptAutomaticOnes() {
        #expect(request(1...3, .automatic) == [true, true, true])
        #expect(request(4...4, .automatic) == [false], "an automatic task waits for the others")
        #expect(pools.preempted(now: 0) == [])
        #expect(request(5...6, .asked) == [false, false])
        #expect(pools.deadline == nil, "the preemption needs no timer: it is already due")
        #expect(pools.preempted(now: 0) == [3], "it began last")
        #expect(pools.release(3, now: 0) == [5])
        #expect(pools.preempted(now: 0) == [2])
        #expect(pools.release(2, now: 0) == [6])
        #expect(pools.preempted(now: 0) == [])
        #expect(request(2...3, .automatic) == [false, false], "the preempted tasks request a connection again")
        #expect(pools.release(5, now: 1) == [4])
    }

    @Test func aConnectionIsPreemptedOnlyIfItsPlaceHelps() {
        #expect(request(1...2, .asked, host: "a") == [true, true])
        #expect(request(3...3, .automatic, host: "b") == [true])
        #expect(request(4...4, .asked, host: "a") == [false])
        #expect(pools.preempted(now: 0) == [], "its host is full of requested tasks")
        #expect(pools.release(1, now: 1) == [4])
        #expect(request(5...5, .asked, host: "c") == [false])
        #expect(pools.preempted(now: 1) == [3])
    }

    @Test func aTaskThatIsRaisedMovesAhead() {
        #expect(request(1...3, .automatic) == [true, true, true])
        #expect(request(4...5, .automatic) == [false, false])
        #expect(pools.setPriority(5, .asked, now: 0) == [])
        #expect(pools.preempted(now: 0) == [3])
        #expect(pools.setPriority(3, .asked, now: 0) == [])
        #expect(pools.preempted(now: 0) == [2], "a running task that is raised is no longer preempted")
        #expect(pools.release(2, now: 0) == [5])
    }

    @Test func readersPreemptNoFillingConnection() {
        #expect(request(1...3, .automatic) == [true, true, true])
        #expect(pools.request(4, host: "h1", forReader: true, priority: .automatic, now: 0))
        #expect(pools.preempted(now: 0) == [])
    }

    // MARK: Random requests

    /// Simulates random requests: no pool exceeds its limits, no connection waits that could start, and those of one
    /// host and priority start in order of arrival.
    @Test func theLimitsAndTheOrderHoldForRandomRequests() {
        var random = SeededGenerator(seed: 7)
        var limits = ConnectionPools.Limits()
        (limits.filling, limits.fillingPerHost) = (3, 2)
        let pools = Subject(limits)
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
            if pools.request(token, host: download.host, forReader: false, priority: download.priority, now: now) {
                active[token] = download
            } else {
                waiting.append((token, download))
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
