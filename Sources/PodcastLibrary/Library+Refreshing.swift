import GRDB

/// What the next refresh of a show goes by, beside the show itself.
package struct RefreshRecord: Sendable, Equatable {
    /// Refreshes in a row that have failed.
    package var failures: Int
    /// Seconds between two looks that the feed asks for.
    package var updateInterval: Int64?
    /// Addresses that the show had before, or that were named as new and are none.
    package var formerAddresses: [String]
    /// When the newest hundred episodes came out.
    package var published: [Int64]

    package init(
        failures: Int = 0, updateInterval: Int64? = nil, formerAddresses: [String] = [], published: [Int64] = []
    ) {
        self.failures = failures
        self.updateInterval = updateInterval
        self.formerAddresses = formerAddresses
        self.published = published
    }
}

extension Library {
    package func refreshRecord(of podcast: Int64) throws -> RefreshRecord {
        try query { db in
            let row = try Row.fetchOne(
                db.cachedStatement(sql: "SELECT failures, update_interval FROM podcast WHERE id = ?"),
                arguments: [podcast])
            guard let row else { throw LibraryError.noSuchPodcast(podcast) }
            var record = RefreshRecord(failures: row[0], updateInterval: row[1])
            record.formerAddresses = try String.fetchAll(
                db.cachedStatement(sql: "SELECT url FROM address WHERE podcast = ?"), arguments: [podcast])
            record.published = try Int64.fetchAll(
                db.cachedStatement(
                    sql: """
                        SELECT published FROM episode WHERE podcast = ? AND buried = 0 AND published IS NOT NULL
                        ORDER BY moment DESC, id DESC LIMIT 100
                        """), arguments: [podcast])
            return record
        }
    }

    /// What the document of the last refresh asks for; counts the failures.
    package func noteRefresh(podcast: Int64, succeeded: Bool, updateInterval: Int64?? = nil) throws {
        try write { db in
            try db.cachedStatement(
                sql: "UPDATE podcast SET failures = CASE WHEN ? THEN 0 ELSE failures + 1 END WHERE id = ?"
            ).execute(arguments: [succeeded, podcast])
            if let updateInterval {
                try db.cachedStatement(sql: "UPDATE podcast SET update_interval = ? WHERE id = ?")
                    .execute(arguments: [updateInterval, podcast])
            }
        }
    }

    /// Remembers an address that is not to be taken for a new one of this show.
    package func remember(address: String, of podcast: Int64) throws {
        try write { db in
            try db.cachedStatement(sql: "INSERT OR IGNORE INTO address (podcast, url) VALUES (?, ?)")
                .execute(arguments: [podcast, address])
        }
    }

    /// When the next show is due; `nil` when there is none that is refreshed.
    package func nextRefresh() throws -> Int64? {
        try query { db in
            try Int64.fetchOne(
                db.cachedStatement(
                    sql: """
                        SELECT min(coalesce(next_refresh, 0)) FROM podcast WHERE ephemeral = 0 AND state <> 'gone'
                        """))
        }
    }

    /// The guids and media addresses of a show's episodes.
    package func identities(of podcast: Int64) throws -> [(guid: String?, url: String)] {
        try query { db in
            let rows = try Row.fetchCursor(
                db.cachedStatement(sql: "SELECT guid, url FROM episode WHERE podcast = ? AND buried = 0"),
                arguments: [podcast])
            return try rows.mapAll { ($0[0], $0[1]) }
        }
    }
}
