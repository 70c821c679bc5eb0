package import Platform

/// The schedule of library backups. Pure: the caller supplies the clock and the time of the current backup.
///
/// If there is no backup, or it is dated in the future because the clock was set back, the next one is due shortly
/// after the start.
package struct BackupSchedule: Sendable, Equatable {
    /// Maximum age of the backup.
    package static let interval = Duration.seconds(86_400)
    /// Delay of a backup after a change of the subscriptions, so that ten subscriptions in a row cause one backup. The
    /// same delay applies after the start if there is no backup.
    package static let delay = Duration.seconds(60)

    /// The time at which the daemon started.
    private let started: WallTime
    /// The time of the last attempt at a backup, successful or not.
    private var lastTry: WallTime?
    /// The time at which the backup for a changed subscription list is due.
    private var changeDue: WallTime?

    package init(started: WallTime) { self.started = started }

    /// Records a change of the subscriptions.
    ///
    /// - Returns: whether the next backup may now be due earlier; `false` if an earlier change has already scheduled
    ///   one, which is not postponed.
    package mutating func subscriptionsChanged(now: WallTime) -> Bool {
        guard changeDue == nil else { return false }
        changeDue = now + Self.delay
        return true
    }

    /// Records that a backup begins.
    package mutating func begin(now: WallTime) {
        lastTry = now
        changeDue = nil
    }

    /// Returns when the next backup is due; `nil` if the library has no shows, there is no backup, and no change of the
    /// subscriptions is waiting for one.
    ///
    /// - Parameters:
    ///   - backup: when the current backup was made; `nil` if there is none.
    ///   - hasShows: whether the library contains anything worth backing up.
    package func next(backup: WallTime?, hasShows: Bool, now: WallTime) -> WallTime? {
        // A change recorded before the clock was set back is due after at most one delay from now.
        let change = changeDue.map { min($0, now + Self.delay) }
        // A failed attempt is retried only after the full interval.
        let tried = lastTry.flatMap { $0 <= now ? $0 : nil }
        var regular: WallTime?
        if let backup, backup <= now {
            regular = max(backup, tried ?? backup) + Self.interval
        } else if hasShows {
            regular = tried.map { $0 + Self.interval } ?? min(started, now) + Self.delay
        }
        return [change, regular].compactMap(\.self).min()
    }

    /// Returns whether the daemon makes a backup before it exits: after changes, and if there is no backup.
    package func isDueAtEnd(backup: WallTime?, hasShows: Bool, now: WallTime) -> Bool {
        if changeDue != nil { return true }
        guard hasShows else { return false }
        // An attempt that failed since the start is not repeated at exit.
        return (backup.map { $0 > now } ?? true) && lastTry == nil
    }
}
