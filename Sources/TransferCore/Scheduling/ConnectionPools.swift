/// Who may connect now, and who waits: two pools, so that readers never wait behind background filling.
///
/// Who waits to fill is admitted by priority, then in order of arrival; and a file that a person has asked for takes the
/// place of one that is fetched automatically.
///
/// A connection that was made for a blocked reader goes on filling when the reader has what it wanted. It moves to the
/// filling's pool when there is room, and else lingers for a while, to give way as soon as another reader needs its place.
/// A value without IO: the driver asks before it connects, tells what becomes of a connection, and ends those that
/// `preempted` names. Times are milliseconds of a monotonic clock.
package struct ConnectionPools: Sendable {
    package struct Limits: Sendable, Equatable {
        /// Background transfers in all, and to one host.
        package var filling = 3
        package var fillingPerHost = 2
        /// Connections for blocked readers in all, and to one host: what browsers allow themselves.
        package var readers = 64
        package var readersPerHost = 6
        /// How long a reader's connection may have its place at the least when others wait for one: shorter would spend
        /// more on connecting than on reading.
        package var turn: Int64 = 1_000
        /// How long a reader's connection may fill outside the filling's pool.
        package var linger: Int64 = 10_000

        package init() {}
    }

    package typealias Token = Int

    private struct Entry {
        var host: String
        var forReader: Bool
        /// Of the task that it fills for.
        var priority: TransferPriority
        /// A reader is blocked on it now.
        var isServing: Bool
        /// Since when it has its place.
        var since: Int64 = 0
        /// Since when no reader has been blocked on it.
        var idleSince: Int64 = 0

        /// It fills in a reader's place.
        var lingers: Bool { forReader && !isServing }
    }

    private let limits: Limits
    private var active: [Token: Entry] = [:]
    /// In order of arrival.
    private var waiting: [(token: Token, entry: Entry)] = []

    package init(limits: Limits = Limits()) { self.limits = limits }

    /// Asks for a place. `false`: it waits, and a later call's result names it.
    package mutating func request(
        _ token: Token, host: String, forReader: Bool, priority: TransferPriority = .asked, now: Int64
    ) -> Bool {
        let entry = Entry(host: host, forReader: forReader, priority: priority, isServing: forReader)
        if mayStart(entry) {
            admit(token, entry, now)
            return true
        }
        waiting.append((token, entry))
        return false
    }

    /// A connection has ended, or is held and takes no place; or one that waits is wanted no more.
    ///
    /// - Returns: the tokens that have a place now, those of higher priority first, each in order of arrival.
    package mutating func release(_ token: Token, now: Int64) -> [Token] {
        waiting.removeAll { $0.token == token }
        guard active.removeValue(forKey: token) != nil else { return [] }
        return admitWaiting(now)
    }

    /// Whether a reader is blocked on a connection has changed; one that waits changes pools with it.
    ///
    /// - Returns: as `release`.
    package mutating func setServing(_ token: Token, _ serving: Bool, now: Int64) -> [Token] {
        if let index = waiting.firstIndex(where: { $0.token == token }) {
            waiting[index].entry.isServing = serving
            waiting[index].entry.forReader = serving
            return admitWaiting(now)
        }
        guard var entry = active[token] else { return [] }
        entry.isServing = serving
        if !serving { entry.idleSince = now }
        active[token] = entry
        guard entry.forReader, !serving else { return [] }
        entry.forReader = false
        guard mayStart(entry) else { return [] }
        active[token] = entry
        return admitWaiting(now)
    }

    /// The task of a connection counts for more, or less, than before.
    ///
    /// - Returns: as `release`.
    package mutating func setPriority(_ token: Token, _ priority: TransferPriority, now: Int64) -> [Token] {
        active[token]?.priority = priority
        guard let index = waiting.firstIndex(where: { $0.token == token }) else { return [] }
        waiting[index].entry.priority = priority
        return admitWaiting(now)
    }

    /// The connections to end now: those that have lingered for too long, and those whose place another reader waits
    /// for, or a task of higher priority.
    package func preempted(now: Int64) -> [Token] {
        var chosen = active.filter { $0.value.lingers && $0.value.idleSince + limits.linger <= now }.map(\.key)
        for request in waiting where request.entry.forReader {
            guard let token = candidate(for: request.entry, besides: chosen) else { continue }
            if let entry = active[token], entry.since + limits.turn <= now { chosen.append(token) }
        }
        return (chosen + outranked(besides: chosen)).sorted()
    }

    /// When `preempted` may name more, if at all.
    package var deadline: Int64? {
        var result = active.values.filter(\.lingers).map { $0.idleSince + limits.linger }.min()
        for request in waiting where request.entry.forReader {
            guard let token = candidate(for: request.entry, besides: []), let entry = active[token] else { continue }
            result = min(result ?? .max, entry.since + limits.turn)
        }
        return result
    }

    // MARK: -

    /// The lingering connection whose end makes room for a reader: the one that has had its place for longest.
    private func candidate(for waiting: Entry, besides chosen: [Token]) -> Token? {
        let sameHost = active.filter { $0.value.forReader && $0.value.host == waiting.host && !chosen.contains($0.key) }
        let full = sameHost.count >= limits.readersPerHost
        return active.filter { token, entry in
            entry.lingers && !chosen.contains(token) && (!full || entry.host == waiting.host)
        }.min { ($0.value.since, $0.key) < ($1.value.since, $1.key) }?.key
    }

    /// The filling connections that tasks of higher priority have to wait for.
    private func outranked(besides gone: [Token]) -> [Token] {
        var chosen: [Token] = []
        // What would be there once those are ended, and the ones that wait have come in their place.
        var later = self
        for token in gone { later.active[token] = nil }
        for request in waitingByPriority where !request.entry.forReader && request.entry.priority > .automatic {
            if !later.mayStart(request.entry) {
                let outranked = later.active.filter { token, entry in
                    guard !entry.forReader, entry.priority < request.entry.priority, active[token] != nil else {
                        return false
                    }
                    var without = later
                    without.active[token] = nil
                    return without.mayStart(request.entry)
                }
                // The one that has had least of its turn, so that the others come to their end.
                let last = outranked.max { ($0.value.since, $0.key) < ($1.value.since, $1.key) }
                guard let token = last?.key else { continue }
                later.active[token] = nil
                chosen.append(token)
            }
            later.active[request.token] = request.entry
        }
        return chosen
    }

    /// In order of admission.
    private var waitingByPriority: [(token: Token, entry: Entry)] {
        TransferPriority.allCases.reversed().flatMap { priority in waiting.filter { $0.entry.priority == priority } }
    }

    private mutating func admit(_ token: Token, _ entry: Entry, _ now: Int64) {
        var entry = entry
        entry.since = now
        entry.idleSince = now
        active[token] = entry
    }

    private mutating func admitWaiting(_ now: Int64) -> [Token] {
        var started: [Token] = []
        repeat {
            var admitted: Set<Token> = []
            for item in waitingByPriority where mayStart(item.entry) {
                admit(item.token, item.entry, now)
                admitted.insert(item.token)
                started.append(item.token)
            }
            waiting.removeAll { admitted.contains($0.token) }
        } while settleLingering() && !waiting.isEmpty
        return started
    }

    /// Moves what fills in a reader's place to the filling's pool, as far as there is room that nobody waits for.
    ///
    /// - Returns: whether a reader's place has come free.
    private mutating func settleLingering() -> Bool {
        var moved = false
        for (token, entry) in active.sorted(by: { $0.key < $1.key }) where entry.lingers {
            var entry = entry
            entry.forReader = false
            guard mayStart(entry) else { continue }
            active[token] = entry
            moved = true
        }
        return moved
    }

    private func mayStart(_ entry: Entry) -> Bool {
        var sameKind = 0
        var sameHost = 0
        for other in active.values where other.forReader == entry.forReader {
            sameKind += 1
            if other.host == entry.host { sameHost += 1 }
        }
        return entry.forReader
            ? sameKind < limits.readers && sameHost < limits.readersPerHost
            : sameKind < limits.filling && sameHost < limits.fillingPerHost
    }
}
