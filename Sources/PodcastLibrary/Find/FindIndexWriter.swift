import GRDB
internal import Glibc
internal import Platform
internal import PodcastFeed
internal import PodcastProtocol

/// The writer of the search index, of which there is one: the daemon.
///
/// `update` brings the index up to date in steps. Each step is a transaction, so the index can be searched at any time,
/// and a killed daemon has lost one step. The index records what it contains, so no event needs to reach it: an update
/// compares the index with the library and with the folder of transcripts.
package struct FindIndexWriter: Sendable {
    private let path: String
    private let database: DatabaseQueue
    private let inode: UInt
    private let transcripts: TranscriptFiles

    /// The time after which a step ends.
    private static let step = Duration.milliseconds(40)
    /// The maximum size of the notes of an episode in bytes; the rest is not indexed. A page of notes has less than a
    /// hundredth of it.
    package static let maxNotes = 1 << 18
    /// The value of `document.transcript` for a transcript in the archive, which does not change there.
    private static let archived: Int64 = 1

    /// Opens the index, and creates it if there is none. Replaces a damaged index, and one of another version or with
    /// many former texts.
    ///
    /// - Throws: `LibraryError`.
    package init(path: String, transcripts: TranscriptFiles) throws {
        self.path = path
        self.transcripts = transcripts
        var usable = try Self.openUsable(path)
        if usable == nil {
            for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) }
            usable = try Self.openUsable(path)
        }
        guard let usable else { throw LibraryError.failed(path: path, reason: "the index was not created") }
        database = usable
        inode = Self.inode(path)
    }

    /// Whether the file was removed or replaced since it was opened.
    package var isGone: Bool { Self.inode(path) != inode }

    private static func inode(_ path: String) -> UInt {
        var status = stat()
        return stat(path, &status) == 0 ? UInt(status.st_ino) : 0
    }

    /// Opens the index; `nil` if it is damaged, of another version, or has many rows of former texts.
    private static func openUsable(_ path: String) throws -> DatabaseQueue? {
        // Created here so that no other user can read it.
        let created = Glibc.open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        if created >= 0 { Glibc.close(created) }
        do {
            return try LibraryError.translating(path, isOpening: true) {
                let database = try DatabaseQueue(path: path, configuration: FindIndex.configuration(readOnly: false))
                let isUsable = try database.write { db in
                    let version = try Int.fetchOne(db, "PRAGMA user_version")
                    if version == 0 { try db.execute(sql: FindSchema.tables) }
                    guard version == 0 || version == FindSchema.version else { return false }
                    let all = try Int64.fetchOne(db, "SELECT seq FROM sqlite_sequence WHERE name = 'document'") ?? 0
                    let present = try Int64.fetchOne(db, "SELECT count(*) FROM document") ?? 0
                    // With more rows of former texts the index is replaced, unless it has more rows of present ones.
                    return all - present <= max(present, 10_000)
                }
                return isUsable ? database : nil
            }
        } catch LibraryError.damaged {
            return nil
        }
    }

    // MARK: - Updating

    /// An update that has begun.
    package struct Update {
        fileprivate let writer: FindIndexWriter
        fileprivate let library: Library
        /// The shows to compare with the library, and their episodes as the library has them.
        fileprivate var shows: [(id: ShowID, state: FindShow)]
        /// The episodes whose text may have changed.
        fileprivate var episodes: [EpisodeID]
        /// The show of `episodes`, which is recorded once they are indexed.
        fileprivate var show: (id: ShowID, state: FindShow)?

        /// Performs the next step.
        ///
        /// - Returns: Whether there is another one.
        package mutating func perform() throws -> Bool {
            if episodes.isEmpty {
                guard let next = shows.popLast() else { return false }
                try begin(next)
            }
            let writer = writer
            let start = SystemClock.monotonic.now
            try writer.write { db in
                while let id = episodes.last, SystemClock.monotonic.now - start < FindIndexWriter.step {
                    try writer.index(id, of: library, db)
                    episodes.removeLast()
                }
                guard episodes.isEmpty, let show else { return }
                try db.run(
                    "INSERT OR REPLACE INTO show (podcast, contents, title) VALUES (?, ?, ?)",
                    [show.id, show.state.contents, show.state.title])
                self.show = nil
            }
            return !episodes.isEmpty || !shows.isEmpty
        }

        /// Finds the episodes of a show whose rows have changed, and removes those that it does not list any more.
        private mutating func begin(_ next: (id: ShowID, state: FindShow)) throws {
            let changes = try library.findChanges(of: next.id)
            let (known, title) = try writer.write { db in
                let known: [EpisodeID: Int64] = try Row.fetchCursor(
                    db, "SELECT episode, changed FROM document WHERE podcast = ?", [next.id]
                ).dictionary { ($0[0], $0[1]) }
                for id in known.keys where changes[id] == nil {
                    try db.run("DELETE FROM document WHERE episode = ?", [id])
                }
                return (known, try String.fetchOne(db, "SELECT title FROM show WHERE podcast = ?", [next.id]))
            }
            let isRenamed = title.map { $0 != next.state.title } ?? false
            episodes = changes.filter { isRenamed || known[$0.key] != $0.value }.map(\.key).sorted(by: >)
            show = next
        }
    }

    /// Begins an update: finds the shows with changed, new or removed episodes, and the episodes whose transcripts have
    /// entered or left the cache.
    package func update(from library: Library) throws -> Update {
        let current = try library.findShows(now: now)
        let indexed: [ShowID: FindShow] = try read { db in
            try Row.fetchCursor(db, "SELECT podcast, title, contents FROM show").dictionary {
                ($0[0], FindShow(title: $0[1], contents: $0[2]))
            }
        }
        let removed = Set(
            try read { db in try ShowID.fetchAll(db, "SELECT DISTINCT podcast FROM document") } + indexed.keys
        ).subtracting(current.keys)
        if !removed.isEmpty {
            try write { db in
                for show in removed {
                    try db.run("DELETE FROM document WHERE podcast = ?", [show])
                    try db.run("DELETE FROM show WHERE podcast = ?", [show])
                }
            }
        }
        // The newest shows first, since a person who has just subscribed may search for them.
        let shows = current.filter { $0.value.contents == nil || indexed[$0.key] != $0.value }.sorted {
            $0.key < $1.key
        }
        return Update(
            writer: self, library: library, shows: shows.map { ($0.key, $0.value) }, episodes: try changedTranscripts())
    }

    /// Returns the episodes whose transcripts in the cache are not the indexed ones.
    private func changedTranscripts() throws -> [EpisodeID] {
        let cached = transcripts.identities()
        let indexed: [EpisodeID: Int64] = try read { db in
            try Row.fetchCursor(db, "SELECT episode, transcript FROM document WHERE transcript <> 0")
                .dictionary { ($0[0], $0.bits(1)) }
        }
        return Set(cached.filter { indexed[$0.key] != $0.value }.keys)
            .union(indexed.filter { $0.value != Self.archived && cached[$0.key] == nil }.keys).sorted(by: >)
    }

    /// Indexes an episode, unless its text is the indexed one; removes it if it cannot be found any more.
    private func index(_ id: EpisodeID, of library: Library, _ db: Database) throws {
        guard let episode = try library.findEpisode(id) else {
            return try db.run("DELETE FROM document WHERE episode = ?", [id])
        }
        // Read before the transcript, so that one that arrives meanwhile is found by the next update.
        let cached = transcripts.identity(of: id)
        let known = try Row.fetchOne(db, "SELECT digest, transcript FROM document WHERE episode = ?", [id])
        var cues: [SpokenCue]?
        if cached != 0 || episode.isArchived {
            cues = transcripts.cues(of: id, archivedAt: try library.opening(of: id)?.archive)
            // The transcript of an archived episode stays indexed while the archive cannot be read.
            if cues == nil, episode.isArchived, known?.bits(1) ?? 0 != 0 { return }
        }
        let transcript = cues == nil ? 0 : cached != 0 ? cached : Self.archived
        let texts = [
            episode.title,
            NotesLines.lines(of: episode.notes ?? "", limit: Self.maxNotes).joined(separator: "\n"),
            cues?.map(\.text).joined(separator: "\n") ?? "", episode.showTitle,
        ]
        var digest = Digest()
        for text in texts { digest.add(text) }
        let changed = episode.changed < now ? episode.changed : episode.changed - 1
        if known?.bits(0) == digest.value {
            return try db.run(
                "UPDATE document SET changed = ?, transcript = ? WHERE episode = ?", [changed, transcript, id])
        }
        try db.run("DELETE FROM document WHERE episode = ?", [id])
        try db.run(
            "INSERT INTO document (episode, podcast, changed, transcript, digest) VALUES (?, ?, ?, ?, ?)",
            [id, episode.podcast, changed, transcript, digest.value])
        try db.run(
            "INSERT INTO text (rowid, title, notes, transcript, show) VALUES (?, ?, ?, ?, ?)",
            [db.lastInsertedRowID] + StatementArguments(texts.map(FindText.separated)))
    }

    /// The current time in seconds since 1970, the unit of the library's times of changes. A row that has changed in
    /// the current second may change in it once more, so an earlier time is recorded for it, and the next update
    /// compares it again.
    private var now: Int64 { Int64(time(nil)) }

    private func read<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try LibraryError.translating(path) { try database.read(body) }
    }

    private func write<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try LibraryError.translating(path) { try database.write(body) }
    }
}
