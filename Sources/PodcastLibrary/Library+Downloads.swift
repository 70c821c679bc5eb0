import GRDB

extension Library {
    /// All downloads that are outstanding or failed, oldest first.
    package func downloads() throws -> [Download] {
        try query { db in try Self.downloads(db, "1 ORDER BY id", []) }
    }

    package func download(id: Int64) throws -> Download? {
        try query { db in try Self.downloads(db, "id = ?", [id]).first }
    }

    package func download(of episode: Int64) throws -> Download? {
        try query { db in try Self.downloads(db, "episode = ?", [episode]).first }
    }

    /// Makes sure that an episode has a download, and that it has not failed. One that exists keeps its id, session and
    /// suspension.
    package func enqueue(episode: Int64, session: String, now: Int64) throws -> Download {
        try write { db in
            if let existing = try Self.downloads(db, "episode = ?", [episode]).first {
                guard existing.error != nil || existing.errorNumber != nil else { return existing }
                try db.cachedStatement(sql: "UPDATE download SET error = NULL, error_number = NULL WHERE id = ?")
                    .execute(arguments: [existing.id])
                var cleared = existing
                cleared.error = nil
                cleared.errorNumber = nil
                return cleared
            }
            let exists = try Bool.fetchOne(
                db.cachedStatement(sql: "SELECT 1 FROM episode WHERE id = ? AND buried = 0"), arguments: [episode])
            guard exists != nil else { throw LibraryError.noSuchEpisode(episode) }
            try db.cachedStatement(sql: "INSERT INTO download (episode, session, created) VALUES (?, ?, ?)")
                .execute(arguments: [episode, session, now])
            return Download(id: db.lastInsertedRowID, episode: episode, session: session, created: now)
        }
    }

    /// A user's suspension, which stays across restarts.
    package func setSuspended(download: Int64, _ suspended: Bool) throws {
        try write { db in
            try db.cachedStatement(sql: "UPDATE download SET suspended = ? WHERE id = ?")
                .execute(arguments: [suspended, download])
            guard db.changesCount > 0 else { throw LibraryError.noSuchDownload(download) }
        }
    }

    /// Writes down why a download gave up. It stays until it is enqueued anew or removed.
    package func fail(download: Int64, error: String, errorNumber: Int) throws {
        try write { db in
            try db.cachedStatement(sql: "UPDATE download SET error = ?, error_number = ? WHERE id = ?")
                .execute(arguments: [error, errorNumber, download])
            guard db.changesCount > 0 else { throw LibraryError.noSuchDownload(download) }
        }
    }

    /// Forgets a download that was cancelled. One that is not there is no error: it may have completed meanwhile.
    package func removeDownload(id: Int64) throws {
        try write { db in
            try db.cachedStatement(sql: "DELETE FROM download WHERE id = ?").execute(arguments: [id])
        }
    }

    private static func downloads(
        _ db: Database, _ condition: String, _ arguments: StatementArguments
    ) throws -> [Download] {
        let statement = try db.cachedStatement(
            sql: "SELECT id, episode, session, suspended, created, error, error_number FROM download WHERE " + condition
        )
        return try Row.fetchCursor(statement, arguments: arguments).mapAll { row in
            Download(
                id: row[0], episode: row[1], session: row[2], suspended: row[3], created: row[4], error: row[5],
                errorNumber: row[6])
        }
    }
}
