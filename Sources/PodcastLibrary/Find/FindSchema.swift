import GRDB

/// The tables of the search index, a database of its own in the cache: it can be computed again from the library and
/// the cached transcripts. So the library's transactions do not wait for it, and its backups do not contain it.
enum FindSchema {
    /// The version of the tables, stored in `PRAGMA user_version`. An index of another version is replaced.
    static let version = 1

    /// The weight of a match in a title, in notes and in a transcript. BM25 counts a frequent word hardly more than one
    /// that occurs ten times, so that of a title must be high for a word in it to count more than many in the notes.
    private static let weights = "50.0, 2.0, 1.0"

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
            episodes INTEGER NOT NULL,
            changed INTEGER NOT NULL                -- the sum over the episodes
        ) STRICT;
        CREATE VIRTUAL TABLE text USING fts5(
            title, notes, transcript, content = '', tokenize = 'unicode61 remove_diacritics 2'
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
