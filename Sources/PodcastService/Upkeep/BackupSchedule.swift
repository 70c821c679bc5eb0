/// When the library is backed up. Pure: the clock and the backup's age are the caller's.
///
/// A backup that is missing, or whose time lies in the future because the clock was set back, is due shortly after the
/// start: its age says nothing then. All moments and durations are in seconds.
package struct BackupSchedule: Sendable, Equatable {
    /// How old the backup may become.
    package static let interval: Int64 = 86_400
    /// How long after a change of the subscriptions it is made: a person who subscribes to ten shows in a row gets one
    /// backup of them. The same pause follows the start when there is no backup.
    package static let delay: Int64 = 60

    /// When the daemon started.
    private let started: Int64
    /// When a backup was last tried, whether or not it succeeded.
    private var lastTry: Int64?
    /// When a change of the subscriptions asks for one.
    private var changeDue: Int64?

    package init(started: Int64) { self.started = started }

    /// The subscriptions have changed.
    ///
    /// - Returns: whether the next backup is due at another time now. What is due already is not put off.
    package mutating func subscriptionsChanged(now: Int64) -> Bool {
        guard changeDue == nil else { return false }
        changeDue = now + Self.delay
        return true
    }

    /// A backup begins.
    package mutating func begin(now: Int64) {
        lastTry = now
        changeDue = nil
    }

    /// The moment of the next backup.
    ///
    /// - Parameters:
    ///   - backup: when the present backup was made; `nil` when there is none.
    ///   - hasShows: whether the library has anything to lose.
    package func next(backup: Int64?, hasShows: Bool, now: Int64) -> Int64 {
        // A change that was noted before the clock was set back is due at the latest a pause from now.
        let change = changeDue.map { min($0, now + Self.delay) } ?? .max
        // What was tried and did not succeed is not tried again at once.
        let tried = lastTry.flatMap { $0 <= now ? $0 + Self.interval : nil }
        if let backup, backup <= now { return min(change, max(backup + Self.interval, tried ?? .min)) }
        guard hasShows else { return change }
        return min(change, tried ?? min(started + Self.delay, now + Self.delay))
    }

    /// Whether a daemon that leaves makes a backup first: after changes, and when there is none.
    package func isDueAtEnd(backup: Int64?, hasShows: Bool, now: Int64) -> Bool {
        if changeDue != nil { return true }
        guard hasShows else { return false }
        // A try that failed since the start is not repeated at the end.
        return (backup.map { $0 > now } ?? true) && lastTry == nil
    }
}
