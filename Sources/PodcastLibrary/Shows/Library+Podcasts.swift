import GRDB
import Glibc
package import PodcastProtocol
package import Transfers

extension Library {
    // MARK: - Queries

    /// Returns the subscribed shows, sorted by name.
    package func podcasts() throws -> [Podcast] {
        try all(where: "p.ephemeral = 0 ORDER BY p.folded, p.name")
    }

    /// Returns the ids of the subscribed shows. Cheap, unlike `podcasts()`, which counts the episodes of all shows.
    package func podcastIDs() throws -> Set<ShowID> { try Set(values("SELECT id FROM podcast WHERE ephemeral = 0")) }

    /// Returns the folder entries of the subscribed shows, sorted by name.
    package func folders() throws -> [FolderEntry] {
        try all(where: "p.ephemeral = 0 ORDER BY p.folded, p.name")
    }

    /// Returns the folder entry of the subscribed show with exactly this folder name.
    package func folder(named name: String) throws -> FolderEntry? {
        try first(where: "p.folded = ? AND p.name = ? AND p.ephemeral = 0", [FileName.folded(name), name])
    }

    /// Returns the folder entry of any show, including ephemeral ones, which are stored without a subscription: search
    /// results, and shows that another device has unsubscribed.
    package func folder(id: ShowID) throws -> FolderEntry? { try first(where: "p.id = ?", [id]) }

    package func podcast(id: ShowID) throws -> Podcast? { try first(where: "p.id = ?", [id]) }

    /// Returns the totals of a show, from indexes alone.
    package func totals(of podcast: ShowID) throws -> ShowTotals? {
        try query { db in
            let show = try Row.fetchOne(
                db,
                """
                SELECT length(CAST(title AS BLOB)), changed, max(changed, coalesce((SELECT max(e.moment) FROM episode e
                    WHERE e.podcast = p.id AND e.buried = 0), 0))
                FROM podcast p WHERE id = ?
                """, [podcast])
            let episodes = try Row.fetchOne(
                db,
                """
                SELECT count(*), coalesce(sum(bytes), 0), max(changed), (SELECT max(changed) FROM episode
                    WHERE podcast = ?1 AND buried = \(EpisodeSQL.alternate))
                FROM episode WHERE podcast = ?1 AND buried = 0
                """, [podcast])
            guard let show, let episodes else { return nil }
            let changes: [Int64?] = [show[1], episodes[2], episodes[3]]
            return ShowTotals(
                episodes: episodes[0], bytes: show[0] + episodes[1], changed: changes.compactMap(\.self).max() ?? 0,
                newest: show[2])
        }
    }

    /// Returns the subscribed show with exactly this folder name.
    package func podcast(named name: String) throws -> Podcast? {
        try first(where: "p.folded = ? AND p.name = ? AND p.ephemeral = 0", [FileName.folded(name), name])
    }

    /// Returns the name of a subscribed show with one of these addresses.
    package func subscribedName(atAnyOf urls: [String]) throws -> String? {
        let marks = Array(repeating: "?", count: urls.count).joined(separator: ", ")
        return try value(
            "SELECT name FROM podcast WHERE url IN (\(marks)) AND ephemeral = 0 LIMIT 1", StatementArguments(urls))
    }

    /// Returns the show of this feed, subscribed or ephemeral.
    package func podcast(url: String) throws -> Podcast? { try first(where: "p.url = ?", [url]) }

    /// Returns the show's own settings, as text.
    package func settings(of podcast: ShowID) throws -> [String: String] {
        try query { db in try PodcastSQL.settings(db, of: podcast) }
    }

    // MARK: - Changes

