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
