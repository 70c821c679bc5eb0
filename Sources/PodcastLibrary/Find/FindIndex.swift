import GRDB
internal import Glibc
package import PodcastProtocol
import Synchronization

/// The search index for reading. It finds episodes by the words of their titles, notes and transcripts, without the
/// network.
///
/// The daemon writes the index (`FindIndexWriter`) and may replace the file. Without a file, nothing is found.
/// Thread-safe.
package final class FindIndex: Sendable {
    package let path: String
    private let opened = Mutex<(device: UInt, inode: UInt, connections: ReaderConnections)?>(nil)

    /// The maximum number of matches that are ranked, and the maximum number of those that are ranked in addition
    /// because the title matches.
    private static let maxRanked = 2_000

    package init(path: String) { self.path = path }

    /// Returns the ids of the episodes that match a term, the best first: BM25, by which rare words count more than
    /// common ones, and words of the title more than those of notes and transcripts. Of equal matches, the one indexed
    /// last comes first. Some may have been removed from the library.
    ///
    /// Of more than `maxRanked` matches, those indexed last are ranked, and those with a matching title.
    package func episodes(matching term: FindTerm) throws -> [EpisodeID] {
        try read(orEmpty: []) { db in
            var found = try Self.matches(of: term.all, limit: Self.maxRanked, db)
            if found.count == Self.maxRanked {
                found += try Self.matches(of: "{title} : (\(term.all))", limit: 1_000, db)
            }
            found.sort { $0.score != $1.score ? $0.score < $1.score : $0.document > $1.document }
            var seen: Set<EpisodeID> = []
            return found.lazy.map(\.episode).filter { seen.insert($0).inserted }
        }
    }

    /// Returns the number of indexed episodes.
    package func count() throws -> Int {
        try read(orEmpty: 0) { db in try Int.fetchOne(db, "SELECT count(*) FROM document") ?? 0 }
    }

    private static func matches(
        of expression: String, limit: Int, _ db: Database
    ) throws -> [(episode: EpisodeID, document: Int64, score: Double)] {
        try Row.fetchCursor(db, FindSchema.matches, [expression, limit]).mapAll { ($0[0], $0[1], $0[2] ?? 0) }
    }

    /// Calls `body` with a connection; returns `empty` if there is no index, or one of another version.
    private func read<Value>(orEmpty empty: Value, _ body: (Database) throws -> Value) throws -> Value {
        guard let connections = connections() else { return empty }
        return try LibraryError.translating(path) {
            try connections.use { connection in
                try connection.read { db in
                    guard try Int.fetchOne(db, "PRAGMA user_version") == FindSchema.version else { return empty }
                    return try body(db)
                }
            }
        }
    }

    /// Returns the connections to the current file; `nil` if there is none.
    private func connections() -> ReaderConnections? {
        var status = stat()
        guard stat(path, &status) == 0, status.st_size > 0 else { return nil }
        return opened.withLock { opened in
            if let opened, opened.device == status.st_dev, opened.inode == status.st_ino {
                return opened.connections
            }
            let connections = ReaderConnections(path: path, configuration: Self.configuration(readOnly: true))
            opened = (status.st_dev, status.st_ino, connections)
            return connections
        }
    }

    static func configuration(readOnly: Bool) -> Configuration {
        var configuration = Configuration()
        configuration.readonly = readOnly
        configuration.busyMode = .timeout(10)
        configuration.label = "find"
        if !readOnly {
            configuration.journalMode = .wal
            configuration.prepareDatabase { db in try db.execute(sql: "PRAGMA synchronous = NORMAL") }
        }
        return configuration
    }
}

/// The tables of the search index, a database of its own in the cache: it can be computed again from the library and
/// the cached transcripts. So the library's transactions do not wait for it, and its backups do not contain it.
enum FindSchema {
    /// The version of the tables, stored in `PRAGMA user_version`. An index of another version is replaced.
    static let version = 3

    /// The weight of a match in a title, in notes, in a transcript and in the show's title. BM25 counts a frequent word
    /// hardly more than one that occurs ten times, so that of a title must be high for a word in it to count more than
    /// many in the notes. The show's title distinguishes none of its episodes, so the newest of those that match only
    /// by it come first.
    private static let weights = "50.0, 2.0, 1.0, 0.0"

    /// `text` is contentless: it stores words and their positions, but no text, since the library and the transcripts
    /// have the text. SQLite deletes a row of such a table only if it is given the old text. So the row of a changed
    /// or removed episode stays, and is found by no query, because `document` does not refer to it any more.
    static let tables = """
        CREATE TABLE document (
            id INTEGER PRIMARY KEY AUTOINCREMENT,   -- the row in `text`
            episode INTEGER NOT NULL UNIQUE,
            podcast INTEGER NOT NULL,
            changed INTEGER NOT NULL,               -- that of the episode's row in the library
            transcript INTEGER NOT NULL,            -- identifies the transcript's file; 0 for none
            digest INTEGER NOT NULL                 -- of the text
        ) STRICT;
        CREATE INDEX document_podcast ON document (podcast);
        CREATE INDEX document_transcript ON document (episode, transcript) WHERE transcript <> 0;
        CREATE TABLE show (                         -- the shows whose episodes are all indexed
            podcast INTEGER PRIMARY KEY,
            contents TEXT,                          -- see `FindShow`
            title TEXT NOT NULL
        ) STRICT;
        CREATE VIRTUAL TABLE text USING fts5(
            title, notes, transcript, show, content = '', tokenize = 'unicode61 remove_diacritics 2'
        );
        PRAGMA user_version = \(version);
        """

    /// The best of the matches with the highest rows in `text`. `bm25` takes a microsecond or more for each match, and
    /// common words occur in most episodes.
    static let matches = """
        SELECT d.episode, d.id, bm25(text, \(weights)) FROM text CROSS JOIN document d ON d.id = text.rowid
        WHERE text MATCH ? ORDER BY text.rowid DESC LIMIT ?
        """
}
