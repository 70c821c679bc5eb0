import GRDB
package import Platform
package import PodcastProtocol

/// The data of a show that determine its next refresh.
package struct RefreshRecord: Sendable, Equatable {
    /// The number of consecutive failed refreshes.
    package var failures: Int = 0
    /// The interval in seconds that the feed asks for.
    package var updateInterval: Int64?
    /// The times at which the feed asks not to be fetched.
    package var quietTimes = QuietTimes()
    /// Earlier addresses of the feed, and rejected new ones.
    package var formerAddresses: [String] = []
    /// The publication times of the newest hundred dated episodes, newest first.
    package var published: [Int64] = []
}

/// The data of a show needed for a refresh request. Omits the values that only listings need, since these require
/// counting the episodes of each show.
package struct RefreshSubject: Sendable, Equatable {
    package var id: ShowID
    /// The folder's name.
    package var name: String
    /// The feed's address.
    package var url: String
    package var etag: String?
    package var lastModified: String?
    /// The time of the last successful refresh.
    package var lastRefresh: Int64?
    /// The interval in seconds requested by the feed's last document.
    package var updateInterval: Int64?
    package var quietTimes: QuietTimes
    /// The show's own settings, as text.
    package var settings: [String: String] = [:]
    package var access: ShowAccess
}

/// A feed that has not changed since its last refresh, with the server's response (304).
package typealias UnchangedFeed = (podcast: ShowID, response: FeedResponse)

extension Library {
    // MARK: - Before the request

    /// Returns all subscribed shows, sorted by name.
    package func refreshSubjects() throws -> [RefreshSubject] {
        try all(where: "p.ephemeral = 0 ORDER BY p.folded, p.name")
    }

    /// Returns the show with this id. A show that is only a search result is returned only if `evenFound` is true.
    package func refreshSubject(of podcast: ShowID, evenFound: Bool = false) throws -> RefreshSubject? {
        try first(where: "p.id = ? AND p.ephemeral <= ?", [podcast, evenFound])
    }

    /// Returns the subscribed shows due at `now`, those never scheduled first, then the most overdue.
    package func refreshSubjects(dueAt now: Int64) throws -> [RefreshSubject] {
        try all(
            where: """
                p.ephemeral = 0 AND p.state <> 'gone' AND coalesce(p.next_refresh, 0) <= ?
                ORDER BY coalesce(p.next_refresh, 0), p.id
                """, [now])
    }

    /// Removes the validators of a show's feed, so that the next refresh fetches it completely.
    package func clearValidators(of podcast: ShowID) throws {
        try execute("UPDATE podcast SET etag = NULL, last_modified = NULL WHERE id = ?", [podcast])
    }

    /// Returns the last recorded value of the configuration's `keep`, encoded as a number by the caller.
    package func recordedKeep() throws -> Int64? { try value("SELECT value FROM counter WHERE name = 'keep'") }

    /// Records the configuration's `keep`; see `recordedKeep`.
    package func record(keep code: Int64) throws {
        try execute("INSERT OR REPLACE INTO counter (name, value) VALUES ('keep', ?)", [code])
    }

    // MARK: - After the response

    /// Records unchanged feeds (304), in one transaction. A validator that the response omits stays.
    ///
    /// - Returns: The shows that are no longer in the library; nothing is recorded for them.
    package func recordUnchanged(_ feeds: [UnchangedFeed], now: Int64) throws -> Set<ShowID> {
        try write { db in
            var missing: Set<ShowID> = []
            for feed in feeds {
                try PodcastSQL.recordSuccess(feed.response, of: feed.podcast, now: now, db)
                if db.changesCount == 0 { missing.insert(feed.podcast) }
            }
            let shows = Set(feeds.map(\.podcast))
            for (show, trouble) in try Self.troubles(db) where shows.contains(show) {
                var record = trouble
                record.observe(.unchanged, at: now)
                if record != trouble { try Self.set(record, of: show, now: now, db) }
            }
            return missing
        }
    }

    /// Returns the publication times of the newest hundred dated episodes of each show, newest first.
    package func published(of podcasts: [ShowID]) throws -> [[Int64]] {
        try read { db in try podcasts.map { try Self.published(of: $0, db) } }
    }

    private static func published(of podcast: ShowID, _ db: Database) throws -> [Int64] {
        try Row.fetchCursor(
            db,
            """
            SELECT published FROM episode WHERE podcast = ? AND buried = 0 AND published IS NOT NULL
            ORDER BY moment DESC, id DESC LIMIT 100
            """, [podcast]
        ).mapAll { $0[0] }
    }