    /// Records a failed refresh, and increments the count of failures.
    ///
    /// - Parameters:
    ///   - status: The HTTP status; `nil` without a response.
    ///   - isGone: Whether the feed is gone for good. It is then no longer refreshed on a schedule.
    ///   - sign: The meaning of the failure for the future of the feed.
    ///   - next: The time of the next attempt; `nil` for as soon as possible. Ignored if `isGone`.
    /// - Returns: The trouble if the server could not be reached for so long that it is to be announced now, which is
    ///   recorded. At any later time it may be this computer's network that is away.
    @discardableResult
    package func refreshFailed(
        podcast: ShowID, status: Int?, isGone: Bool = false, sign: FeedSign = .failed, error: String, next: Int64?,
        now: Int64
    ) throws -> FeedTrouble? {
        try write { db in
            let state = isGone ? Podcast.gone : Podcast.failed
            try db.run(
                """
                UPDATE podcast SET
                    changed = CASE WHEN state IS ?1 AND error IS ?2 AND http_status IS ?3 THEN changed ELSE ?5 END,
                    state = ?1, error = ?2, http_status = ?3, next_refresh = ?4, failures = failures + 1
                WHERE id = ?6
                """, [state, error, status, isGone ? nil : next, now, podcast])
            guard db.changesCount > 0 else { throw LibraryError.noSuchPodcast(podcast) }
            let old = try Self.troubles(db, where: "id = ?", [podcast]).first?.1 ?? FeedTroubleRecord()
            var trouble = old
            trouble.observe(sign, at: now)
            let announced = sign == .unreachable ? trouble.announce(at: now) : nil
            if trouble != old { try Self.set(trouble, of: podcast, now: now, db) }
            return announced
        }
    }

    /// Sets when a show is refreshed next, in seconds since 1970; `nil` for as soon as possible.
    package func setNextRefresh(podcast: ShowID, _ next: Int64?) throws {
        try execute(
            "UPDATE podcast SET next_refresh = ? WHERE id = ?", [next, podcast], orThrow: .noSuchPodcast(podcast))
    }

    /// Moves a show to a new feed address (301, 308, `itunes:new-feed-url`). Removes the validators, which apply only
    /// to the old address, and an unsubscribed search result that has the new address.
    ///
    /// - Parameter space: The address space of the new address: public, local network or loopback. A server chose the
    ///   address, so the most private space allowed for the feed becomes the more public one of `space` and the stored
    ///   one. With `nil` it stays.
    /// - Returns: The renditions of the search result, whose cache files are now unreferenced.
    /// - Throws: `alreadySubscribed` if another subscribed show has the new address; `noSuchPodcast`.
    package func move(podcast: ShowID, to url: String, space: AddressSpace? = nil, now: Int64) throws -> [Rendition] {
        try write { db in
            var renditions: [Rendition] = []
            if let other = try Row.fetchOne(
                db, "SELECT id, name, ephemeral FROM podcast WHERE url = ? AND id <> ?", [url, podcast])
            {
                guard other[2] else { throw LibraryError.alreadySubscribed(name: other[1]) }
                // A search result does not prevent the move.
                let id: ShowID = other[0]
                renditions = try Rendition.fetch(db, where: "e.podcast = ?", [id])
                try db.run("DELETE FROM podcast WHERE id = ?", [id])
            }
            try db.run(
                """
                UPDATE podcast SET etag = NULL, last_modified = NULL, changed = ?2, url = ?1,
                    reach = min(coalesce(reach, ?4), coalesce(?4, reach))
                WHERE id = ?3 AND url <> ?1
                """, [url, now, podcast, space?.rawValue])
            guard try db.changesCount > 0 || Self.podcastExists(podcast, db) else {
                throw LibraryError.noSuchPodcast(podcast)
            }
            return renditions
        }
    }

    /// Removes a show with its episodes and downloads.
    ///
    /// - Returns: The renditions whose cache files are now unreferenced.
    /// - Throws: `noSuchPodcast`.
    package func unsubscribe(podcast: ShowID) throws -> [Rendition] {
        try write { db in
            let renditions = try Rendition.fetch(db, where: "e.podcast = ?", [podcast])
            try db.run("DELETE FROM podcast WHERE id = ?", [podcast])
            guard db.changesCount > 0 else { throw LibraryError.noSuchPodcast(podcast) }
            try Self.recordEmptied(db)
            return renditions
        }
    }

    /// Whether a library without shows is empty because the last show was unsubscribed. If `false`, the library has
    /// lost its shows, or never had any. The value has no meaning while there are shows.
    package func wasEmptied() throws -> Bool { try value("SELECT value FROM counter WHERE name = 'emptied'") ?? false }

