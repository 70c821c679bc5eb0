internal import Platform
internal import TransferCore

/// The times of the daemon's last events, in seconds of Unix time. Changes since then have to be invalidated.
///
/// The library stores the time of a change by the wall clock. If that clock is set back, later changes have earlier
/// times than the last events, so these times are set back with it.
struct EventTimes: Sendable {
    /// The time of the last event or connection; 0 before the first. The invalidations for all changes up to that time
    /// have been sent.
    private(set) var moment: Int64 = 0
    /// The time of the last event of each show.
    private var shows: [ShowID: Int64] = [:]
    /// The value for shows without an event: a second before the mount was created.
    private var first: Int64
    /// The difference between the wall clock and the uptime when they were last read.
    private var lead: Duration

    /// - Parameters:
    ///   - wall: The time at which the mount was created.
    ///   - uptime: The same time, by a clock that continues while the machine is suspended.
    init(wall: WallTime, uptime: Instant) {
        first = wall.seconds - 1
        lead = wall.since1970 - uptime.uptime
    }

    /// Records that an event or a connection is being handled now. Call before `record(_:at:)`.
    ///
    /// - Returns: The former `moment`, by the clock as it is set now.
    @discardableResult
    mutating func advance(wall: WallTime, uptime: Instant) -> Int64 {
        let jump = wall.since1970 - uptime.uptime - lead
        lead += jump
        // The two clocks are not read at the same instant.
        if jump < .seconds(-1) { move(by: jump.seconds - 1) }
        defer { moment = wall.seconds }
        return moment
    }

    /// Records an event of a show.
    ///
    /// - Returns: The time of the show's previous event, by the clock as it is set now.
    mutating func record(_ show: ShowID, at time: Int64) -> Int64 {
        defer { shows[show] = time }
        return shows[show] ?? first
    }

    private mutating func move(by seconds: Int64) {
        if moment > 0 { moment = max(1, moment + seconds) }
        first += seconds
        shows = shows.mapValues { $0 + seconds }
    }
}
