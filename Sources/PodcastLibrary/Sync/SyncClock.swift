/// The range of valid times, in seconds since 1970 UTC.
package enum SyncTimeRange {
    /// The end of the year 9999. All times from servers, actions and rows are bounded by this value and its negative,
    /// so that the sum of a few cannot overflow.
    package static let latest: Int64 = 253_402_300_799

    static func bounded(_ seconds: Int64) -> Int64 { min(max(seconds, -latest), latest) }
}

/// The clocks of this device and of the server, at one moment.
///
/// Devices' clocks differ, and an action has the time of the acting device. podfs converts the times of its own actions
/// to the server's clock. Such a time is never earlier than that of the state that the person saw. podfs treats an
/// action from the far future as if it had happened now: otherwise the actions of a single device whose clock is a year
/// ahead would override those of all others for a year.
package struct SyncClock: Sendable, Equatable {
    /// Seconds since 1970 UTC.
    package let local: Int64
    package let server: Int64

    package init(local: Int64, server: Int64) {
        self.local = SyncTimeRange.bounded(local)
        self.server = SyncTimeRange.bounded(server)
    }

    /// The correction from local to server time, in seconds. A difference up to `maxResponseTime` is the duration of
    /// the response, not a wrong clock.
    package var skew: Int64 { abs(server - local) <= Self.maxResponseTime ? 0 : server - local }

    private static let maxResponseTime: Int64 = 5
    /// The maximum number of seconds by which an action may be ahead of the server: a day, which covers a clock that
    /// shows local time instead of UTC. If a person changes the episode here after the action has arrived, the change
    /// gets a later time than the action: see `time(ofLocal:floor:)`.
    private static let tolerance: Int64 = 86_400

    /// Returns the time of a local change, by the server's clock.
    ///
    /// - Parameter floor: The lowest time that the change may have, so that it is later than the state that the person
    ///   saw.
    package func time(ofLocal moment: Int64, floor: Int64) -> Int64 {
        max(SyncTimeRange.bounded(moment) + skew, SyncTimeRange.bounded(floor))
    }

    /// Whether this time is too far in the future to come from a correct clock.
    package func isFuture(_ time: Int64) -> Bool { time > server + Self.tolerance }

    /// Returns the time to use for an action: the server's present time if the action is too far in the future.
    package func clamped(_ time: Int64) -> Int64 { isFuture(time) ? server : max(0, time) }
}

/// The start times of requests for changes.
///
/// Each response of the API has a timestamp for the next request. Requests for the changes since exactly this timestamp
/// would miss actions, for two reasons. Some servers (oPodSync, gpoddersync) compare it with the acting *device's*
/// time. An action made offline is sent later, and is then older than the timestamps that other devices already have.
/// Other servers count whole seconds, and lose actions in the second of the response. So each request overlaps with the
/// previous one, and sometimes covers everything. Actions that are already known have no effect.
package struct SyncWindow: Sendable, Equatable {
    /// The timestamp of the last response; 0 if there was none.
    package let last: Int64
    /// The timestamp of the last response to a request for everything; `nil` if there was none.
    package let lastFull: Int64?

    package init(last: Int64, lastFull: Int64?) {
        self.last = SyncTimeRange.bounded(last)
        self.lastFull = lastFull.map(SyncTimeRange.bounded)
    }

    /// The overlap for actions in seconds: a week, since devices are rarely offline for longer, and a week's actions
    /// are few. A request for everything is due a week after the previous one.
    package static let overlap: Int64 = 7 * 86_400
    /// The overlap in seconds for subscription changes, to which servers assign their own times.
    package static let shortOverlap: Int64 = 60

    /// Whether a request for everything is due.
    package var isFull: Bool { lastFull.map { last - $0 >= Self.overlap || $0 > last } ?? true }

    package var episodesSince: Int64 { isFull ? 0 : max(0, last - Self.overlap) }

    package var subscriptionsSince: Int64 { max(0, last - Self.shortOverlap) }
}
