import GRDB
package import PodcastFeed

/// The parts of an episode's text that match a term.
///
/// The index stores no text, so the text of a found episode is indexed once more, in memory. So the same tokenizer
/// decides what matches.
package struct FindExcerpts {
    private let term: FindTerm
    private let database: DatabaseQueue

    /// The lengths of an excerpt of notes and of a transcript in words.
    private static let notesLength = 16
    private static let spokenLength = 24

    /// - Parameter term: The term whose words the parts contain.
    package init(_ term: FindTerm) throws {
        self.term = term
        database = try DatabaseQueue()
        try database.write { db in
            try db.execute(
                sql: """
                    CREATE VIRTUAL TABLE notes USING fts5(text, tokenize = 'unicode61 remove_diacritics 2');
                    CREATE VIRTUAL TABLE cue USING fts5(
                        text,                       -- of one cue
                        both,                       -- of this cue and the next one, for phrases across both
                        tokenize = 'unicode61 remove_diacritics 2'
                    );
                    """)
        }
    }

    /// Returns the part of show notes that contains most of the term's words; `nil` if they contain none of them.
    package func notes(_ notes: String) throws -> String? {
        let text = NotesLines.lines(of: notes, limit: FindIndexWriter.maxNotes).joined(separator: " ")
        return try database.write { db in
            try db.run("DELETE FROM notes")
            try db.run("INSERT INTO notes (text) VALUES (?)", [FindText.separated(text)])
            return try String.fetchOne(
                db, "SELECT snippet(notes, 0, '', '', '…', \(Self.notesLength)) FROM notes WHERE notes MATCH ?",
                [term.any]
            ).map(FindText.joined)
        }
    }

    /// Returns the part of a transcript that contains most of the term's words and phrases, the first of several; `nil`
    /// if it contains none of them.
    package func spoken(_ cues: [SpokenCue]) throws -> SpokenCue? {
        if cues.isEmpty { return nil }
        let texts = cues.map { FindText.separated($0.text) }
        return try database.write { db in
            try db.run("DELETE FROM cue")
            let statement = try db.cachedStatement(sql: "INSERT INTO cue (rowid, text, both) VALUES (?, ?, ?)")
            for (index, text) in texts.enumerated() {
                let both = index + 1 < texts.count ? text + " " + texts[index + 1] : text
                try statement.execute(arguments: [index, text, both])
            }
            // The number of phrases in each cue and the next one, and then in the cue itself.
            var scores: [Int: Int] = [:]
            for phrase in term.expressions {
                for (column, weight) in [("both", 1_000), ("text", 1)] {
                    for cue in try Int.fetchAll(
                        db, "SELECT rowid FROM cue WHERE cue MATCH ?", ["\(column) : \(phrase)"])
                    {
                        scores[cue, default: 0] += weight
                    }
                }
            }
            guard let best = scores.max(by: { ($0.value, -$0.key) < ($1.value, -$1.key) })?.key else { return nil }
            let text = try String.fetchOne(
                db,
                """
                SELECT snippet(cue, 1, '', '', '…', \(Self.spokenLength)) FROM cue WHERE cue MATCH ? AND rowid = ?
                """, [term.any, best])
            var cue = cues[best]
            cue.text = FindText.joined(text ?? cue.text)
            return cue
        }
    }
}