    /// Records whether no subscribed show is left, for `wasEmptied()`.
    static func recordEmptied(_ db: Database) throws {
        try db.execute(
            sql: """
                INSERT OR REPLACE INTO counter (name, value)
                VALUES ('emptied', NOT EXISTS (SELECT 1 FROM podcast WHERE ephemeral = 0))
                """)
    }

    /// Removes search results that were last found or renewed (`renew(found:now:)`) before this time. A show that
    /// another device has unsubscribed stays until `pruneRemoved(before:)` has removed its row from `sync_removed`.
    ///
    /// - Returns: The renditions whose cache files are now unreferenced.
    package func purgeEphemeral(before: Int64) throws -> [Rendition] {
        try write { db in
            let isExpired = "ephemeral = 1 AND created < ? AND id NOT IN (SELECT podcast FROM sync_removed)"
            let renditions = try Rendition.fetch(
                db, where: "e.podcast IN (SELECT id FROM podcast WHERE \(isExpired))", [before])
            try db.run("DELETE FROM podcast WHERE \(isExpired)", [before])
            return renditions
        }
    }

    /// Renames a show's folder.
    ///
    /// - Returns: The new name in Unicode NFC, as stored.
    /// - Throws: `invalidName`, `nameTaken`, `noSuchPodcast`.
    @discardableResult
    package func renamePodcast(id: ShowID, to name: String, now: Int64 = Int64(time(nil))) throws -> String {
        let name = FileName.normalized(name)
        try Self.validate(folder: name)
        try write { db in
            let folded = FileName.folded(name)
            guard try !Self.isShow(folded, besides: id, db) && !Self.isOtherFolder(folded, db) else {
                throw LibraryError.nameTaken(name)
            }
            try PodcastSQL.rename(id, to: name, now: now, db)
            guard db.changesCount > 0 else { throw LibraryError.noSuchPodcast(id) }
        }
        return name
    }

    /// Sets one of the show's own settings, or removes it with `nil`. Keys and values are not validated here.
    ///
    /// `share` decides which episodes the generated feeds contain. Setting it counts as a change of the show, from
    /// which the mtime of these feeds is computed.
    ///
    /// - Throws: `noSuchPodcast`.
    package func set(podcast: ShowID, key: String, value: String?, now: Int64 = Int64(time(nil))) throws {
        try write { db in
            guard try Self.podcastExists(podcast, db) else { throw LibraryError.noSuchPodcast(podcast) }
            if let value {
                try db.run(
                    "INSERT OR REPLACE INTO setting (podcast, key, value) VALUES (?, ?, ?)", [podcast, key, value])
            } else {
                try db.run("DELETE FROM setting WHERE podcast = ? AND key = ?", [podcast, key])
            }
            if key == "share" { try db.run("UPDATE podcast SET changed = ? WHERE id = ?", [now, podcast]) }
        }
    }

    /// - Throws: `invalidName`.
    static func validate(folder name: String) throws {
        if let reason = FileName.objection(to: name) { throw LibraryError.invalidName(name, reason: reason) }
        if UniqueNames.reservedInRoot.contains(FileName.folded(name)) {
            throw LibraryError.invalidName(name, reason: "podfs reserves this name")
        }
    }

    static func podcastExists(_ id: ShowID, _ db: Database) throws -> Bool {
        try Bool.fetchOne(db, "SELECT 1 FROM podcast WHERE id = ?", [id]) ?? false
    }
}

/// SQL about shows and their settings.
enum PodcastSQL {
    /// Adds a show. An unsubscribed search result with the same address becomes the show.
    static func put(
        _ url: String, _ title: String, folder: String, ephemeral: Bool = false, now: Int64, _ db: Database
    ) throws -> ShowID {
        let id = try ShowID.fetchOne(
            db,
            """
            INSERT INTO podcast (name, folded, url, title, created, changed, ephemeral)
            VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6)
            ON CONFLICT (url) DO UPDATE SET name = ?1, folded = ?2, created = ?5, changed = ?5, ephemeral = ?6
            RETURNING id
            """, [folder, FileName.folded(folder), url, title, now, ephemeral])
        return id ?? 0
    }