    /// Returns the shows with automatic downloads that are not complete: outstanding, failed, or stopped after a part
    /// of the file. A download that a user has requested since is not automatic any more.
    package func podcastsFetchingAhead() throws -> Set<ShowID> {
        // CROSS JOIN, since SQLite would otherwise scan all episodes (https://www.sqlite.org/optoverview.html).
        try Set(
            values(
                """
                SELECT e.podcast FROM download d CROSS JOIN episode e ON e.id = d.episode
                WHERE e.automatic = 1
                UNION
                SELECT e.podcast FROM rendition r CROSS JOIN episode e ON e.id = r.episode
                WHERE r.complete = 0 AND e.automatic = 1
                """))
    }

    /// - Throws: `noSuchPodcast`.
    package func refreshRecord(of podcast: ShowID) throws -> RefreshRecord {
        try read { db in
            let row = try Row.fetchOne(
                db, "SELECT failures, update_interval, quiet_times FROM podcast WHERE id = ?", [podcast])
            guard let row else { throw LibraryError.noSuchPodcast(podcast) }
            return RefreshRecord(
                failures: row[0], updateInterval: row[1], quietTimes: QuietTimes(bits: row[2]),
                formerAddresses: try String.fetchAll(db, "SELECT url FROM address WHERE podcast = ?", [podcast]),
                published: try Self.published(of: podcast, db))
        }
    }

    /// Records an address that must not be accepted as a new address of the show's feed.
    package func store(address: String, of podcast: ShowID) throws {
        try execute("INSERT OR IGNORE INTO address (podcast, url) VALUES (?, ?)", [podcast, address])
    }

    /// Makes every show, and the sync account, due now if its last success lies more than an hour in the future, or its
    /// next attempt is later than any schedule permits. These times were set while the clock was ahead, and would
    /// otherwise stay until the clock reaches them. Uses one transaction.
    ///
    /// - Parameters:
    ///   - longestRefresh: The longest time until a show's next refresh.
    ///   - longestSync: The longest time until the next exchange with the sync server.
    package func clearFutureSchedules(now: Int64, longestRefresh: Duration, longestSync: Duration) throws {
        // An hour of tolerance, since a clock may be a little wrong.
        let latest = now + 3_600
        let isShow = "last_refresh > ?1 OR next_refresh > ?2"
        let isAccount = "last_sync > ?1 OR next_sync > ?2 OR held_until > ?2"
        let (latestRefresh, latestSync) = (latest + longestRefresh.seconds, latest + longestSync.seconds)
        // `min` of two values is NULL if one is: a show that was never refreshed still has no last refresh.
        try write { db in
            try db.run(
                "UPDATE podcast SET last_refresh = min(last_refresh, ?3), next_refresh = ?3 WHERE \(isShow)",
                [latest, latestRefresh, now])
            try db.run(
                "UPDATE podcast SET cover_due = ?2 WHERE cover_due > ?1", [latest + Self.coverPause.seconds, now])
            try db.run(
                """
                UPDATE sync_account SET last_sync = min(last_sync, ?3), held_until = NULL,
                    next_sync = CASE WHEN stopped THEN NULL ELSE ?3 END WHERE \(isAccount)
                """, [latest, latestSync, now])
        }
    }

    /// Returns the time at which the next show is due; `nil` if no show is refreshed.
    package func nextRefresh() throws -> Int64? {
        try row("SELECT min(coalesce(next_refresh, 0)) FROM podcast WHERE ephemeral = 0 AND state <> 'gone'") { $0[0] }
    }

    /// Returns the guids of a show's episodes, and the URLs of their main encodings.
    package func identities(of podcast: ShowID) throws -> [(guid: String?, url: String)] {
        try rows("SELECT guid, coalesce(main_url, url) FROM episode WHERE podcast = ? AND buried = 0", [podcast]) {
            ($0[0], $0[1])
        }
    }
}

extension RefreshSubject: StoredRow {
    static let columns = """
        p.id, p.name, p.url, p.etag, p.last_modified, p.last_refresh, p.update_interval, p.quiet_times, \
        nullif((SELECT json_group_object(s.key, s.value) FROM setting s WHERE s.podcast = p.id \
        AND s.key <> '\(PodcastSQL.credentialsKey)'), '{}'), \(ShowAccess.columns)
        """
    static let table = "podcast p"

    init(_ row: Row) {
        self.init(
            id: row[0], name: row[1], url: row[2], etag: row[3], lastModified: row[4], lastRefresh: row[5],
            updateInterval: row[6], quietTimes: QuietTimes(bits: row[7]),
            settings: StoredDetails.value(row[8], as: [String: String].self) ?? [:], access: ShowAccess(row, from: 9))
    }
}
