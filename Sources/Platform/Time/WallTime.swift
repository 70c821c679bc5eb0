internal import Glibc

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