    static func rename(_ podcast: ShowID, to name: String, now: Int64, _ db: Database) throws {
        try db.run(
            "UPDATE podcast SET name = ?, folded = ?, changed = ? WHERE id = ?",
            [name, FileName.folded(name), now, podcast])
    }

    /// Records a successful refresh. Validators that the response omits stay. Those of a delta, a response with only
    /// the new items (RFC 3229), are not recorded, so that the next request again asks for the items that are new since
    /// the last whole document.
    ///
    /// - Parameter isChanged: Whether users see a change.
    static func recordSuccess(
        _ response: FeedResponse, of podcast: ShowID, isChanged: Bool = false, now: Int64, _ db: Database
    ) throws {
        try db.run(
            """
            UPDATE podcast SET
                changed = iif(?1 OR state <> 'active', ?2, changed), state = 'active', error = NULL, failures = 0,
                http_status = ?3, last_refresh = ?2, final_url = ?4, space = coalesce(?5, space),
                reach = coalesce(reach, ?6), etag = coalesce(?7, etag), last_modified = coalesce(?8, last_modified),
                next_refresh = iif(?9, coalesce(?10, next_refresh), ?10)
            WHERE id = ?11
            """,
            [
                isChanged, now, response.status, response.finalURL, response.space?.rawValue,
                response.reach?.rawValue, response.isDelta ? nil : response.etag,
                response.isDelta ? nil : response.lastModified, response.isDelta, response.nextRefresh, podcast,
            ])
    }

    static func settings(_ db: Database, of podcast: ShowID) throws -> [String: String] {
        try Row.fetchCursor(
            db, "SELECT key, value FROM setting WHERE podcast = ? AND key <> ?", [podcast, credentialsKey]
        ).dictionary { ($0[0], $0[1]) }
    }

    /// A key for internal use in the table of settings: users cannot set it, and `settings(of:)` omits it.
    static let credentialsKey = "credentials"
    static let hasCredentials = """
        EXISTS (SELECT 1 FROM setting s WHERE s.podcast = p.id AND s.key = '\(credentialsKey)')
        """
}

extension Podcast: StoredRow {
    static let columns = """
        p.id, p.name, p.url, p.title, p.link, p.description, p.language, p.image, p.author, p.guid, p.type, \
        p.explicit, p.state, p.error, p.http_status, p.etag, p.last_modified, p.final_url, p.content_type, \
        p.last_refresh, p.next_refresh, p.created, p.changed, p.ephemeral, \
        (SELECT count(*) FROM episode e WHERE e.podcast = p.id AND e.buried = 0), \
        (SELECT count(*) FROM rendition r WHERE r.podcast = p.id AND r.complete = 1 \
        AND NOT EXISTS (SELECT 1 FROM alternate a WHERE a.medium = r.episode)), \(PodcastSQL.hasCredentials), \
        p.unplayable, p.trouble, p.trouble_due, p.cover, p.cover_due
        """
    static let table = "podcast p"

    init(_ row: Row) {
        self.init(
            id: row[0], name: row[1], url: row[2], title: row[3], link: row[4], description: row[5], language: row[6],
            image: row[7], author: row[8], guid: row[9], type: row[10], explicit: row[11], state: row[12],
            error: row[13], httpStatus: row[14], etag: row[15], lastModified: row[16], finalURL: row[17],
            contentType: row[18], lastRefresh: row[19], nextRefresh: row[20], created: row[21], changed: row[22],
            ephemeral: row[23], episodes: row[24], cached: row[25], hasCredentials: row[26],
            unplayable: row[27], trouble: FeedTroubleRecord(row, from: 28), cover: row[30], coverDue: row[31])
    }
}

extension FolderEntry: StoredRow {
    static let columns = """
        p.id, p.name, p.changed, p.last_refresh, \
        (SELECT max(e.moment) FROM episode e WHERE e.podcast = p.id AND e.buried = 0)
        """
    static let table = "podcast p"

    init(_ row: Row) {
        self.init(id: row[0], name: row[1], changed: row[2], lastRefresh: row[3], newest: row[4])
    }
}
