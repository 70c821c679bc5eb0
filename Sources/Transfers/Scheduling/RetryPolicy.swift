internal import Platform

/// The schedule of retries after transient failures: exponential back-off with jitter.
///
/// The default delays start at half a second and double up to five minutes. A Wi-Fi hand-over is thus bridged quickly,
/// and a server that is down for an hour gets about 25 requests.
package struct RetryPolicy: Sendable, Equatable {
    /// The delay after the first failure.
    package var firstDelay: Duration = .milliseconds(500)
    /// The maximum delay.
    package var maxDelay: Duration = .seconds(300)
    /// The time from the first of consecutive failures without progress until the task fails.
    package var giveUp: Duration = .seconds(86_400)

    /// Returns the delay before attempt number `attempt + 1`, in whole milliseconds.
    ///
    /// - Parameters:
    ///   - attempt: The number of consecutive failures, from 1.
    ///   - retryAfter: The delay that the server requests (Retry-After); honored up to a day.
    ///   - random: Uniform in 0..<1. Half of the delay is fixed and half random ("equal jitter"), so that clients that
    ///     failed together do not retry together.
    package func pause(attempt: Int, retryAfter: Duration?, random: Double) -> Duration {
        let exponent = min(max(attempt, 1) - 1, 30)
        let half = min(maxDelay, firstDelay * (1 << exponent)).milliseconds / 2
        let drawn = Duration.milliseconds(half + Int64(Double(half) * random))
        guard let retryAfter else { return drawn }
        return max(drawn, min(retryAfter, .seconds(86_400)))
    }
}

/// The hosts that do not answer. Background downloads from such a host wait for one common retry, so that a server that
/// is down costs a few requests in all, however many downloads are queued.
struct HostOutages: Sendable {
    struct Outage {
        /// The number of failures in a row, not counting those of requests that were already under way.
        var failures = 0
        /// The time of the next request.
        var until = Instant.start
        var isClosed = false
        var error: TransferError
    }

    private let retry: RetryPolicy
    private var outages: [String: Outage] = [:]

    init(retry: RetryPolicy) { self.retry = retry }

    /// The next time at which a host may be asked again.
    var deadline: Instant? { outages.values.filter(\.isClosed).map(\.until).min() }

    /// Returns why background downloads from the host wait, and until when; `nil` if they do not.
    func closure(_ host: String) -> (error: TransferError, until: Instant)? {
        outages[host].flatMap { $0.isClosed ? ($0.error, $0.until) : nil }
    }

    /// The hosts that have failed and not answered since.
    var hosts: Dictionary<String, Outage>.Keys { outages.keys }

    /// Records that a host was not reached, or refused a request for now. Parameters as `RetryPolicy.pause`.
    mutating func failed(_ host: String, _ error: TransferError, retryAfter: Duration?, now: Instant, random: Double) {
        var outage = outages[host] ?? Outage(error: error)
        if outage.isClosed { return }
        outage.error = error
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
