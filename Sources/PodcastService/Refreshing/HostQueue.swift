/// Which feeds are fetched now: so many at once in all, fewer from one host, in the order in which they were asked for.
///
/// A value without clock or tasks: a driver starts what `start` returns and reports each end. Times are in seconds, of
/// any clock that does not go back.
package struct HostQueue: Sendable {
    private struct Host: Sendable {
        /// With the number of their arrival, in its order; `first` is the first that still waits.
        var waiting: [(number: Int, id: Int64)] = []
        var first = 0
        var running = 0
        /// 429 and 503 in a row.
        var refusals = 0
        var blockedUntil: Int64 = .min

        var next: (number: Int, id: Int64)? { first < waiting.count ? waiting[first] : nil }
    }

    /// How the fetch of a feed ended, as far as its host is concerned.
    package enum End: Sendable, Equatable {
        /// An answer, or none for which the host is to be left alone.
        case answered
        /// 429 or 503; seconds of Retry-After where it gave some.
        case refused(retryAfter: Int64?)
    }

    /// The pause after a first refusal without Retry-After, doubled with each further one: a minute, since that is the
    /// span most servers count requests in.
    private static let firstPause: Int64 = 60
    /// An hour, after which one more request is no burden.
    private static let longestPause: Int64 = 3_600
    /// How long after a pause a further refusal counts as one in a row: as long as the longest pause.
    private static let memory: Int64 = longestPause

    private let total: Int
    private let perHost: Int
    private var hosts: [String: Host] = [:]
    /// The host of each that waits or runs.
    private var hostOf: [Int64: String] = [:]
    private var isRunning: Set<Int64> = []
    private var arrivals = 0

    /// - Parameters:
    ///   - total: `refresh.connections`.
    ///   - perHost: two, as many as browsers were asked to keep to for decades (RFC 2616 §8.1.4): most shows live with a
    ///     few hosting companies.
    package init(total: Int = 8, perHost: Int = 2) {
        self.total = max(1, total)
        self.perHost = max(1, perHost)
    }

    package var isEmpty: Bool { hostOf.isEmpty }
    package var runningCount: Int { isRunning.count }
    package var waitingCount: Int { hostOf.count - isRunning.count }

    /// Whether this feed waits or is being fetched.
    package func contains(_ id: Int64) -> Bool { hostOf[id] != nil }

    /// Puts a feed at the end.
    ///
    /// - Parameter host: `FeedAddress.host(of:)`.
    /// - Returns: `false` when it waits or runs already: one fetch serves both.
    @discardableResult
    package mutating func enqueue(_ id: Int64, host: String) -> Bool {
        guard hostOf[id] == nil else { return false }
        hostOf[id] = host
        hosts[host, default: Host()].waiting.append((arrivals, id))
        arrivals += 1
        return true
    }

    /// Takes the feeds that may be fetched now, the first that came first; they count as running until `finish`.
    ///
    /// Linear in hosts for each feed taken.
    package mutating func start(now: Int64) -> [Int64] {
        var started: [Int64] = []
        while isRunning.count < total, let host = nextHost(now: now), let next = hosts[host]?.next {
            hosts[host]?.first += 1
            hosts[host]?.running += 1
            compact(host)
            isRunning.insert(next.id)
            started.append(next.id)
        }
        return started
    }

    private func nextHost(now: Int64) -> String? {
        var best: (number: Int, host: String)?
        for (name, host) in hosts where host.running < perHost && host.blockedUntil <= now {
            guard let next = host.next else { continue }
            if let best, best.number < next.number { continue }
            best = (next.number, name)
        }
        return best?.host
    }

    /// Gives back a place.
    package mutating func finish(_ id: Int64, _ end: End, now: Int64) {
        guard isRunning.remove(id) != nil, let name = hostOf.removeValue(forKey: id) else { return }
        hosts[name]?.running -= 1
        switch end {
        case .answered: hosts[name]?.refusals = 0
        case .refused(let retryAfter): refuse(name, retryAfter: retryAfter, now: now)
        }
    }

    private mutating func refuse(_ name: String, retryAfter: Int64?, now: Int64) {
        guard var host = hosts[name] else { return }
        // Two fetches that were under way together are refused together: that is one refusal.
        if host.blockedUntil < now - Self.memory { host.refusals = 0 }
        if host.blockedUntil <= now { host.refusals += 1 }
        let pause = min(Self.longestPause, Self.firstPause << Int64(min(max(host.refusals, 1) - 1, 10)))
        let asked = min(max(retryAfter ?? 0, 0), Freshness.longest)
        host.blockedUntil = max(host.blockedUntil, now + max(pause, asked))
        hosts[name] = host
    }

    /// Takes out a feed that waits. One that runs stays until `finish`.
    package mutating func remove(_ id: Int64) {
        guard !isRunning.contains(id), let name = hostOf.removeValue(forKey: id), var host = hosts[name] else { return }
        if let place = host.waiting[host.first...].firstIndex(where: { $0.id == id }) { host.waiting.remove(at: place) }
        hosts[name] = host
    }

    /// Until when a host is left alone; `nil` when it may be asked.
    package func blockedUntil(host: String, now: Int64) -> Int64? {
        guard let until = hosts[host]?.blockedUntil, until > now else { return nil }
        return until
    }

    /// When `start` is to be called again although nothing ended; `nil` when only an end or an arrival can help.
    ///
    /// Also forgets the hosts of whom nothing waits or runs and whose last pause is long over.
    package mutating func nextWake(now: Int64) -> Int64? {
        hosts = hosts.filter { _, host in
            host.next != nil || host.running > 0 || host.blockedUntil >= now - Self.memory
        }
        return hosts.values.filter { $0.next != nil && $0.blockedUntil > now }.map(\.blockedUntil).min()
    }

    /// Drops what was taken from the front, now and then, so that the whole stays linear.
    private mutating func compact(_ name: String) {
        guard let first = hosts[name]?.first, first >= 64 || first == hosts[name]?.waiting.count else { return }
        hosts[name]?.waiting.removeFirst(first)
        hosts[name]?.first = 0
    }
}
