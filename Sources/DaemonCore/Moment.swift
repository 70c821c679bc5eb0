/// A moment by both of the daemon's clocks.
package struct Moment: Sendable, Equatable {
    /// The wall clock's time since 1970, used for schedules and events. It jumps when somebody sets the clock.
    package var wall: Duration
    /// The time since boot, including suspension, used for intervals. It never goes back.
    package var uptime: Duration

    package init(wall: Duration, uptime: Duration) {
        self.wall = wall
        self.uptime = uptime
    }

    /// Whole seconds since 1970.
    package var seconds: Int64 { wall.components.seconds }
}
