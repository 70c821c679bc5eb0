/// When the server is asked again. Pure: the clock and the dice are the caller's.
package struct SyncSchedule: Sendable, Equatable {
    /// `sync.interval`, in seconds.
    package let interval: Int64
    /// How long after the last change it is sent, in seconds: a person who marks a season as played marks many.
    package let delay: Int64
    /// Changes that go on and on are sent after this time nevertheless.
    private let longestDelay: Int64

    package init(interval: Int64 = 3_600, delay: Int64 = 30) {
        self.interval = max(1, interval)
        self.delay = max(0, delay)
        longestDelay = self.delay * 10
    }

    /// After a success. Up to a tenth later, so that a server's users do not all come at once.
    package func next(now: Int64, random: Double) -> Int64 { now + interval + Int64(Double(interval) * random / 10) }

    /// After so many failures in a row, doubling from a minute; never more often than without failures. What the server asks
    /// for counts in full.
    package func next(now: Int64, failures: Int, retryAfter: Int64?, random: Double) -> Int64 {
        let pause = min(Self.longestPause, 60 << Int64(min(max(0, failures - 1), 16)))
        let spread = pause + Int64(Double(pause) * random / 4)
        return now + max(min(spread, max(interval, 60)), retryAfter ?? 0)
    }

    private static let longestPause: Int64 = 6 * 3_600

    /// When changes that wait are sent.
    ///
    /// - Parameters:
    ///   - oldest, newest: when they were made.
    ///   - failures: after one the pause of failures is kept, not that of changes.
    package func due(oldest: Int64, newest: Int64, failures: Int, next: Int64) -> Int64 {
        failures > 0 ? next : min(next, newest + delay, oldest + longestDelay)
    }
}
