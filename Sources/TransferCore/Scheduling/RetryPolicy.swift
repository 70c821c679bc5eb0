/// When to try again after a failure that may pass: exponential back-off with jitter.
package struct RetryPolicy: Sendable, Equatable {
    /// The pause after the first failure, in milliseconds.
    package var first: Int64
    /// The longest pause, in milliseconds.
    package var longest: Int64
    /// How long a task keeps trying without a byte of progress, in milliseconds.
    package var giveUp: Int64

    /// Half a second doubled up to five minutes: a Wi-Fi hand-over is bridged quickly, a server that is down for an
    /// hour sees about fifteen requests.
    package init(first: Int64 = 500, longest: Int64 = 300_000, giveUp: Int64 = 24 * 3_600_000) {
        self.first = first
        self.longest = longest
        self.giveUp = giveUp
    }

    /// The pause before try number `attempt + 1`, in milliseconds.
    ///
    /// - Parameters:
    ///   - attempt: failures in a row so far, from 1.
    ///   - retryAfter: what the server asked for, in seconds; it is honoured up to a day.
    ///   - random: uniform in 0..<1. Half of the pause is fixed and half drawn ("equal jitter"), so that clients that
    ///     failed together do not come back together.
    package func pause(attempt: Int, retryAfter: Int64?, random: Double) -> Int64 {
        let exponent = min(max(attempt, 1) - 1, 30)
        let full = min(longest, first << Int64(exponent))
        let drawn = full / 2 + Int64(Double(full / 2) * random)
        guard let retryAfter else { return drawn }
        return max(drawn, min(retryAfter, 86_400) * 1_000)
    }
}
