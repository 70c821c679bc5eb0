/// A moment by both of the daemon's clocks.
package struct Moment: Sendable, Equatable {
    /// By the wall clock, since 1970: what schedules and events are written down by. It may be set.
    package var wall: Duration
    /// Since the machine's start, its sleep included: what pauses are measured by. It never goes back.
    package var uptime: Duration

    package init(wall: Duration, uptime: Duration) {
        self.wall = wall
        self.uptime = uptime
    }

    /// Whole seconds since 1970.
    package var seconds: Int64 { wall.components.seconds }
}
