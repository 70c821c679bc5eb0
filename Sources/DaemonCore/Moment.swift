package import Platform

/// A moment on both of the daemon's clocks.
package struct Moment: Sendable, Equatable {
    /// Used for schedules and events.
    package var wall: WallTime
    /// Includes the time for which the machine was suspended; used for intervals.
    package var uptime: Instant

    package init(wall: WallTime, uptime: Instant) {
        self.wall = wall
        self.uptime = uptime
    }

    /// Whole seconds since 1970.
    package var seconds: Int64 { wall.seconds }
}
