package import Platform

/// The admission of connections. Background downloads (filling), readers and probes (programs that read only headers
/// and tags, such as media scanners) have separate pools of slots, so that readers never wait behind background
/// downloads or scans.
///
/// Within each pool, waiting connections are admitted by priority, then in order of arrival. In the filling pool, a
/// requested download also preempts an automatic one.
///
/// A connection made for a blocked reader continues with background filling when the reader has its bytes. It moves to
/// the filling pool when that has a free slot; until then it lingers in the readers' pool, for at most `Limits.linger`,
/// or less if another reader needs its slot.
///
/// After a failure to reach a host, background connections to it wait for a time that grows with the failures. Readers
/// and probes do not wait.
///
/// This type does no IO. Its driver requests a slot before it connects, reports the connection's state, and ends the
/// connections that `preempted` returns.
package struct ConnectionPools: Sendable {
    /// The limits on the number of connections, and on the time for which a connection keeps a reader's slot.
    package struct Limits: Sendable, Equatable {
        /// The maximum number of background connections in all, and to one host.
        package var filling = 3
        package var fillingPerHost = 2
        /// The maximum number of connections for blocked readers in all, and to one host. Browsers also have six per
        /// host.
        package var readers = 64
        package var readersPerHost = 6
        /// The maximum number of connections for probes in all, and to one host.
        package var probes = 8
        package var probesPerHost = 2
        /// The minimum time for which a reader's connection keeps its slot while others wait. If it were shorter, more
        /// time would go into connecting than into reading.
        package var slotTime = Duration.seconds(1)
        /// The time for which a reader's connection may fill outside the filling pool.
        package var linger = Duration.seconds(10)

        package init() {}
    }

    /// The id of a connection, chosen by the driver.
    package typealias Token = Int

    enum Pool: CaseIterable {
        case filling, readers, probes
    }

    struct Entry {
        var host: String
        var pool: Pool
        /// The priority of the download task that the connection belongs to.
        var priority: TransferPriority
        /// Whether a reader is blocked on the connection.
        var isServing: Bool
        /// The time at which the connection got its slot.
        var since = Instant.start
        /// The time since which no reader has been blocked on the connection.
        var idleSince = Instant.start

        /// Whether the connection has a slot of the readers' pool, but no reader is blocked on it.
        var lingers: Bool { pool == .readers && !isServing }
    }

    private let limits: Limits
    private var active: [Token: Entry] = [:]
    private var waiting = WaitingConnections()
    private var outages: HostOutages

    package init(limits: Limits = Limits(), retry: RetryPolicy = RetryPolicy()) {
        self.limits = limits
        outages = HostOutages(retry: retry)
    }

    /// Requests a slot. Returns `false` if the connection has to wait; the result of a later `release`, `setServing` or
    /// `setPriority` then contains its token.
    package mutating func request(
        _ token: Token, host: String, forReader: Bool, isProbe: Bool = false, priority: TransferPriority = .asked,
        now: Instant
    ) -> Bool {
        let pool: Pool = isProbe ? .probes : forReader ? .readers : .filling
        let entry = Entry(host: host, pool: pool, priority: priority, isServing: forReader)
        if canStart(entry) {
            admit(token, entry, now)
            return true
        }
        waiting.append(token, entry)
        return false
    }

    /// Releases the slot of a connection, or withdraws its waiting request. Call it when the connection has ended, or
    /// when its transfer is put on hold because nobody needs its bytes now.
    ///
    /// - Returns: The tokens that now have a slot: those of higher priority first, and in order of arrival within one
    ///   priority.
    package mutating func release(_ token: Token, now: Instant) -> [Token] {
        waiting.remove(token)
        guard active.removeValue(forKey: token) != nil else { return [] }
        return admitWaiting(now)
    }

    /// Sets whether a reader is blocked on a connection. A probe's connection never changes pools. A waiting connection
    /// moves to the pool for its new state. An active reader's connection moves to the filling pool once no reader is
    /// blocked on it, if that pool has a free slot.
    ///
    /// - Returns: as `release`.
    package mutating func setServing(_ token: Token, _ serving: Bool, now: Instant) -> [Token] {
        if waiting.contains(token) {
            waiting.update(token) { entry in
                entry.isServing = serving
                if entry.pool != .probes { entry.pool = serving ? .readers : .filling }
            }
            return admitWaiting(now)
        }
        guard var entry = active[token] else { return [] }
        entry.isServing = serving
        if !serving { entry.idleSince = now }
        active[token] = entry
        guard entry.pool == .readers, !serving else { return [] }
        entry.pool = .filling
        guard canStart(entry) else { return [] }
        active[token] = entry
        return admitWaiting(now)
    }

    /// Sets the priority of a connection's task.
    ///
    /// - Returns: as `release`.
    package mutating func setPriority(_ token: Token, _ priority: TransferPriority, now: Instant) -> [Token] {
        active[token]?.priority = priority
        guard waiting.contains(token) else { return [] }
        waiting.update(token) { $0.priority = priority }
        return admitWaiting(now)
    }

    /// Records that a host was not reached, or refused a request for now. Parameters as `RetryPolicy.pause`.
    package mutating func hostFailed(
        _ host: String, _ error: TransferError, retryAfter: Duration?, now: Instant, random: Double
    ) { outages.failed(host, error, retryAfter: retryAfter, now: now, random: random) }

    /// Returns why a background connection waits although there is a slot, and until when: its host does not answer.
    package func closure(_ token: Token) -> (error: TransferError, until: Instant)? {
        guard let entry = waiting[token], entry.pool == .filling else { return nil }
        return outages.closure(entry.host)
    }

    /// The hosts that have failed and not answered since.
    var failedHosts: Dictionary<String, HostOutages.Outage>.Keys { outages.hosts }

    /// The first background connections that wait for a host, at most `limit` of each priority.
    func waiting(at host: String, limit: Int) -> [Token] { waiting.first(limit, at: host) }

    /// Records that a host has answered.
    ///
    /// - Returns: as `release`.
    package mutating func hostAnswered(_ host: String, now: Instant) -> [Token] {
        outages.end(host) ? admitWaiting(now) : []
    }

    /// Lets connections to all hosts start, since the network has changed.
    ///
    /// - Returns: as `release`.
    package mutating func networkChanged(now: Instant) -> [Token] {
        outages.endAll()
        return admitWaiting(now)
    }

    /// Admits connections to the hosts that may be asked again now.
    ///
    /// - Returns: as `release`.
    package mutating func reopen(now: Instant) -> [Token] {
        guard let due = outages.deadline, due <= now else { return [] }
        outages.reopen(now: now)
        return admitWaiting(now)
    }

    /// Returns the connections to end now: those that have lingered too long, or else one whose slot another reader or
    /// a task of higher priority needs. Call again when they have ended.
    package func preempted(now: Instant) -> [Token] {
        let expired = active.filter { $0.value.lingers && $0.value.idleSince + limits.linger <= now }.keys.sorted()
        if !expired.isEmpty { return expired }
        for request in waitingReaders {
            if let token = candidate(for: request.entry), let entry = active[token],
                entry.since + limits.slotTime <= now
            {
                return [token]
            }
        }
        guard active.values.contains(where: { $0.pool == .filling && $0.priority == .automatic }),
            let request = waiting.first(in: .filling, .asked, where: { victim(for: $0) != nil }),
            let token = victim(for: request.entry)
        else { return [] }
        return [token]
    }

    /// The next time at which to call `preempted` or `reopen`, if time alone can change the result. It is in the past
    /// while connections that are due have not been ended.
    package var deadline: Instant? {
        var result = active.values.filter(\.lingers).map { $0.idleSince + limits.linger }.min()
        for request in waitingReaders {
            guard let token = candidate(for: request.entry), let entry = active[token] else { continue }
            let slotEnd = entry.since + limits.slotTime
            result = min(result ?? slotEnd, slotEnd)
        }
        return [result, outages.deadline].compactMap(\.self).min()
    }

    // MARK: -

    /// Returns the lingering connection to end for a reader: the one that has had its slot the longest. If the reader's
    /// host has no free slot, only connections to that host are considered.
    private func candidate(for waiting: Entry) -> Token? {
        let sameHost = active.values.count { $0.pool == .readers && $0.host == waiting.host }
        let full = sameHost >= limits.readersPerHost
        return active.filter { token, entry in
            entry.lingers && (!full || entry.host == waiting.host)
        }.min { ($0.value.since, $0.key) < ($1.value.since, $1.key) }?.key
    }

    /// The waiting readers in order of arrival, if a lingering connection can be ended for one of them.
    private var waitingReaders: [WaitingConnections.Request] {
        active.values.contains(where: \.lingers) ? waiting.all(in: .readers) : []
    }

    /// Returns the automatic connection to end for a waiting one of higher priority: the one that got its slot last, so
    /// that the others can complete.
    private func victim(for waiting: Entry) -> Token? {
        active.filter { token, entry in
            guard entry.pool == .filling, entry.priority < waiting.priority else { return false }
            var without = self
            without.active[token] = nil
            return without.canStart(waiting)
        }.max { ($0.value.since, $0.key) < ($1.value.since, $1.key) }?.key
    }

    private mutating func admit(_ token: Token, _ entry: Entry, _ now: Instant) {
        var entry = entry
        entry.since = now
        entry.idleSince = now
        active[token] = entry
    }

    private mutating func admitWaiting(_ now: Instant) -> [Token] {
        var started: [Token] = []
        repeat {
            for priority in TransferPriority.allCases.reversed() {
                for pool in Pool.allCases {
                    while hasSlot(pool), let next = waiting.first(in: pool, priority, where: canStart) {
                        waiting.remove(next.token)
                        admit(next.token, next.entry, now)
                        started.append(next.token)
                    }
                }
            }
        } while moveLingering() && !waiting.isEmpty
        return started
    }

    /// Moves lingering connections to free slots of the filling pool. Call it after waiting connections have been
    /// admitted.
    ///
    /// - Returns: Whether a reader's slot has become free.
    private mutating func moveLingering() -> Bool {
        var moved = false
        for (token, entry) in active.sorted(by: { $0.key < $1.key }) where entry.lingers {
            var entry = entry
            entry.pool = .filling
            guard canStart(entry) else { continue }
            active[token] = entry
            moved = true
        }
        return moved
    }

    private func canStart(_ entry: Entry) -> Bool {
        guard hasSlot(entry.pool) else { return false }
        let sameHost = active.values.count { $0.pool == entry.pool && $0.host == entry.host }
        return switch entry.pool {
        case .filling: sameHost < limits.fillingPerHost && outages.closure(entry.host) == nil
        case .readers: sameHost < limits.readersPerHost
        case .probes: sameHost < limits.probesPerHost
        }
    }

    /// Whether a pool has a free slot for some host.
    private func hasSlot(_ pool: Pool) -> Bool {
        let count = active.values.count { $0.pool == pool }
        return switch pool {
        case .filling: count < limits.filling
        case .readers: count < limits.readers
        case .probes: count < limits.probes
        }
    }
}
