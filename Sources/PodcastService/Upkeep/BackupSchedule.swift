/// The schedule of library backups. Pure: the caller supplies the clock and the time of the current backup.
///
/// If there is no backup, or it is dated in the future because the clock was set back, the next one is due shortly
/// after the start. All times are in seconds since 1970, all durations in seconds.
package struct BackupSchedule: Sendable, Equatable {
    /// Maximum age of the backup.
    package static let interval: Int64 = 86_400
    /// Delay of a backup after a change of the subscriptions, so that ten subscriptions in a row cause one backup. The
    /// same delay applies after the start if there is no backup.
    package static let delay: Int64 = 60

    /// When the daemon started.
    private let started: Int64
    /// When a backup was last attempted, successful or not.
    private var lastTry: Int64?
    /// When the backup for a changed subscription list is due.
    private var changeDue: Int64?

    package init(started: Int64) { self.started = started }

    /// Records a change of the subscriptions.
    ///
    /// - Returns: whether the next backup is now due at a different time. A backup that is already due is not
    ///   postponed.
    package mutating func subscriptionsChanged(now: Int64) -> Bool {
        guard changeDue == nil else { return false }
        changeDue = now + Self.delay
        return true
    }

    /// Records that a backup begins.
    package mutating func begin(now: Int64) {
        lastTry = now
        changeDue = nil
    }

    /// Returns when the next backup is due.
    ///
    /// - Parameters:
    ///   - backup: when the current backup was made; `nil` if there is none.
    ///   - hasShows: whether the library contains anything worth backing up.
    package func next(backup: Int64?, hasShows: Bool, now: Int64) -> Int64 {
        // A change recorded before the clock was set back is due after at most one delay from now.
        let change = changeDue.map { min($0, now + Self.delay) } ?? .max
        // A failed attempt is retried only after the full interval.
        let tried = lastTry.flatMap { $0 <= now ? $0 + Self.interval : nil }
        if let backup, backup <= now { return min(change, max(backup + Self.interval, tried ?? .min)) }
        guard hasShows else { return change }
        return min(change, tried ?? min(started + Self.delay, now + Self.delay))
    }

    /// Returns whether the daemon makes a backup before it exits: after changes, and if there is no backup.
    package func isDueAtEnd(backup: Int64?, hasShows: Bool, now: Int64) -> Bool {
        if changeDue != nil { return true }
        guard hasShows else { return false }
        // An attempt that failed since the start is not repeated at exit.
        return (backup.map { $0 > now } ?? true) && lastTry == nil
    }
}
