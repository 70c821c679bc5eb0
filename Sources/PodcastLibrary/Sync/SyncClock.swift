/// Which moments there are, in seconds since 1970 UTC.
package enum SyncMoment {
    /// Up to the end of the year 9999. Whatever a server, an action or a row says, what is computed with lies here, or as
    /// far before 1970; so the sum of a few of them is no overflow.
    package static let latest: Int64 = 253_402_300_799

    static func bounded(_ seconds: Int64) -> Int64 { min(max(seconds, -latest), latest) }
}

/// The clock of this device and that of the server, at one moment.
///
/// Devices' clocks differ, and an action carries the time of the device that did it. podfs sends its own in the server's
/// time, and later than what the person saw; and it takes one from the far future for one of now: else a single device
/// whose clock is a year ahead would win against all others for a year.
package struct SyncClock: Sendable, Equatable {
    /// Seconds since 1970 UTC.
    package let local: Int64
    package let server: Int64

    package init(local: Int64, server: Int64) {
        self.local = SyncMoment.bounded(local)
        self.server = SyncMoment.bounded(server)
    }

    /// What is added to the local time to have the server's. A few seconds are the time that an answer takes, and not a
    /// wrong clock.
    package var skew: Int64 { abs(server - local) <= Self.answerTime ? 0 : server - local }

    private static let answerTime: Int64 = 5
    /// How far ahead of the server an action may be and still be taken as it is, in seconds: a day, which is a clock that
    /// runs in local time. Changes that are made after it was heard of are dated after it.
    private static let tolerance: Int64 = 86_400

    /// The time of a local change.
    ///
    /// - Parameter floor: what the person saw when making it is older, whatever the clock says.
    package func time(ofLocal moment: Int64, floor: Int64) -> Int64 {
        max(SyncMoment.bounded(moment) + skew, SyncMoment.bounded(floor))
    }

    /// Whether no clock that is right can have given this time.
    package func isFuture(_ time: Int64) -> Bool { time > server + Self.tolerance }

    /// An action's time as it counts.
    package func clamped(_ time: Int64) -> Int64 { isFuture(time) ? server : max(0, time) }
}

/// From when on a server is asked for what is new.
///
/// The API gives a timestamp with each answer and takes it with the next question. That alone loses actions: some servers
/// compare it with the time that the *device* gave (oPodSync, gpoddersync), so that what a device did while it was
/// offline is older than the timestamp that the others hold; others count whole seconds, and what comes within the second
/// of the answer is lost. So each question reaches back, and now and then over everything; what is known already changes
/// nothing.
package struct SyncWindow: Sendable, Equatable {
    /// The answer's timestamp to the last question; 0 when there was none.
    package let last: Int64
    /// That of the last question over everything; `nil` when there was none.
    package let lastFull: Int64?

    package init(last: Int64, lastFull: Int64?) {
        self.last = SyncMoment.bounded(last)
        self.lastFull = lastFull.map(SyncMoment.bounded)
    }

    /// A week, in seconds: devices are seldom offline for longer, and a week of listening is small.
    package static let overlap: Int64 = 7 * 86_400
    /// For lists of subscriptions, which servers date by their own clocks.
    package static let shortOverlap: Int64 = 60

    /// Whether everything is due.
    package var isFull: Bool { lastFull.map { last - $0 >= Self.overlap || $0 > last } ?? true }

    package var episodesSince: Int64 { isFull ? 0 : max(0, last - Self.overlap) }

    package var subscriptionsSince: Int64 { max(0, last - Self.shortOverlap) }
}
