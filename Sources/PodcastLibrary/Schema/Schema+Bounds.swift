import GRDB

extension Schema {
    /// Replaces impossible numbers, which only a damaged disk produces. Swift code clamps the numbers that it reads,
    /// but SQL statements increment some columns directly, and SQLite refuses to store a sum beyond 64 bits: such a row
    /// could no longer be updated.
    ///
    /// Runs when the library is opened for writing. These tables are small: a row for each show, or for each episode
    /// with a synchronized state.
    static func bound(_ db: Database) throws {
        let moments = "BETWEEN 0 AND \(SyncTimeRange.latest)"
        for sql in [
            "UPDATE sync_episode SET time = 0 WHERE NOT time \(moments)",
            """
            UPDATE sync_pending SET at = iif(at \(moments), at, 0), floor = iif(floor \(moments), floor, 0),
                stamp = iif(stamp \(moments), stamp, NULL)
            WHERE NOT at \(moments) OR NOT floor \(moments) OR NOT stamp \(moments)
            """,
            "UPDATE sync_parked SET time = 0 WHERE NOT time \(moments)",
            """
            UPDATE sync_account SET
                subscriptions_since = iif(subscriptions_since \(moments), subscriptions_since, 0),
                episodes_since = iif(episodes_since \(moments), episodes_since, 0),
                episodes_full = iif(episodes_full \(moments), episodes_full, NULL),
                next_sync = iif(next_sync \(moments), next_sync, 0),
                last_sync = iif(last_sync \(moments), last_sync, NULL),
                held_until = iif(held_until \(moments), held_until, NULL),
                failures = max(0, min(failures, \(maxFailures)))
            """,
            "UPDATE sync_subscription SET serial = 1 WHERE NOT serial \(moments)",
            """
            UPDATE podcast SET failures = max(0, min(failures, \(maxFailures)))
            WHERE NOT failures BETWEEN 0 AND \(maxFailures)
            """,
        ] {
            try db.execute(sql: sql)
        }
    }

    /// The maximum count of failures. The delay between two attempts stops growing after some twenty failures.
    private static let maxFailures = 1_000_000
}
