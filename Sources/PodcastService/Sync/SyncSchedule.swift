/// The rules for the time of the next exchange with the sync server. Pure: the caller supplies clock and random number.
package struct SyncSchedule: Sendable, Equatable {
    /// `sync.interval`, in seconds.
    package let interval: Int64
    /// Seconds between the last change and its upload: a person who marks a season as played makes many changes, which
    /// one upload then covers.
    package let delay: Int64
    /// Maximum delay in seconds while changes continue.
    private let longestDelay: Int64

    package init(interval: Int64 = 3_600, delay: Int64 = 30) {
        self.interval = max(1, interval)
        self.delay = max(0, delay)
        longestDelay = self.delay * 10
    }

    /// Returns the time of the next exchange after a success, up to a tenth later so that a server's users do not all
    /// connect at once.
    package func next(now: Int64, random: Double) -> Int64 { now + interval + Int64(Double(interval) * random / 10) }

    /// Returns the time of the next exchange after consecutive failures. The delay doubles from a minute, plus up to a
    /// quarter at random; it never exceeds `interval` (at least a minute), except for Retry-After, which is respected
    /// in full.
    package func next(now: Int64, failures: Int, retryAfter: Int64?, random: Double) -> Int64 {
        let pause = min(Self.longestPause, 60 << Int64(min(max(0, failures - 1), 16)))
        let spread = pause + Int64(Double(pause) * random / 4)
        return now + max(min(spread, max(interval, 60)), retryAfter ?? 0)
    }

    private static let longestPause: Int64 = 6 * 3_600

    /// Returns when pending changes are sent.
    ///
    /// - Parameters:
    ///   - oldest, newest: when the oldest and the newest change were made.
    ///   - failures: after a failure its back-off applies instead of the delay for changes.
    package func due(oldest: Int64, newest: Int64, failures: Int, next: Int64) -> Int64 {
        failures > 0 ? next : min(next, newest + delay, oldest + longestDelay)
    }
}
