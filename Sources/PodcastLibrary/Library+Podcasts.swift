import GRDB
import Glibc
package import TransferCore

extension Library {
    // MARK: - Queries

    /// The subscribed shows by name.
    package func podcasts() throws -> [Podcast] {
        try query { db in
            let statement = try db.cachedStatement(
                sql: PodcastSQL.select + " WHERE p.ephemeral = 0 ORDER BY p.folded, p.name")
            return try Row.fetchCursor(statement).mapAll(PodcastSQL.podcast)
        }
    }

    /// The rows of the subscribed shows: without their facts, for which the episodes of all shows are counted.
    package func podcastIDs() throws -> Set<ShowID> {
        try query { db in
            try ShowID.fetchSet(db.cachedStatement(sql: "SELECT id FROM podcast WHERE ephemeral = 0"))
        }
    }

    /// The subscribed shows, with what a listing of the root folder needs, by name.
    package func folders() throws -> [FolderEntry] {
        try query { db in
            try PodcastSQL.folders(db, "p.ephemeral = 0 ORDER BY p.folded, p.name", [])
        }
    }

    /// What a lookup in the root folder needs of the subscribed show whose folder has exactly this name.
    package func folder(named name: String) throws -> FolderEntry? {
        try query { db in
            try PodcastSQL.folders(
                db, "p.folded = ? AND p.name = ? AND p.ephemeral = 0", [FileName.folded(name), name]
            ).first
        }
    }

    /// The same of any show, ephemeral ones included.
    package func folder(id: ShowID) throws -> FolderEntry? {
        try query { db in try PodcastSQL.folders(db, "p.id = ?", [id]).first }
    }

    package func podcast(id: ShowID) throws -> Podcast? {
        try query { db in try PodcastSQL.fetch(db, "p.id = ?", [id]) }
    }

    /// The subscribed show whose folder has exactly this name.
    package func podcast(named name: String) throws -> Podcast? {
        try query { db in
            try PodcastSQL.fetch(db, "p.folded = ? AND p.name = ? AND p.ephemeral = 0", [FileName.folded(name), name])
        }
    }

    /// The name of a subscribed show that has one of these addresses.
    package func subscribedName(atAnyOf urls: [String]) throws -> String? {
        try query { db in
            let marks = Array(repeating: "?", count: urls.count).joined(separator: ", ")
            return try String.fetchOne(
                db.cachedStatement(sql: "SELECT name FROM podcast WHERE url IN (\(marks)) AND ephemeral = 0 LIMIT 1"),
                arguments: StatementArguments(urls))
        }
    }

    /// The show of this feed, subscribed or ephemeral.
    package func podcast(url: String) throws -> Podcast? {
        try query { db in try PodcastSQL.fetch(db, "p.url = ?", [url]) }
    }

    /// What a user set for one show alone, as written.
    package func settings(of podcast: ShowID) throws -> [String: String] {
        try query { db in try PodcastSQL.settings(db, of: podcast) }
    }

    // MARK: - Changes

    /// Writes down that a refresh failed, and counts it. 410 means that the show is gone: it is not asked for again.
    ///
    /// - Parameters:
    ///   - status: the HTTP status, `nil` when no answer came.
    ///   - next: when to try again.
    package func refreshFailed(podcast: ShowID, status: Int?, error: String, next: Int64?, now: Int64) throws {
        try write { db in
            let state = status == 410 ? Podcast.gone : Podcast.failed
            try db.cachedStatement(
                sql: """
                    UPDATE podcast SET
                        changed = CASE WHEN state IS ?1 AND error IS ?2 AND http_status IS ?3 THEN changed ELSE ?5 END,
                        state = ?1, error = ?2, http_status = ?3, next_refresh = ?4, failures = failures + 1
                    WHERE id = ?6
                    """
            ).execute(arguments: [state, error, status, status == 410 ? nil : next, now, podcast])
            guard db.changesCount > 0 else { throw LibraryError.noSuchPodcast(podcast) }
        }
    }

    /// Writes down that the feed is as it was: a 304. Validators that the answer left out stay.
    package func notModified(podcast: ShowID, response: FeedResponse, now: Int64) throws {
        try write { db in
            try db.cachedStatement(
                sql: """
                    UPDATE podcast SET
                        changed = CASE WHEN state = 'active' THEN changed ELSE ?1 END,
                        state = 'active', error = NULL, http_status = ?2, etag = coalesce(?3, etag),
                        last_modified = coalesce(?4, last_modified), final_url = ?5, last_refresh = ?1,
                        next_refresh = ?6, space = coalesce(?8, space), reach = coalesce(reach, ?9)
                    WHERE id = ?7
                    """
            ).execute(arguments: [
                now, response.status, response.etag, response.lastModified, response.finalURL, response.nextRefresh,
                podcast, response.space?.rawValue, response.reach?.rawValue,
            ])
            guard db.changesCount > 0 else { throw LibraryError.noSuchPodcast(podcast) }
        }
    }

