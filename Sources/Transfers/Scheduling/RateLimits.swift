package import Platform

/// Limits on the bytes received per second, for all connections together and for groups (files).
///
/// The permitted bytes are divided into equal shares, so a reader's connection gets as much as any other. A share that
/// a connection does not use (its server is slow, or nobody wants its bytes now) goes to the others. A connection may
/// receive while it has credit; a piece larger than the credit leaves a debt, which delays the next piece.
///
/// A value without IO: the driver reports received bytes, asks which connections may receive, and calls `refill` no
/// later than `deadline`.
package struct RateLimits: Sendable {
    /// The id of a connection, chosen by the driver.
    package typealias ID = Int
    /// The connections of one file, which may have a limit of their own.
    package typealias Group = MediaID

    /// One limit and the connections that share it. Levels are in thousandths of a byte: the credit for one millisecond
    /// at a limit of one byte a second.
    private struct Bucket: Sendable {
        var limit: Int64
        /// The credit of each connection; a negative level is a debt.
        var levels: [ID: Int64] = [:]
        /// The debt of connections that have ended.
        var debt: Int64 = 0

        /// The maximum credit of all connections together: the bytes that the limit permits in this many milliseconds,
        /// a quarter of a second. A server that sends in bursts can still reach the limit, and the credit adds at most
        /// a quarter to the bytes of any second.
        private static let burst: Int64 = 250

        init(limit: Int64) { self.limit = min(limit, Self.largest) }

        /// The maximum limit in bytes per second, faster than any link. Its product with the milliseconds of
        /// `maxElapsed` fits into 64 bits.
        private static let largest: Int64 = 1_000_000_000_000

        func allows(_ id: ID) -> Bool { levels[id, default: 1] > 0 }

        /// Adds a connection. Its first piece may arrive at once, unless ended connections have left a debt: otherwise
        /// many short connections could exceed the limit.
        mutating func add(_ id: ID) { levels[id] = debt > 0 ? 0 : 1 }

        mutating func remove(_ id: ID) { debt += max(0, -(levels.removeValue(forKey: id) ?? 0)) }

        /// Divides the credit of the elapsed time among the connections.
        mutating func refill(_ elapsed: Duration) {
            var amount = limit * elapsed.milliseconds - debt
            debt = max(0, -amount)
            guard amount > 0, !levels.isEmpty else { return }
            let maxLevel = max(limit * Self.burst / Int64(levels.count), 1)
            var rest = Int64(levels.count)
            // Start with the connections that have the highest level: credit that they cannot use is divided among the
            // rest.
            for (id, level) in levels.sorted(by: { ($0.value, $0.key) > ($1.value, $1.key) }) {
                let given = max(0, min(amount / rest, maxLevel - level))
                levels[id] = level + given
                amount -= given
                rest -= 1
            }
        }

        /// Returns the shortest delay from the last refill after which a connection without credit may continue. It is
        /// exact if no other connection gets credit until then.
        func pause(of id: ID) -> Duration {
            guard let level = levels[id], level <= 0 else { return .zero }
            return .milliseconds((debt - level) / limit + 1)
        }
    }

    /// Bytes per second; no limit if 0 or less.
    package let limit: Int64
    /// The bucket of all connections; `nil` without a limit.
    private var shared: Bucket?
    /// The buckets of groups with limits of their own.
    private var groups: [Group: Bucket] = [:]
    /// The group of each connection to which a limit applies.
    private var members: [ID: Group] = [:]
    /// The connections without credit.
    private var blocked: Set<ID> = []
    /// The time of the last refill.
    private var refilled = Instant.start

    /// The granularity of refills: smaller steps would cost processor time without a visible effect.
    private static let step = Duration.milliseconds(20)
    /// The maximum time credited at once, so that the products fit into 64 bits. This time suffices to repay the debt
    /// of one piece: at one byte a second the engine receives at most 1 KiB at once, which is repaid in 1,024 seconds.
    private static let maxElapsed = Duration.seconds(1_800)

    /// - Parameter limit: Bytes per second of all connections; 0 for no limit.
    package init(limit: Int64 = 0) {
        self.limit = limit
        if limit > 0 { shared = Bucket(limit: limit) }
    }

    /// Adds a connection.
    ///
    /// - Parameter groupLimit: Bytes per second of all connections of its group; 0 for no limit.
    package mutating func add(_ id: ID, group: Group, groupLimit: Int64, now: Instant) {
        guard shared != nil || groupLimit > 0 else { return }
        // The driver does not call `refill` while there are no connections. This call uses the credit of the time since
        // the last one to repay the debts of ended connections.
        if members.isEmpty { _ = refill(now: now) }
        members[id] = group
        shared?.add(id)
        if groupLimit > 0 { groups[group, default: Bucket(limit: groupLimit)].add(id) }
        if !allows(id) { blocked.insert(id) }
    }

    /// Removes a connection. Its debt remains, and delays the others.
    package mutating func remove(_ id: ID) {
        guard let group = members.removeValue(forKey: id) else { return }
        blocked.remove(id)
        shared?.remove(id)
        groups[group]?.remove(id)
    }

    /// Returns whether a connection may receive bytes now.
    package func canReceive(_ id: ID) -> Bool { !blocked.contains(id) }

    /// Records `count` bytes received by a connection, and blocks it if it has no credit left.
    package mutating func received(_ id: ID, _ count: Int64) {
        guard let group = members[id] else { return }
        shared?.levels[id]? -= count * 1_000
        groups[group]?.levels[id]? -= count * 1_000
        if !allows(id) { blocked.insert(id) }
    }

    /// Divides the credit of the time since the previous call among the connections.
    ///
    /// - Returns: The connections that may continue now and could not before.
    package mutating func refill(now: Instant) -> [ID] {
        guard now > refilled else { return [] }
        let elapsed = min(now - refilled, Self.maxElapsed)
        refilled = now
        shared?.refill(elapsed)
        for group in groups.keys {
            groups[group]?.refill(elapsed)
            if let bucket = groups[group], bucket.levels.isEmpty, bucket.debt == 0 { groups[group] = nil }
        }
        let freed = blocked.filter { allows($0) }
        blocked.subtract(freed)
        return freed.sorted()
    }

    /// The latest time at which to call `refill` again; `nil` if no connection waits for credit.
    package var deadline: Instant? {
        blocked.map { id in
            let own = members[id].flatMap { groups[$0] }?.pause(of: id) ?? .zero
            return refilled + max(Self.step, shared?.pause(of: id) ?? .zero, own)
        }.min()
    }

    private func allows(_ id: ID) -> Bool {
        guard let group = members[id] else { return true }
        return (shared?.allows(id) ?? true) && (groups[group]?.allows(id) ?? true)
    }
}

/// The rate in bytes per second, averaged over the last five seconds.
struct RateMeter {
    /// The bytes of each of the last seconds, newest last.
    private var seconds: [(second: Int64, bytes: Int64)] = []
    /// The time of the first bytes.
    private var began: Instant?

    /// The averaging time in seconds: long enough to be steady, short enough to show a change.
    private static let window: Int64 = 5

    mutating func add(_ count: Int, at now: Instant) {
        let second = now.uptime.seconds
        if began == nil { began = now }
        if let last = seconds.last, last.second == second {
            seconds[seconds.count - 1].bytes += Int64(count)
        } else {
            seconds.append((second, Int64(count)))
        }
        seconds.removeAll { $0.second <= second - Self.window }
    }

    func bytesPerSecond(at now: Instant) -> Double {
        guard let began else { return 0 }
        let first = now.uptime.seconds - Self.window + 1
        let start = max(began, .seconds(first))
        let bytes = seconds.filter { $0.second >= first }.reduce(0) { $0 + $1.bytes }
        return Double(bytes) / (max(now - start, .milliseconds(200)) / .seconds(1))
    }
}
