/// A point in time on a clock that never goes back: `SystemClock.monotonic` or `SystemClock.boottime`.
///
/// Pure types, such as the state machines of transfers, read no clock. Their callers pass the current instant with each
/// input. They do not use the standard library's instants, because a test cannot create those. Instants of different
/// clocks must not be compared.
package struct Instant: Sendable, Hashable, Comparable {
    /// The time since the clock started, at the boot of the machine.
    package var uptime: Duration

    package init(uptime: Duration) { self.uptime = uptime }

    /// Returns the instant `seconds` seconds after the clock's start.
    package static func seconds(_ seconds: some BinaryInteger) -> Instant { Instant(uptime: .seconds(seconds)) }

    /// Returns the instant `milliseconds` milliseconds after the clock's start.
    package static func milliseconds(_ milliseconds: some BinaryInteger) -> Instant {
        Instant(uptime: .milliseconds(milliseconds))
    }

    /// The start of the clock. No event is earlier.
    package static let start = Instant(uptime: .zero)

    package static func + (moment: Instant, duration: Duration) -> Instant { Instant(uptime: moment.uptime + duration) }

    package static func - (moment: Instant, duration: Duration) -> Instant { Instant(uptime: moment.uptime - duration) }

    package static func += (moment: inout Instant, duration: Duration) { moment.uptime += duration }

    package static func -= (moment: inout Instant, duration: Duration) { moment.uptime -= duration }

    package static func - (later: Instant, earlier: Instant) -> Duration { later.uptime - earlier.uptime }

    package static func < (a: Instant, b: Instant) -> Bool { a.uptime < b.uptime }
}

extension SystemClock {
    /// The current time, in whole milliseconds.
    package var now: Instant { .milliseconds(milliseconds) }
}

extension Duration {
    /// Whole seconds, rounded towards zero.
    package var seconds: Int64 { components.seconds }
    /// Whole milliseconds, rounded towards zero: the unit of libcurl and of the messages between processes.
    package var milliseconds: Int64 { components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000 }
}
