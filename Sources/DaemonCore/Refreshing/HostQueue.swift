package import TransferCore

/// Which feeds are fetched now: so many at once in all, fewer from one host, in the order in which they were asked for.
///
/// A value without clock or tasks: a driver starts what `start` returns and reports each end. Times are in seconds, of
/// any clock that does not go back.
package struct HostQueue: Sendable {
    private struct Host: Sendable {
        /// With the number of their arrival, in its order; `first` is the first that still waits.
        var waiting: [(number: Int, id: ShowID)] = []
        var first = 0
        var running = 0
        /// 429 and 503 in a row.
        var refusals = 0
        var blockedUntil: Int64 = .min

        var next: (number: Int, id: ShowID)? { first < waiting.count ? waiting[first] : nil }

        /// Drops what was taken from the front, now and then, so that the whole stays linear.
        mutating func compact() {
            guard first >= 64 || first == waiting.count else { return }
            waiting.removeFirst(first)
            first = 0
        }
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

    /// A host whose feed with that number may be the next, unless something has come in between.
    private struct Candidate {
        var number: Int
        var host: String
    }

    private let total: Int
    private let perHost: Int
    private var hosts: [String: Host] = [:]
    /// A binary heap with the smallest number first. Every host of which a feed may start now stands in it with that
    /// feed's number; others may too, and are passed over when their turn comes.
    private var candidates: [Candidate] = []
    /// Hosts that are left alone, or were until not long ago.
    private var blocked: Set<String> = []
    /// The host of each that waits or runs.
    private var hostOf: [ShowID: String] = [:]
    private var isRunning: Set<ShowID> = []
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
    package func contains(_ id: ShowID) -> Bool { hostOf[id] != nil }

    /// Puts a feed at the end.
    ///
    /// - Parameter host: `FeedAddress.host(of:)`.
    /// - Returns: `false` when it waits or runs already: one fetch serves both.
    @discardableResult
    package mutating func enqueue(_ id: ShowID, host: String) -> Bool {
        guard hostOf[id] == nil else { return false }
        hostOf[id] = host
        hosts[host, default: Host()].waiting.append((arrivals, id))
        if hosts[host]?.next?.number == arrivals { offer(host) }
        arrivals += 1
        return true
    }

    /// Takes the feeds that may be fetched now, the first that came first; they count as running until `finish`.
    ///
    /// Logarithmic in hosts for each feed taken.
    package mutating func start(now: Int64) -> [ShowID] {
        var started: [ShowID] = []
        for host in blocked where hosts[host].map({ $0.blockedUntil <= now }) ?? true {
            blocked.remove(host)
            offer(host)
        }
        while isRunning.count < total, let candidate = takeCandidate() {
            guard var host = hosts[candidate.host], let next = host.next, next.number == candidate.number,
                host.running < perHost, host.blockedUntil <= now
            else { continue }
            host.first += 1
            host.running += 1
            host.compact()
            hosts[candidate.host] = host
            isRunning.insert(next.id)
            started.append(next.id)
            offer(candidate.host)
        }
        return started
    }

    /// Makes the first feed of a host a candidate, when the host has room for it.
    private mutating func offer(_ name: String) {
        guard let host = hosts[name], host.running < perHost, let next = host.next else { return }
        var place = candidates.count
        candidates.append(Candidate(number: next.number, host: name))
        while place > 0, candidates[(place - 1) / 2].number > candidates[place].number {
            candidates.swapAt(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    private mutating func takeCandidate() -> Candidate? {
        guard let last = candidates.popLast() else { return nil }
        guard let first = candidates.first else { return last }
        candidates[0] = last
        var place = 0
        while true {
            var least = place
            for child in [2 * place + 1, 2 * place + 2] where child < candidates.count {
                if candidates[child].number < candidates[least].number { least = child }
            }
            if least == place { return first }
            candidates.swapAt(place, least)
            place = least
        }
    }

    /// Gives back a place.
    package mutating func finish(_ id: ShowID, _ end: End, now: Int64) {
        guard isRunning.remove(id) != nil, let name = hostOf.removeValue(forKey: id) else { return }
        hosts[name]?.running -= 1
        switch end {
        case .answered: hosts[name]?.refusals = 0
        case .refused(let retryAfter): refuse(name, retryAfter: retryAfter, now: now)
        }
        offer(name)
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
        blocked.insert(name)
    }

    /// Takes out a feed that waits. One that runs stays until `finish`.
    package mutating func remove(_ id: ShowID) {
        guard !isRunning.contains(id), let name = hostOf.removeValue(forKey: id), var host = hosts[name] else { return }
        if let place = host.waiting[host.first...].firstIndex(where: { $0.id == id }) { host.waiting.remove(at: place) }
        hosts[name] = host
        offer(name)
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
        if isEmpty { candidates = [] }
        return hosts.values.filter { $0.next != nil && $0.blockedUntil > now }.map(\.blockedUntil).min()
    }
}
