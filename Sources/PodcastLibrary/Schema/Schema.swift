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