    package func setNextRefresh(podcast: ShowID, _ next: Int64?) throws {
        try write { db in
            try db.cachedStatement(sql: "UPDATE podcast SET next_refresh = ? WHERE id = ?")
                .execute(arguments: [next, podcast])
            guard db.changesCount > 0 else { throw LibraryError.noSuchPodcast(podcast) }
        }
    }

    /// Moves the subscription to another address (301, 308, `itunes:new-feed-url`). The validators of the old address
    /// say nothing about the new one and are forgotten.
    ///
    /// - Parameter space: of the address, which nobody but the server has given: it may be in no more private one later.
    /// - Throws: `alreadySubscribed` when another show has the address.
    package func move(podcast: ShowID, to url: String, space: AddressSpace? = nil, now: Int64) throws {
        try write { db in
            if let other = try Row.fetchOne(
                db, sql: "SELECT id, name, ephemeral FROM podcast WHERE url = ? AND id <> ?", arguments: [url, podcast])
            {
                guard other[2] else { throw LibraryError.alreadySubscribed(name: other[1]) }
                // A search result does not stand in the way of a subscription.
                let id: ShowID = other[0]
                try db.execute(sql: "DELETE FROM podcast WHERE id = ?", arguments: [id])
            }
            try db.execute(
                sql: """
                    UPDATE podcast SET etag = NULL, last_modified = NULL, changed = ?2, url = ?1,
                        reach = min(coalesce(reach, ?4), coalesce(?4, reach))
                    WHERE id = ?3 AND url <> ?1
                    """, arguments: [url, now, podcast, space?.rawValue])
            guard try db.changesCount > 0 || Self.podcastExists(podcast, db) else {
                throw LibraryError.noSuchPodcast(podcast)
            }
        }
    }

    /// Forgets a show with its episodes and downloads.
    ///
    /// - Returns: the renditions whose cache files have nobody any more.
    package func unsubscribe(podcast: ShowID) throws -> [Rendition] {
        try write { db in
            let renditions = try RenditionSQL.fetch(db, "e.podcast = ?", [podcast])
            try db.execute(sql: "DELETE FROM podcast WHERE id = ?", arguments: [podcast])
            guard db.changesCount > 0 else { throw LibraryError.noSuchPodcast(podcast) }
            try Self.noteEmptied(db)
            return renditions
        }
    }

    /// Whether the last show was unsubscribed from; else a library without shows has lost them, or never had any.
    package func wasEmptied() throws -> Bool {
        try query { db in
            try Bool.fetchOne(db, sql: "SELECT value FROM counter WHERE name = 'emptied'") ?? false
        }
    }

    static func noteEmptied(_ db: Database) throws {
        try db.execute(
            sql: """
                INSERT OR REPLACE INTO counter (name, value)
                VALUES ('emptied', NOT EXISTS (SELECT 1 FROM podcast WHERE ephemeral = 0))
                """)
    }

    /// Forgets search results that were last found before this time, but for shows that sync has taken out of the folder.
    ///
    /// - Returns: the renditions whose cache files have nobody any more.
    package func purgeEphemeral(before: Int64) throws -> [Rendition] {
        try write { db in
            let renditions = try RenditionSQL.fetch(
                db, "e.podcast IN (SELECT p.id FROM podcast p WHERE \(Self.isForgotten))", [before])
            try db.execute(
                sql: "DELETE FROM podcast WHERE id IN (SELECT p.id FROM podcast p WHERE \(Self.isForgotten))",
                arguments: [before])
            return renditions
        }
    }

    private static let isForgotten =
        "p.ephemeral = 1 AND p.created < ? AND p.id NOT IN (SELECT podcast FROM sync_removed)"

    /// Gives a show's folder another name.
    ///
    /// - Throws: `invalidName` or `nameTaken`.
    package func renamePodcast(id: ShowID, to name: String, now: Int64 = Int64(time(nil))) throws {
        let name = FileName.normalized(name)
        try Self.validate(folder: name)
        try write { db in
            let folded = FileName.folded(name)
            let taken = try Bool.fetchOne(
                db, sql: "SELECT 1 FROM podcast WHERE folded = ? AND ephemeral = 0 AND id <> ?",
                arguments: [folded, id])
            guard taken == nil else { throw LibraryError.nameTaken(name) }
            try db.execute(
                sql: "UPDATE podcast SET name = ?, folded = ?, changed = ? WHERE id = ?",
                arguments: [name, folded, now, id])
            guard db.changesCount > 0 else { throw LibraryError.noSuchPodcast(id) }
        }
    }

