internal import Platform

/// The rules for the time of the next exchange with the sync server. Pure: the caller supplies random numbers and the
/// time. Times are in seconds since 1970, as the library stores them.
package struct SyncSchedule: Sendable, Equatable {
    /// The setting `sync.interval`: the time between two exchanges.
    package var interval: Duration
    /// The setting `sync.delay`: the time between the newest change and the upload. A person who marks a season as
    /// played makes many changes, and one upload then covers all of them.
    package var delay: Duration
    /// Maximum time between the oldest change and the upload, even if newer changes keep arriving.
    private var longestDelay: Duration { delay * 10 }

    package init(interval: Duration = .seconds(3_600), delay: Duration = .seconds(30)) {
        self.interval = max(.seconds(1), interval)
        self.delay = max(.zero, delay)
    }

    /// Maximum pause that a server may demand in `Retry-After`: a day. `SyncClient` shortens a longer one.
    static let longestHold = Duration.seconds(86_400)

    /// The longest time until the next exchange.
    package var longestWait: Duration { max(interval + interval / 10, Self.longestHold) }

    /// Returns the time of the next exchange after a success: `interval` from now, plus up to a tenth of it at random,
    /// so that a server's users do not all connect at once.
    package func next(now: Int64, random: Double) -> Int64 { now + (interval * (1 + random / 10)).seconds }

    /// Returns the time of the next exchange after consecutive failures.
    ///
    /// The delay is a minute after the first failure and doubles with each further one, up to six hours. Up to a
    /// quarter is added at random. The sum does not exceed `interval`, or a minute if `interval` is shorter. If
    /// `retryAfter` is longer than this, it applies in full instead.
    package func next(now: Int64, failures: Int, retryAfter: Duration?, random: Double) -> Int64 {
        let pause = min(Self.longestPause, Self.firstPause * (1 << min(max(0, failures - 1), 16)))
        let spread = pause * (1 + random / 4)
        return now + max(min(spread, max(interval, Self.firstPause)), retryAfter ?? .zero).seconds
    }

    private static let firstPause = Duration.seconds(60)
    private static let longestPause = Duration.seconds(6 * 3_600)

    /// Returns the time at which pending changes are sent.
    ///
    /// - Parameters:
    ///   - oldest, newest: the times at which the oldest and the newest change were made.
    ///   - isComplete: whether the last exchange neither failed nor was cancelled. Otherwise the result is `next`; the
    ///     delay for changes does not apply.
    package func due(oldest: Int64, newest: Int64, isComplete: Bool, next: Int64) -> Int64 {
        isComplete ? min(next, newest + delay.seconds, oldest + longestDelay.seconds) : next
    }
}
