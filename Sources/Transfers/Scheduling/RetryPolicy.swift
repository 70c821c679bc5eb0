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
