package import Platform

/// A moment on both of the daemon's clocks.
package struct Moment: Sendable, Equatable {
    /// The time of the wall clock, used for schedules and events.
    package var wall: WallTime
    /// The time of a clock that continues while the machine is suspended; used for intervals.
    package var uptime: Instant

    /// Whole seconds since 1970.
    package var seconds: Int64 { wall.seconds }
}
