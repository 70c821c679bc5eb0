import Platform
import TestSupport
import Testing

@testable import Transfers

@Suite struct RateLimitsTests {
    /// A simulation of connections. Each connection receives what its server has sent, as far as `limits` permits it,
    /// in pieces of `piece` bytes.
    private struct Model {
        var limits: RateLimits
        var now = Instant.seconds(1_000)
        var received: [Int: Int64] = [:]
        /// The rate of each connection's server, in bytes a second.
        var servers: [Int: Int64] = [:]
        private var waiting: [Int: Int64] = [:]
        let piece: Int64

        init(limit: Int64, piece: Int64 = 16_384) {
            limits = RateLimits(limit: limit)
            self.piece = piece
        }

        mutating func add(_ id: Int, group: MediaID? = nil, groupLimit: Int64 = 0, server: Int64 = .max / 2_000) {
            limits.add(id, group: group ?? MediaID(Int64(id)), groupLimit: groupLimit, now: now)
            servers[id] = server
        }

        mutating func remove(_ id: Int) {
            limits.remove(id)
            servers[id] = nil
        }

        /// Advances the clock in steps of 1 ms, and refills the credit of `limits` when a refill is due.
        mutating func run(_ milliseconds: Int64) {
            let end = now + .milliseconds(milliseconds)
            while now < end {
                now += .milliseconds(1)
                if let due = limits.deadline, due <= now { _ = limits.refill(now: now) }
                for id in servers.keys.sorted() {
                    // Bytes sent by a server wait in the socket buffers, which are bounded. `waiting` is in thousandths
                    // of a byte, the product of bytes per second and milliseconds.
                    waiting[id] = min(waiting[id, default: 0] + servers[id, default: 0], 1_000 * 1_000_000)
                    while limits.canReceive(id), waiting[id, default: 0] >= piece * 1_000 {
                        waiting[id, default: 0] -= piece * 1_000
                        received[id, default: 0] += piece
                        limits.received(id, piece)
                    }
                }
            }
        }

        var total: Int64 { received.values.reduce(0, +) }
    }

    private func isAbout(_ value: Int64?, _ expected: Int64) -> Bool {
        guard let value else { return false }
        return value >= expected * 9 / 10 && value <= expected * 11 / 10
    }

    @Test func aPieceIsPaidForBeforeTheNext() {
        var limits = RateLimits(limit: 1_000)
        limits.add(1, group: 1, groupLimit: 0, now: 0)
        #expect(limits.canReceive(1), "the first comes at once")
        limits.received(1, 500)
        #expect(!limits.canReceive(1))
        #expect(limits.deadline == 500)
        #expect(limits.refill(now: 499) == [])
        #expect(limits.deadline == 519, "refills happen in steps")
        #expect(limits.refill(now: 501) == [1])
        #expect(limits.deadline == nil)
        limits.received(1, 500)
        limits.add(2, group: 2, groupLimit: 0, now: 10_000)
        #expect(limits.refill(now: 10_000) == [1], "a new connection does not delay the waiting one")
    }

    @Test(arguments: [1, 2, 7, 60] as [Int]) func allConnectionsTogetherKeepToTheLimit(connections: Int) {
        var model = Model(limit: 2_000_000)
        for id in 1...connections { model.add(id) }
        model.run(5_000)
        // Each connection may exceed its credit by at most one piece.
        #expect(model.total <= 10_000_000 + Int64(connections) * model.piece)
        #expect(model.total >= 9_500_000)
        let share = 10_000_000 / Int64(connections)
        for id in 1...connections { #expect(abs(model.received[id, default: 0] - share) <= 3 * model.piece) }
    }

    @Test func sharesFollowTheConnections() {
        var model = Model(limit: 1_000_000)
        model.add(1)
        model.run(2_000)
        #expect(isAbout(model.received[1], 2_000_000))
        model.add(2)
        model.received = [:]
        model.run(2_000)
        #expect(isAbout(model.received[1], 1_000_000), "half each at once, with no debt from before")
        #expect(isAbout(model.received[2], 1_000_000))
        model.remove(1)
        model.received = [:]
        model.run(2_000)
        #expect(isAbout(model.received[2], 2_000_000))
    }

    @Test func theUnusedSharesOfSlowAndSilentServersGoToTheOthers() {
        var model = Model(limit: 1_000_000)
        model.add(1, server: 100_000)
        for id in 3...9 { model.add(id, server: 0) }
        model.add(2)
        model.run(4_000)
        #expect(isAbout(model.received[1], 400_000))
        #expect(isAbout(model.received[2], 3_600_000))
    }

    @Test(arguments: [(1_000_000, 3_200_000), (0, 20_000_000)] as [(Int64, Int64)])
    func aGroupHasALimitOfItsOwn(limit: Int64, rest: Int64) {
        var model = Model(limit: limit)
        model.add(1, group: 1, groupLimit: 200_000)
        model.add(2, group: 1, groupLimit: 200_000)
        model.add(3, server: 5_000_000)
        model.run(4_000)
        #expect(isAbout(model.received[1, default: 0] + model.received[2, default: 0], 800_000))
        #expect(isAbout(model.received[3], rest))
    }

    @Test func manyShortConnectionsKeepToTheLimitToo() {
        var model = Model(limit: 100_000)
        for id in 1...400 {
            model.add(id)
            model.run(50)
            model.remove(id)
        }
        #expect(model.total <= 2_000_000 + 2 * model.piece)
        #expect(model.total >= 1_900_000)
    }

    @Test func aPauseAccumulatesNoCredit() {
        var model = Model(limit: 100_000)
        model.add(1, server: 0)
        model.run(60_000)
        model.servers[1] = .max / 2_000
        model.run(1_000)
        #expect(model.total <= 125_000 + 2 * model.piece)
        #expect(model.total >= 95_000)
    }

    @Test func aRateBelowAPieceASecondIsKept() {
        var model = Model(limit: 1_000)
        model.add(1)
        model.add(2)
        model.run(100_000)
        #expect(model.total <= 100_000 + 2 * model.piece)
        #expect(model.total >= 98_000)
    }
}
