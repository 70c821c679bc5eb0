import GRDB
package import TransferCore

/// The version of an episode's file in `Tagged` that programs see: a tag made by podfs, and the audio behind it.
package struct TaggedFile: Sendable, Equatable {
    /// The facts that determine the bytes of the file.
    package struct Content: Sendable, Equatable {
        /// The generation of the audio's rendition.
        package var rendition: Int
        /// The size of the tag in bytes; 0 for a file that is not MP3, which stays as it is.
        package var tagSize: Int64
        /// A hash of the tag.
        package var fingerprint: Int64
        /// The size in bytes of the tags at the start of the original, which the new one replaces.
        package var skipped: Int64
        /// The size in bytes of the original; `nil` if no server has confirmed it.
        package var total: Int64?

        package init(rendition: Int, tagSize: Int64, fingerprint: Int64, skipped: Int64, total: Int64?) {
            self.rendition = rendition
            self.tagSize = tagSize
            self.fingerprint = fingerprint
            self.skipped = skipped
            self.total = total
        }

        /// The size of the file in bytes.
        package var size: Int64? { total.map { tagSize + max(0, $0 - skipped) } }
    }

    /// The number of the version, from 0; never decreases.
    package var generation: Int
    package var content: Content
}

extension Schema {
    /// Creates the table of the files in `Tagged`, and reserves the folder's name. A show of this name keeps its path.
    static func addTagged(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE tagged (
                    episode INTEGER PRIMARY KEY REFERENCES episode ON DELETE CASCADE,
                    generation INTEGER NOT NULL,
                    rendition INTEGER NOT NULL,
                    tag_size INTEGER NOT NULL,
                    fingerprint INTEGER NOT NULL,
                    skipped INTEGER NOT NULL,
                    total INTEGER
                ) STRICT
                """)
        // `itunes:block` was not read before, and alternates had no files: each feed is fetched whole once more.
        try db.execute(sql: "UPDATE podcast SET etag = NULL, last_modified = NULL")
        var names = UniqueNames(taken: [])
        let name = try names.claim("Tagged") { try Library.isTaken($0, db) }
        try db.execute(
            sql: "INSERT INTO root_folder (role, name, folded) VALUES ('tagged', ?, ?)",
            arguments: [name, FileName.folded(name)])
    }
}

extension Library {
    /// Returns the name of the folder of tagged files in the root.
    package func taggedFolder() throws -> String {
        try query { db in
            try String.fetchOne(db.cachedStatement(sql: "SELECT name FROM root_folder WHERE role = 'tagged'"))
                ?? "Tagged"
        }
    }

    /// Returns the version of an episode's tagged file; `nil` if it was never opened.
    package func taggedFile(of episode: EpisodeID) throws -> TaggedFile? {
        try query { db in try Self.taggedFiles(db, "t.episode = ?", [episode])[episode] }
    }

    /// Returns the versions of the tagged files of a show's episodes.
    package func taggedFiles(of show: ShowID) throws -> [EpisodeID: TaggedFile] {
        try query { db in
            try Self.taggedFiles(db, "t.episode IN (SELECT id FROM episode WHERE podcast = ?)", [show])
        }
    }

    /// Records what a tagged file contains. Other content than before is a new version.
    ///
    /// - Returns: The number of the version.
    package func setTaggedFile(_ content: TaggedFile.Content, of episode: EpisodeID) throws -> Int {
        try write { db in
            let known = try Self.taggedFiles(db, "t.episode = ?", [episode])[episode]
            var content = content
            // A later open may know the size, or a server may no longer tell it.
            content.total =
                content.total ?? known.flatMap { $0.content.rendition == content.rendition ? $0.content.total : nil }
            if let known, known.content == content { return known.generation }
            var comparable = known?.content
            comparable?.total = content.total
            let generation = known.map { comparable == content ? $0.generation : $0.generation + 1 } ?? 0
            try db.cachedStatement(
                sql: """
                    INSERT OR REPLACE INTO tagged
                    (episode, generation, rendition, tag_size, fingerprint, skipped, total) VALUES (?, ?, ?, ?, ?, ?, ?)
                    """
            ).execute(arguments: [
                episode, generation, content.rendition, content.tagSize, content.fingerprint, content.skipped,
                content.total,
            ])
            return generation
        }
    }

    private static func taggedFiles(
        _ db: Database, _ condition: String, _ arguments: StatementArguments
    ) throws -> [EpisodeID: TaggedFile] {
        let statement = try db.cachedStatement(
            sql: """
                SELECT t.episode, t.generation, t.rendition, t.tag_size, t.fingerprint, t.skipped, t.total
                FROM tagged t WHERE \(condition)
                """)
        let rows = try Row.fetchCursor(statement, arguments: arguments)
        var files: [EpisodeID: TaggedFile] = [:]
        while let row = try rows.next() {
            let id: EpisodeID = row[0]
            files[id] = TaggedFile(
                generation: row[1],
                content: TaggedFile.Content(
                    rendition: row[2], tagSize: row[bytes: 3] ?? 0, fingerprint: row.bits(4),
                    skipped: row[bytes: 5] ?? 0, total: row[bytes: 6]))
        }
        return files
    }
}
