internal import Platform
internal import PodcastProtocol

/// A queue of feeds, first come first served, with a total and a per-host limit on running fetches.
///
/// A value without clock or IO: the driver fetches the feeds that `start` returns, and calls `finish` for each.
struct HostQueue: Sendable {
    private struct Host {
        /// Waiting feeds in order of arrival.
        var waiting: ArraySlice<(number: Int, id: ShowID)> = []
        var running = 0
        /// The number of consecutive 429 and 503 responses, not counting those during a pause.
        var refusals = 0
        /// The end of the current or last pause.
        var blockedUntil: Instant?

        func isPaused(at now: Instant) -> Bool { blockedUntil.map { $0 > now } ?? false }

        /// Returns whether the last pause ended at `time` or later, or has not ended.
        func wasPaused(since time: Instant) -> Bool { blockedUntil.map { $0 >= time } ?? false }
    }

    /// The result of a feed fetch, as far as its host is concerned.
    enum FetchOutcome: Sendable, Equatable {
        /// A response, or a failure that does not require a pause.
        case answered
        /// 429 or 503, with Retry-After if present.
        case refused(retryAfter: Duration?)
    }

    /// The minimum pause after a first refusal, doubled with each further one. A minute, since most servers count
    /// requests per minute.
    private static let firstPause = Duration.seconds(60)
    /// The maximum pause without Retry-After. One request per hour is no burden on a server.
    private static let longestPause = Duration.seconds(3_600)
    /// The time after a pause within which a further refusal counts as consecutive.
    private static let refusalWindow = longestPause

    private let total: Int
    private let perHost: Int
    private var hosts: [String: Host] = [:]
    /// The hosts with a feed that may start now, ordered by the number of that feed. An entry is stale, and is skipped,
    /// if the host's state has changed since.
    private var candidates: ArraySlice<(number: Int, host: String)> = []
    /// Paused hosts, including those whose pause has ended since the last call of `start`.
    private var blocked: Set<String> = []
    /// The host of each queued or running feed.
    private var hostOf: [ShowID: String] = [:]
    private var running: Set<ShowID> = []
    /// The number of the next feed to arrive.
    private var arrivals = 0

    /// - Parameters:
    ///   - total: the maximum number of running fetches; `refresh.connections`.
    ///   - perHost: the maximum for each host, which matters since most shows are hosted by a few companies. Two is the
    ///     limit that RFC 2616 §8.1.4 set for browsers.
    init(total: Int = 64, perHost: Int = 2) {
        self.total = max(1, total)
        self.perHost = max(1, perHost)
    }

    var isEmpty: Bool { hostOf.isEmpty }
    var runningCount: Int { running.count }

    /// Returns whether a feed is queued or running.
    func contains(_ id: ShowID) -> Bool { hostOf[id] != nil }

    /// Appends a feed to the queue.
    ///
    /// - Parameter host: `WebAddress.host(of:)`.
    /// - Returns: `false` if the feed is already queued or running, so that one fetch serves both requests.
    @discardableResult
    mutating func enqueue(_ id: ShowID, host: String) -> Bool {
        guard hostOf[id] == nil else { return false }
        hostOf[id] = host
        hosts[host, default: Host()].waiting.append((arrivals, id))
        if hosts[host]?.waiting.first?.number == arrivals { offer(host) }
        arrivals += 1
        return true
    }

    /// Removes and returns the feeds that may be fetched now, in order; they count as running until `finish`.
    mutating func start(now: Instant) -> [ShowID] {
        var started: [ShowID] = []
        for host in blocked where hosts[host].map({ !$0.isPaused(at: now) }) ?? true {
            blocked.remove(host)
            offer(host)
        }
        while running.count < total, let candidate = candidates.popFirst() {
            guard let host = hosts[candidate.host], let next = host.waiting.first, next.number == candidate.number,
                host.running < perHost, !host.isPaused(at: now)
            else { continue }
            hosts[candidate.host]?.waiting.removeFirst()
            hosts[candidate.host]?.running += 1
            running.insert(next.id)
            started.append(next.id)
            offer(candidate.host)
        }
        return started
    }

    /// Adds the first feed of a host to the candidates if the host has a free slot.
    private mutating func offer(_ name: String) {
        guard let host = hosts[name], host.running < perHost, let number = host.waiting.first?.number else { return }
        let previous = candidates.lastIndex { $0.number < number }
        candidates.insert((number, name), at: previous.map { $0 + 1 } ?? candidates.startIndex)
    }

    /// Frees the slot of a running feed, and pauses its host after a refusal.
    mutating func finish(_ id: ShowID, _ outcome: FetchOutcome, now: Instant) {
        guard running.remove(id) != nil, let name = hostOf.removeValue(forKey: id), var host = hosts[name] else {
            return
        }
        host.running -= 1
        // No fetch starts during a pause. So if the host is paused, this one was sent before the refusal: a response
        // says nothing about the refusal, and another refusal does not count.
        let isPaused = host.isPaused(at: now)
        switch outcome {
        case .answered: if !isPaused { host.refusals = 0 }
        case .refused(let retryAfter):
            if !host.wasPaused(since: now - Self.refusalWindow) { host.refusals = 0 }
            if !isPaused { host.refusals += 1 }
            let pause = min(Self.longestPause, Self.firstPause * (1 << min(max(host.refusals, 1) - 1, 10)))
            let asked = min(retryAfter ?? .zero, Freshness.longest)
            host.blockedUntil = max(host.blockedUntil ?? now, now + max(pause, asked))
            blocked.insert(name)
        }
        hosts[name] = host
        offer(name)
    }

    /// Removes a waiting feed. A running one stays until `finish`.
    mutating func remove(_ id: ShowID) {
        guard !running.contains(id), let name = hostOf.removeValue(forKey: id) else { return }
        hosts[name]?.waiting.removeAll { $0.id == id }
        offer(name)
    }

    /// Returns the end of a host's pause; `nil` if it is not paused.
    func blockedUntil(host: String, now: Instant) -> Instant? {
        hosts[host].flatMap { $0.isPaused(at: now) ? $0.blockedUntil : nil }
    }

    /// Returns when `start` has to be called again: at the earliest end of a pause of a host with waiting feeds.
    /// Returns `nil` if no such host is paused: only the end of a fetch or a new feed then requires a call.
    ///
    /// Also removes hosts without queued or running feeds whose last pause ended more than `refusalWindow` ago.
    mutating func nextWake(now: Instant) -> Instant? {
        hosts = hosts.filter { _, host in
            !host.waiting.isEmpty || host.running > 0 || host.wasPaused(since: now - Self.refusalWindow)
        }
        if isEmpty { candidates = [] }
        return hosts.values.compactMap { !$0.waiting.isEmpty && $0.isPaused(at: now) ? $0.blockedUntil : nil }.min()
    }
}
