/// Bounds how many bytes a second connections bring: all of them together, and those of a group (a file) among them.
///
/// What a limit allows is dealt out in equal shares, so a reader's connection gets as much as any other; what one does
/// not use (its server is slow, or nobody wants its bytes now) goes to the others. A connection may go on while
/// it has something left; a piece that is larger than that makes a debt, which is paid before the next.
///
/// A value without IO: the driver tells what has come, asks who may go on, and comes back at `deadline`. Times are
/// milliseconds of a monotonic clock.
package struct RateLimits: Sendable {
    package typealias ID = Int
    package typealias Group = MediaID

    /// One limit and the connections that share it. Levels are thousandths of a byte: what one byte a second makes in a
    /// millisecond.
    private struct Bucket: Sendable {
        var limit: Int64
        var levels: [ID: Int64] = [:]
        /// Of connections that have gone.
        var debt: Int64 = 0

        /// What can be saved up: a quarter of a second of the limit. A server that sends in bursts loses nothing by the
        /// pauses between them, and the limit is kept over any second.
        private static let saved: Int64 = 250

        init(limit: Int64) { self.limit = min(limit, Self.largest) }

        /// Beyond any link, and a thousand times a thousand of it fits into 64 bits.
        private static let largest: Int64 = 1_000_000_000_000

        func allows(_ id: ID) -> Bool { levels[id, default: 1] > 0 }

        /// Its first piece may come at once, unless others have left a debt: many short connections would know no limit.
        mutating func add(_ id: ID) { levels[id] = debt > 0 ? 0 : 1 }

        mutating func remove(_ id: ID) { debt += max(0, -(levels.removeValue(forKey: id) ?? 0)) }

        /// Deals out what has come in `milliseconds`.
        mutating func refill(_ milliseconds: Int64) {
            var amount = limit * milliseconds - debt
            debt = max(0, -amount)
            guard amount > 0, !levels.isEmpty else { return }
            let most = max(limit * Self.saved / Int64(levels.count), 1)
            var rest = Int64(levels.count)
            // Those that take least come first, so that what they leave is shared by the others.
            for (id, level) in levels.sorted(by: { ($0.value, $0.key) > ($1.value, $1.key) }) {
                let given = max(0, min(amount / rest, most - level))
                levels[id] = level + given
                amount -= given
                rest -= 1
            }
        }

        /// The earliest moment at which a connection in debt can have paid, in milliseconds from the last refill.
        func pause(of id: ID) -> Int64 {
            guard let level = levels[id], level <= 0 else { return 0 }
            return (debt - level) / limit + 1
        }
    }

    /// Bytes a second; none when 0 or less.
    package let limit: Int64
    private var shared: Bucket?
    private var groups: [Group: Bucket] = [:]
    /// The group of each connection that has a limit of its own or shares one.
    private var members: [ID: Group] = [:]
    private var blocked: Set<ID> = []
    private var refilled: Int64 = 0

    /// Limits are kept in steps of so many milliseconds: fewer would cost processor time for nothing that shows.
    private static let step: Int64 = 20
    /// More is not counted at once, so that the products fit into 64 bits: debts are paid sooner than in half an hour.
    private static let longest: Int64 = 1_800_000

    /// - Parameter limit: bytes a second of all connections; 0 does not limit.
    package init(limit: Int64 = 0) {
        self.limit = limit
        if limit > 0 { shared = Bucket(limit: limit) }
    }

    /// A connection begins.
    ///
    /// - Parameter groupLimit: bytes a second of all connections of its group; 0 does not limit.
    package mutating func add(_ id: ID, group: Group, groupLimit: Int64, now: Int64) {
        guard shared != nil || groupLimit > 0 else { return }
        // Nobody waits yet: debts of connections that have gone are paid by the time since.
        if members.isEmpty { _ = refill(now: now) }
        members[id] = group
        shared?.add(id)
        if groupLimit > 0 {
            groups[group, default: Bucket(limit: groupLimit)].add(id)
        }
        if !allows(id) { blocked.insert(id) }
    }

    package mutating func remove(_ id: ID) {
        guard let group = members.removeValue(forKey: id) else { return }
        blocked.remove(id)
        shared?.remove(id)
        groups[group]?.remove(id)
    }

    package func mayReceive(_ id: ID) -> Bool { !blocked.contains(id) }

    /// A connection has brought `count` bytes.
    package mutating func received(_ id: ID, _ count: Int64) {
        guard let group = members[id] else { return }
        shared?.levels[id]? -= count * 1_000
        groups[group]?.levels[id]? -= count * 1_000
        if !allows(id) { blocked.insert(id) }
    }

    /// Deals out what has come since the last time.
    ///
    /// - Returns: the connections that may go on now and could not before.
    package mutating func refill(now: Int64) -> [ID] {
        guard now > refilled else { return [] }
        let elapsed = min(now - refilled, Self.longest)
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

    /// When `refill` is to be called at the latest, if at all.
    package var deadline: Int64? {
        blocked.map { id in
            let own = members[id].flatMap { groups[$0] }?.pause(of: id) ?? 0
            return refilled + max(Self.step, shared?.pause(of: id) ?? 0, own)
        }.min()
    }

    private func allows(_ id: ID) -> Bool {
        guard let group = members[id] else { return true }
        return (shared?.allows(id) ?? true) && (groups[group]?.allows(id) ?? true)
    }
}
