import GRDB
package import Platform
internal import PodcastFeed
package import PodcastProtocol
internal import Transfers

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
package struct UnchangedFeed: Sendable, Equatable {
    package var podcast: ShowID
    package var response: FeedResponse

    package init(podcast: ShowID, response: FeedResponse) {
        self.podcast = podcast
        self.response = response
    }
}

extension Library {
    // MARK: - Before the request

    /// Returns all subscribed shows, sorted by name.
    package func refreshSubjects() throws -> [RefreshSubject] {
        try subjects("p.ephemeral = 0 ORDER BY p.folded, p.name", [], settingsOf: nil)
    }

    /// Returns the show with this id. A show that is only a search result is returned only if `evenFound` is true.
    package func refreshSubject(of podcast: ShowID, evenFound: Bool = false) throws -> RefreshSubject? {
        try subjects("p.id = ? AND p.ephemeral <= ?", [podcast, evenFound], settingsOf: podcast).first
    }

    /// Returns the subscribed shows due at `now`, those never scheduled first, then the most overdue.
    package func refreshSubjects(dueAt now: Int64) throws -> [RefreshSubject] {
        try subjects(
            """
            p.ephemeral = 0 AND p.state <> 'gone' AND coalesce(p.next_refresh, 0) <= ?
            ORDER BY coalesce(p.next_refresh, 0), p.id
            """, [now], settingsOf: nil)
    }

    /// - Parameter podcast: The only show for which settings are read; `nil` for all.
    private func subjects(
        _ condition: String, _ arguments: StatementArguments, settingsOf podcast: ShowID?
    ) throws -> [RefreshSubject] {
        try read { db in
            var found = try Row.fetchCursor(
                db,
                """
                SELECT p.id, p.name, p.url, p.etag, p.last_modified, p.last_refresh, p.update_interval,
                    p.quiet_times, \(ShowAccess.columns)
                FROM podcast p WHERE \(condition)
                """, arguments
            ).mapAll { row in
                RefreshSubject(
                    id: row[0], name: row[1], url: row[2], etag: row[3], lastModified: row[4], lastRefresh: row[5],
                    updateInterval: row[6], quietTimes: QuietTimes(bits: row[7]), access: ShowAccess(row, from: 8))
            }
            if found.isEmpty { return found }
            var settings: [ShowID: [String: String]] = [:]
            let isOne = podcast == nil ? "" : "podcast = ?2 AND"
            let rows = try Row.fetchCursor(
                db, "SELECT podcast, key, value FROM setting WHERE \(isOne) key <> ?1",
                podcast.map { [PodcastSQL.credentialsKey, $0] } ?? [PodcastSQL.credentialsKey])
            while let row = try rows.next() { settings[row[0], default: [:]][row[1]] = row[2] }
            if settings.isEmpty { return found }
            for index in found.indices { found[index].settings = settings[found[index].id] ?? [:] }
            return found
        }
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
            let statement = try db.cachedStatement(
                sql: """
                    UPDATE podcast SET
                        changed = CASE WHEN state = 'active' THEN changed ELSE ?1 END,
                        state = 'active', error = NULL, http_status = ?2, etag = coalesce(?3, etag),
                        last_modified = coalesce(?4, last_modified), final_url = ?5, last_refresh = ?1,
                        next_refresh = ?6, failures = 0, space = coalesce(?8, space), reach = coalesce(reach, ?9)
                    WHERE id = ?7
                    """)
            var missing: Set<ShowID> = []
            for feed in feeds {
                let response = feed.response
                try statement.execute(arguments: [
                    now, response.status, response.etag, response.lastModified, response.finalURL,
                    response.nextRefresh, feed.podcast, response.space?.rawValue, response.reach?.rawValue,
                ])
                if db.changesCount == 0 { missing.insert(feed.podcast) }
            }
            try Self.recordUnchanged(Set(feeds.map(\.podcast)), now: now, db)
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
        try set(
            """
            SELECT e.podcast FROM download d CROSS JOIN episode e ON e.id = d.episode
            WHERE e.automatic = 1
            UNION
            SELECT e.podcast FROM rendition r CROSS JOIN episode e ON e.id = r.episode
            WHERE r.complete = 0 AND e.automatic = 1
            """)
    }

    /// - Throws: `noSuchPodcast`.
    package func refreshRecord(of podcast: ShowID) throws -> RefreshRecord {
        try read { db in
            let row = try Row.fetchOne(
                db, "SELECT failures, update_interval, quiet_times FROM podcast WHERE id = ?", [podcast])
            guard let row else { throw LibraryError.noSuchPodcast(podcast) }
            var record = RefreshRecord(failures: row[0], updateInterval: row[1])
            record.quietTimes = QuietTimes(bits: row[2])
            record.formerAddresses = try String.fetchAll(db, "SELECT url FROM address WHERE podcast = ?", [podcast])
            record.published = try Self.published(of: podcast, db)
            return record
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
        let isNeeded = try query { db in
            let hasShow = try Bool.fetchOne(
                db, "SELECT EXISTS (SELECT 1 FROM podcast WHERE \(isShow))", [latest, latestRefresh])
            let hasAccount = try Bool.fetchOne(
                db, "SELECT EXISTS (SELECT 1 FROM sync_account WHERE \(isAccount))", [latest, latestSync])
            let hasCover = try Bool.fetchOne(
                db, "SELECT EXISTS (SELECT 1 FROM podcast WHERE cover_due > ?1)", [latest + Self.coverPause.seconds])
            return hasShow ?? false || hasAccount ?? false || hasCover ?? false
        }
        guard isNeeded else { return }
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
        try query { db in
            try StoredNumber.fetchOne(
                db,
                """
                SELECT min(coalesce(next_refresh, 0)) FROM podcast WHERE ephemeral = 0 AND state <> 'gone'
                """)
        }
    }

    /// Returns the guids of a show's episodes, and the URLs of their main encodings.
    package func identities(of podcast: ShowID) throws -> [(guid: String?, url: String)] {
        try query { db in
            let rows = try Row.fetchCursor(
                db, "SELECT guid, coalesce(main_url, url) FROM episode WHERE podcast = ? AND buried = 0", [podcast])
            return try rows.mapAll { ($0[0], $0[1]) }
        }
    }
}
