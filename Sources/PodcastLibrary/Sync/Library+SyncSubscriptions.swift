import GRDB
package import PodcastProtocol

extension Library {
    /// Returns the server's list, the local subscriptions and the pending changes, all from one transaction. Otherwise
    /// a new subscription could be returned without its pending change, as if the server already listed it.
    package func subscriptionBook() throws -> SubscriptionState {
        try read { db in
            let server = try Row.fetchCursor(db, "SELECT url, subscribed, podcast FROM sync_feed ORDER BY url")
                .mapAll { ServerFeed(url: $0[0], subscribed: $0[1], podcast: $0[2]) }
            let pending = try Row.fetchCursor(
                db, "SELECT url, podcast, subscribed, sent, serial FROM sync_subscription ORDER BY at, url"
            ).mapAll {
                PendingSubscription(url: $0[0], podcast: $0[1], subscribed: $0[2], sent: $0[3], serial: $0[4])
            }
            return SubscriptionState(server: server, local: try Self.subscriptions(db), pending: pending)
        }
    }

    /// Records entries of the server's list, and removes pending changes that are no longer to be sent.
    ///
    /// - Parameters:
    ///   - settled: The changes to remove. A change stays if the subscription was changed again since.
    ///   - renamed: The addresses that the server has normalized; `new` is empty for a rejected one.
    package func recordServerState(
        _ feeds: [ServerFeed], settled: [PendingSubscription] = [], renamed: [(old: String, new: String)] = []
    ) throws {
        try write { db in
            for feed in feeds { try Self.record(feed, db) }
            for change in settled { try Self.removePending(change, db) }
            for (old, new) in renamed where old != new {
                guard
                    let row = try Row.fetchOne(db, "SELECT subscribed, podcast FROM sync_feed WHERE url = ?", [old])
                else { continue }
                try db.run("DELETE FROM sync_feed WHERE url = ?", [old])
                if !new.isEmpty { try Self.record(ServerFeed(url: new, subscribed: row[0], podcast: row[1]), db) }
            }
        }
    }

    /// Whether the server lists a show under an address other than `url`.
    package func serverHas(_ podcast: ShowID, elsewhereThan url: String) throws -> Bool {
        try value(
            "SELECT EXISTS (SELECT 1 FROM sync_feed WHERE podcast = ? AND subscribed = 1 AND url <> ?)",
            [podcast, url]) ?? false
    }

    /// Records the timestamp for the next request. Call it after all changes of the response have been applied.
    package func recordSubscriptions(since: Int64) throws {
        try execute("UPDATE sync_account SET subscriptions_since = ?", [since])
    }

    /// Records that a show was subscribed because the server lists it: the subscription need not be sent.
    package func recordArrival(of podcast: ShowID, from url: String) throws {
        try write { db in try Self.recordArrival(of: podcast, from: url, db) }
    }

    /// Implements `recordArrival(of:from:)`, inside a transaction.
    static func recordArrival(of podcast: ShowID, from url: String, _ db: Database) throws {
        try record(ServerFeed(url: url, subscribed: true, podcast: podcast), db)
        try db.run("DELETE FROM sync_subscription WHERE podcast = ? AND subscribed = 1", [podcast])
    }

    /// Marks changes as sent. Call it before the request, since the server may accept them even if the response
    /// is lost.
    package func markSent(_ changes: [PendingSubscription]) throws {
        try write { db in
            for change in changes {
                // The serial number is not compared: the request will contain the change even if it has been
                // reversed since.
                try db.run("UPDATE sync_subscription SET sent = ? WHERE url = ?", [change.subscribed, change.url])
            }
        }
    }

    /// Unsubscribes a show that another device has unsubscribed. Its rows and cached bytes are retained for a while,
    /// like those of a search result, so that the show can return unchanged. Its downloads are removed.
    package func remove(podcast: ShowID, fromServer url: String, now: Int64) throws {
        try write { db in
            try SyncSQL.applying(db) {
                try db.run(
                    "UPDATE podcast SET ephemeral = 1, created = ?, changed = ? WHERE id = ? AND ephemeral = 0",
                    [now, now, podcast])
                if db.changesCount > 0 {
                    try db.run("INSERT OR REPLACE INTO sync_removed (podcast, at) VALUES (?, ?)", [podcast, now])
                }
            }
            try db.run(
                """
                DELETE FROM download WHERE episode IN (SELECT id FROM episode WHERE podcast = ?)
                """, [podcast])
            try Self.record(ServerFeed(url: url, subscribed: false, podcast: podcast), db)
            try Self.recordEmptied(db)
        }
    }

    /// Restores the show with one of these addresses that another device had unsubscribed, and makes it due for a
    /// refresh. If its name is taken now, the folder gets a number.
    ///
    /// - Returns: The show and its folder's name; `nil` if no device has unsubscribed such a show.
    package func restore(
        _ urls: [String], fromServer url: String, now: Int64
    ) throws -> (podcast: ShowID, name: String)? {
        try write { db in
            let row = try urls.compactMap { url in
                try Row.fetchOne(
                    db,
                    """
                    SELECT p.id, p.name FROM podcast p JOIN sync_removed r ON r.podcast = p.id
                    WHERE p.url = ?1 OR p.id IN (SELECT podcast FROM sync_feed WHERE url = ?1)
                    """, [url])
            }.first
            guard let row else { return nil }
            let podcast: ShowID = row[0]
            var names = UniqueNames(taken: UniqueNames.reservedInRoot)
            let folder = try names.claim(row[1]) { try Self.isTaken($0, db) }
            try SyncSQL.applying(db) {
                try db.run(
                    """
                    UPDATE podcast SET name = ?, folded = ?, ephemeral = 0, changed = ?, next_refresh = ? WHERE id = ?
                    """, [folder, FileName.folded(folder), now, now, podcast])
            }
            try Self.record(ServerFeed(url: url, subscribed: true, podcast: podcast), db)
            return (podcast, folder)
        }
    }

    /// Lets `purgeEphemeral(before:)` remove shows that other devices unsubscribed before this time.
    package func pruneRemoved(before: Int64) throws { try execute("DELETE FROM sync_removed WHERE at < ?", [before]) }

    private static func record(_ feed: ServerFeed, _ db: Database) throws {
        try db.run(
            """
            INSERT INTO sync_feed (url, subscribed, podcast) VALUES (?, ?, ?)
            ON CONFLICT (url) DO UPDATE SET
                subscribed = excluded.subscribed, podcast = coalesce(excluded.podcast, podcast)
            """, [feed.url, feed.subscribed, feed.podcast])
    }

    private static func removePending(_ change: PendingSubscription, _ db: Database) throws {
        try db.run("DELETE FROM sync_subscription WHERE url = ? AND serial = ?", [change.url, change.serial])
        // If the subscription was changed again since, a row of the address remains. The server has responded, so no
        // request that contains the address is in progress.
        try db.run("UPDATE sync_subscription SET sent = NULL WHERE url = ?", [change.url])
    }
}
