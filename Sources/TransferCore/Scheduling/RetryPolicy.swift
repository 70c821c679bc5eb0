/// The schedule of retries after transient failures: exponential back-off with jitter.
package struct RetryPolicy: Sendable, Equatable {
    /// The delay after the first failure, in milliseconds.
    package var first: Int64
    /// The maximum delay, in milliseconds.
    package var longest: Int64
    /// The time after which a task without progress fails, in milliseconds.
    package var giveUp: Int64

    /// The default delays start at half a second and double up to five minutes: a Wi-Fi hand-over is bridged quickly,
    /// and a server that is down for an hour gets about 25 requests.
    package init(first: Int64 = 500, longest: Int64 = 300_000, giveUp: Int64 = 24 * 3_600_000) {
        self.first = first
        self.longest = longest
        self.giveUp = giveUp
    }

    /// Returns the delay before attempt number `attempt + 1`, in milliseconds.
    ///
    /// - Parameters:
    ///   - attempt: The number of consecutive failures, from 1.
    ///   - retryAfter: The server's delay in seconds; honoured up to a day.
    ///   - random: Uniform in 0..<1. Half of the delay is fixed and half random ("equal jitter"), so that clients that
    ///     failed together do not retry together.
    package func pause(attempt: Int, retryAfter: Int64?, random: Double) -> Int64 {
        let exponent = min(max(attempt, 1) - 1, 30)
        let full = min(longest, first << Int64(exponent))
        let drawn = full / 2 + Int64(Double(full / 2) * random)
        guard let retryAfter else { return drawn }
        return max(drawn, min(retryAfter, 86_400) * 1_000)
    }
}
