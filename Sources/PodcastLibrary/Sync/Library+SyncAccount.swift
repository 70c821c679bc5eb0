import GRDB

extension Library {
    /// Returns the account of the sync server; `nil` if there is none.
    package func syncAccount() throws -> SyncAccount? {
        try row(
            """
            SELECT url, user, device, kind, subscriptions_since, episodes_since, episodes_full, last_sync,
                next_sync, failures, error, stopped, held_until FROM sync_account
            """
        ) { row in
            var account = SyncAccount(
                url: row[0], user: row[1], device: row[2], kind: SyncAccount.Kind(rawValue: row[3]) ?? .gpodder)
            account.subscriptionsSince = row[4]
            account.episodes = SyncWindow(last: row[5], lastFull: row[6])
            account.lastSync = row[7]
            account.nextSync = row[8]
            account.failures = row[9]
            account.error = row[10]
            account.isStopped = row[11]
            account.heldUntil = row[12]
            return account
        }
    }

    /// Starts synchronization with an account: queues all local subscriptions and playback states for sending, and
    /// deletes the data of an earlier account. If it is the same account, server and device, nothing is deleted or
    /// queued, and a stopped synchronization continues.
    package func beginSync(_ account: SyncAccount, now: Int64) throws {
        try write { db in
            let same = try Bool.fetchOne(
                db, "SELECT 1 FROM sync_account WHERE url = ? AND user = ? AND device = ? AND kind = ?",
                [account.url, account.user, account.device, account.kind.rawValue])
            if same ?? false {
                return try db.run(
                    "UPDATE sync_account SET stopped = 0, error = NULL, failures = 0, held_until = NULL, next_sync = ?",
                    [now])
            }
            try SyncSQL.removeAccount(db)
            try db.run(
                "INSERT INTO sync_account (id, url, user, device, kind, next_sync) VALUES (1, ?, ?, ?, ?, ?)",
                [account.url, account.user, account.device, account.kind.rawValue, now])
            try db.run(
                """
                INSERT INTO sync_subscription (url, podcast, subscribed, at)
                SELECT url, id, 1, ? FROM podcast WHERE ephemeral = 0
                """, [now])
            try db.run(
                """
                INSERT INTO sync_pending (episode, at, floor)
                SELECT e.id, min(coalesce(e.heard, 0), ?), 0 FROM episode e
                WHERE (e.played = 1 OR e.position >= 1)
                    AND (SELECT p.ephemeral FROM podcast p WHERE p.id = e.podcast) = 0
                """, [now])
        }
    }

    /// Deletes the account, and all changes that wait to be sent or applied. Subscriptions and positions stay.
    package func removeSyncAccount() throws { try write { db in try SyncSQL.removeAccount(db) } }

    /// Records the result of a synchronization.
    ///
    /// - Parameters:
    ///   - error: The reason for the failure, one line; `nil` after a success.
    ///   - next: The time of the next attempt; `nil` for never.
    ///   - heldUntil: The earliest time of the next request, if the server has set one.
    package func recordSync(error: String?, isStopped: Bool, next: Int64?, heldUntil: Int64? = nil, now: Int64) throws {
        try execute(
            """
            UPDATE sync_account SET error = ?1, stopped = ?2, next_sync = ?3, held_until = ?5,
                failures = CASE WHEN ?1 IS NULL THEN 0 ELSE failures + 1 END,
                last_sync = CASE WHEN ?1 IS NULL THEN ?4 ELSE last_sync END
            """, [error, isStopped, next, now, heldUntil])
    }

    /// Records the end of a cancelled exchange. Since this says nothing about the server, the count of failures and the
    /// pause that the server has asked for stay.
    package func recordCancelledSync(message: String, next: Int64) throws {
        try execute("UPDATE sync_account SET error = ?, next_sync = ?", [message, next])
    }

    package func syncQueue() throws -> SyncQueue {
        // States of an unsubscribed show are not counted: they wait until the show is subscribed again.
        try row(
            """
            WITH waiting AS (
                SELECT 1 AS kind, at FROM sync_subscription UNION ALL
                SELECT 2, q.at FROM sync_pending q JOIN episode e ON e.id = q.episode
                JOIN podcast p ON p.id = e.podcast WHERE p.ephemeral = 0)
            SELECT count(*) FILTER (WHERE kind = 1), count(*) FILTER (WHERE kind = 2),
                (SELECT count(*) FROM sync_parked), min(at), max(at) FROM waiting
            """
        ) {
            SyncQueue(subscriptions: $0[0], actions: $0[1], parked: $0[2], oldest: $0[3], newest: $0[4])
        } ?? SyncQueue()
    }
}

/// SQL about the sync account.
enum SyncSQL {
    static func removeAccount(_ db: Database) throws {
        for table in [
            "sync_account", "sync_feed", "sync_subscription", "sync_episode", "sync_pending", "sync_parked",
            "sync_clamped",
        ] {
            try db.execute(sql: "DELETE FROM \(table)")
        }
    }

    /// Executes `body`, which writes changes from the server, without queueing them for sending. The triggers that
    /// queue changes do nothing while `applying` is 1.
    static func applying<Value>(_ db: Database, _ body: () throws -> Value) throws -> Value {
        // If the transaction fails, both updates are rolled back.
        try db.execute(sql: "UPDATE sync_account SET applying = 1")
        let value = try body()
        try db.execute(sql: "UPDATE sync_account SET applying = 0")
        return value
    }

    static func hasAccount(_ db: Database) throws -> Bool {
        try Bool.fetchOne(db, "SELECT 1 FROM sync_account") ?? false
    }
}
