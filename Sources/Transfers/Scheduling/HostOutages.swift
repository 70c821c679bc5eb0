internal import Platform

/// The hosts that do not answer. Background downloads from such a host wait for one common retry, so that a server that
/// is down costs a few requests in all, however many downloads are queued.
struct HostOutages: Sendable {
    private struct Outage {
        /// The number of failures in a row, not counting those of requests that were already under way.
        var failures = 0
        /// The time of the next request.
        var until = Instant.start
        var isClosed = false
    }

    private let retry: RetryPolicy
    private var outages: [String: Outage] = [:]

    init(retry: RetryPolicy) { self.retry = retry }

    /// The next time at which a host may be asked again.
    var deadline: Instant? { outages.values.filter(\.isClosed).map(\.until).min() }

    /// Whether background downloads from the host wait.
    func isClosed(_ host: String) -> Bool { outages[host]?.isClosed ?? false }

    /// Records that a host was not reached, or refused a request for now. Parameters as `RetryPolicy.pause`.
    mutating func failed(_ host: String, retryAfter: Duration?, now: Instant, random: Double) {
        var outage = outages[host] ?? Outage()
        if outage.isClosed { return }
        outage.failures += 1
        outage.until = now + retry.pause(attempt: outage.failures, retryAfter: retryAfter, random: random)
        outage.isClosed = true
        outages[host] = outage
    }

    /// Records that a host has answered.
    ///
    /// - Returns: Whether downloads from it may have waited.
    mutating func end(_ host: String) -> Bool { outages.removeValue(forKey: host)?.isClosed ?? false }

    mutating func endAll() { outages = [:] }

    /// Allows requests to the hosts whose time has come. Failures that are older than the longest delay are forgotten.
    mutating func reopen(now: Instant) {
        outages = outages.filter { now < $0.value.until + retry.maxDelay }
        for (host, outage) in outages where outage.until <= now { outages[host]?.isClosed = false }
    }
}
