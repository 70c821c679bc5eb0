import GRDB

/// The tables of the library: `schema.sql`.
enum Schema {
    /// The version of the tables, stored in `PRAGMA user_version`, where readers of any version find it.
    static let version = 1

    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("\(version)") { db in
            try db.execute(sql: String(decoding: PackageResources.schema_sql, as: UTF8.self))
            try db.execute(sql: "PRAGMA user_version = \(version)")
        }
        return migrator
    }
}

extension Schema {
    /// Returns the schema version of a library file; 0 for a file that has no tables yet.
    ///
    /// GRDB's record of a migration and `user_version` are written in the same transaction. If they disagree, one of
    /// them is damaged, and other data in the same page may be damaged too.
    ///
    /// - Throws: `LibraryError`: `damaged`, `newerSchema`, or `failed` for the database of another program.
    static func found(in db: Database, of path: String) throws -> Int {
        let stated = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        let tables = try String.fetchSet(
            db, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
        if tables.isEmpty, stated == 0 { return 0 }
        let applied =
            tables.contains("grdb_migrations")
            ? try String.fetchSet(db, "SELECT identifier FROM grdb_migrations") : []
        // An earlier writer was killed before its first migration.
        if tables == ["grdb_migrations"], applied.isEmpty, stated == 0 { return 0 }
        guard tables.contains("podcast") || tables.contains("episode") else {
            throw LibraryError.failed(path: path, reason: "it is a database of another program")
        }
        let known = Set((1...version).map { "\($0)" })
        if stated > version, !applied.isSubset(of: known) {
            throw LibraryError.newerSchema(found: stated, known: version)
        }
        guard applied.isSubset(of: known), applied.count == stated else {
            throw LibraryError.damaged(
                path: path, reason: "its version is schema \(stated), but \(applied.count) migrations have been applied"
            )
        }
        return stated
    }

    /// The columns of all tables, as `TABLE.COLUMN`.
    private static func columns(_ db: Database) throws -> Set<String> {
        try String.fetchSet(
            db,
            """
            SELECT t.name || '.' || c.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c
            WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
            """)
    }

    /// Checks for two kinds of damage that opening the file does not detect. Damage to the SQL text that declares a
    /// table can make a column disappear. The small tables, which the daemon reads at start, can be damaged themselves.
    /// Takes a few milliseconds.
    static func checkTables(_ db: Database, of path: String) throws {
        // Makes SQLite read the schema a second time. Only then does it compare the text encoding in the file with the
        // one that it uses, so that an unknown encoding is detected here rather than at a later query.
        try db.execute(sql: "PRAGMA writable_schema = RESET")
        let missing = try model.get().read(columns).subtracting(columns(db))
        if let first = missing.min() { throw LibraryError.damaged(path: path, reason: "it has no column \(first)") }
        for table in smallTables {
            let result = try String.fetchAll(db, sql: "PRAGMA quick_check(\(table))")
            guard result == ["ok"] else {
                throw LibraryError.damaged(path: path, reason: result.first ?? "quick_check returned no result")
            }
        }
    }

    /// An empty library in memory, which defines the expected columns. It is never closed: closing a connection of GRDB
    /// makes libdispatch use a global queue, which wakes the process once a second from then on.
    private static let model = Result {
        let model = try DatabaseQueue()
        try migrator.migrate(model)
        return model
    }

    /// The tables of the episodes, and small ones that are read only when an episode is.
    static let largeTables = [
        "episode", "detail", "sync_episode", "view_episode", "view_title", "archive_folder", "archived",
    ]
    /// The tables that do not grow with the number of episodes in the feeds.
    static let smallTables = [
        "podcast", "rendition", "download", "setting", "event", "session", "counter", "address", "upload",
        "sync_account", "sync_removed", "view", "tag", "show_tag", "root_folder",
    ]
}