    /// Sets or, with `nil`, removes what a user set for one show alone. Keys and values are not judged here.
    package func set(podcast: ShowID, key: String, value: String?) throws {
        try write { db in
            guard try Self.podcastExists(podcast, db) else { throw LibraryError.noSuchPodcast(podcast) }
            if let value {
                try db.execute(
                    sql: "INSERT OR REPLACE INTO setting (podcast, key, value) VALUES (?, ?, ?)",
                    arguments: [podcast, key, value])
            } else {
                try db.execute(sql: "DELETE FROM setting WHERE podcast = ? AND key = ?", arguments: [podcast, key])
            }
        }
    }

    static func validate(folder name: String) throws {
        if let reason = FileName.objection(to: name) { throw LibraryError.invalidName(name, reason: reason) }
        if UniqueNames.reservedInRoot.contains(FileName.folded(name)) {
            throw LibraryError.invalidName(name, reason: "podfs has a file of this name")
        }
    }

    static func podcastExists(_ id: ShowID, _ db: Database) throws -> Bool {
        try Bool.fetchOne(db.cachedStatement(sql: "SELECT 1 FROM podcast WHERE id = ?"), arguments: [id]) ?? false
    }
}

/// Rows of `podcast` as values.
enum PodcastSQL {
    private static let columns = """
        p.id, p.name, p.url, p.title, p.link, p.description, p.language, p.image, p.author, p.guid, p.type, \
        p.explicit, p.state, p.error, p.http_status, p.etag, p.last_modified, p.final_url, p.content_type, \
        p.last_refresh, p.next_refresh, p.created, p.changed, p.ephemeral, \
        (SELECT count(*) FROM episode e WHERE e.podcast = p.id AND e.buried = 0), \
        (SELECT count(*) FROM rendition r WHERE r.podcast = p.id AND r.complete = 1), \(hasCredentials)
        """

    static func settings(_ db: Database, of podcast: ShowID) throws -> [String: String] {
        let rows = try Row.fetchCursor(
            db.cachedStatement(sql: "SELECT key, value FROM setting WHERE podcast = ? AND key <> ?"),
            arguments: [podcast, credentialsKey])
        var result: [String: String] = [:]
        while let row = try rows.next() { result[row[0]] = row[1] }
        return result
    }

    /// Stands among a show's settings, and is none that users set by name: `settings(of:)` leaves it out.
    static let credentialsKey = "credentials"
    static let hasCredentials = """
        EXISTS (SELECT 1 FROM setting s WHERE s.podcast = p.id AND s.key = '\(credentialsKey)')
        """

    static let select = "SELECT \(columns) FROM podcast p"

    static func fetch(_ db: Database, _ condition: String, _ arguments: StatementArguments) throws -> Podcast? {
        // Not `next().map`: the row is the statement's, which is reset as soon as the cursor goes.
        let statement = try db.cachedStatement(sql: select + " WHERE " + condition)
        return try Row.fetchCursor(statement, arguments: arguments).mapAll(podcast).first
    }

    private static let folder = """
        SELECT p.id, p.name, p.changed, p.last_refresh, \
        (SELECT max(e.moment) FROM episode e WHERE e.podcast = p.id AND e.buried = 0) FROM podcast p WHERE
        """

    static func folders(_ db: Database, _ condition: String, _ arguments: StatementArguments) throws -> [FolderEntry] {
        let statement = try db.cachedStatement(sql: folder + " " + condition)
        return try Row.fetchCursor(statement, arguments: arguments).mapAll { row in
            FolderEntry(id: row[0], name: row[1], changed: row[2], lastRefresh: row[3], newest: row[4])
        }
    }

    static func podcast(_ row: Row) -> Podcast {
        Podcast(
            id: row[0], name: row[1], url: row[2], title: row[3], link: row[4], description: row[5], language: row[6],
            image: row[7], author: row[8], guid: row[9], type: row[10], explicit: row[11], state: row[12],
            error: row[13], httpStatus: row[14], etag: row[15], lastModified: row[16], finalURL: row[17],
            contentType: row[18], lastRefresh: row[19], nextRefresh: row[20], created: row[21], changed: row[22],
            ephemeral: row[23], episodes: row[24], cached: row[25], hasCredentials: row[26])
    }
}

extension RowCursor {
    /// The rows as values. (`Array(cursor.map)` needs a closure that lives as long as the cursor.)
    func mapAll<Value>(_ transform: (Row) throws -> Value) throws -> [Value] {
        var values: [Value] = []
        while let row = try next() { values.append(try transform(row)) }
        return values
    }
}
