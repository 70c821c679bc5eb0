internal import Glibc

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

/// The kernel's clocks. The corresponding C function is `clock_gettime`.
package enum SystemClock {
    /// CLOCK_MONOTONIC: stops while the machine is suspended. The clock of poll(2), of sd_bus_get_timeout(3) and of the
    /// kernel's timeouts of FUSE entries and attributes.
    case monotonic
    /// CLOCK_BOOTTIME: continues while the machine is suspended.
    case boottime

    /// The clock's reading in whole seconds. It was 0 at boot, and setting the wall clock does not change it.
    package var seconds: Int64 { Int64(time.tv_sec) }
    /// The clock's reading in whole milliseconds.
    package var milliseconds: Int64 { Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000 }
    /// The clock's reading in whole microseconds.
    package var microseconds: Int64 { Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000 }

    private var time: timespec {
        var time = timespec()
        clock_gettime(self == .monotonic ? CLOCK_MONOTONIC : CLOCK_BOOTTIME, &time)
        return time
    }
}

/// A point in time of the wall clock.
///
/// The clock jumps when it is set, so intervals are measured with `Instant`.
package struct WallTime: Sendable, Hashable, Comparable {
    /// The time since 1970, UTC.
    package var since1970: Duration

    /// Returns the time `seconds` seconds after the start of 1970, UTC.
    package static func seconds(_ seconds: some BinaryInteger) -> WallTime { WallTime(since1970: .seconds(seconds)) }

    /// The current time. The corresponding C function is `clock_gettime` with `CLOCK_REALTIME`.
    package static var now: WallTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return WallTime(since1970: .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec))
    }

    /// Whole seconds since 1970: the resolution of the library and of the messages between processes.
    package var seconds: Int64 { since1970.seconds }

    package static func + (moment: WallTime, duration: Duration) -> WallTime {
        WallTime(since1970: moment.since1970 + duration)
    }

    package static func - (moment: WallTime, duration: Duration) -> WallTime {
        WallTime(since1970: moment.since1970 - duration)
    }

    package static func += (moment: inout WallTime, duration: Duration) { moment.since1970 += duration }

    package static func -= (moment: inout WallTime, duration: Duration) { moment.since1970 -= duration }

    package static func - (later: WallTime, earlier: WallTime) -> Duration { later.since1970 - earlier.since1970 }

    package static func < (a: WallTime, b: WallTime) -> Bool { a.since1970 < b.since1970 }
}
