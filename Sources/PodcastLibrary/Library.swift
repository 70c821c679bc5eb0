internal import Foundation
import GRDB
internal import Platform
import Synchronization

/// The subscriptions and their episodes, in a SQLite file.
///
/// One process writes (the daemon), and any number of processes read at the same time. The file is in WAL mode, so that
/// readers and the writer never wait for each other. Every write is one transaction. A committed transaction survives a
/// crash of the process; it survives a power failure from the next checkpoint on (`synchronous=NORMAL`,
/// https://www.sqlite.org/wal.html).
///
/// Thread-safe. Calls block for the duration of a query (fractions of a millisecond) or of a merge (seconds for a feed
/// of tens of thousands of items). Errors are `LibraryError`, or `SettingError` for a view's name, key or value.
package final class Library: Sendable {
    /// The version of the schema, stored as `PRAGMA user_version`.
    package static let schemaVersion = Schema.version

    /// Returns the version of the SQLite that runs.
    package static func databaseVersion() throws -> String? {
        try DatabaseQueue().read { try String.fetchOne($0, sql: "SELECT sqlite_version()") }
    }

    package let path: String
    /// The writing connection; `nil` in a process that only reads.
    private let writer: DatabasePool?
    let readers: ReaderConnections
    /// The `pthread_self` value of the thread executing `group`; 0 if there is none.
    private let grouping = Atomic<UInt>(0)
    /// The object that updates the episodes of the views in each transaction.
    let materializedViews = MaterializedViews()

    private init(path: String, writer: DatabasePool?, readers: ReaderConnections) {
        self.path = path
        self.writer = writer
        self.readers = readers
    }

    /// Opens the library for the writing process; creates it if there is none.
    ///
    /// The file has mode 0600; a folder that this call creates has mode 0700. A damaged file is never replaced.
    package static func openForWriting(at path: String) throws -> Library { try openForWriting(at: path, readers: nil) }

    /// - Parameter readers: Open reading connections to reuse; `nil` creates new ones.
    static func openForWriting(at path: String, readers: ReaderConnections?) throws -> Library {
        try prepareFile(at: path)
        let (pool, found) = try LibraryError.translating(path, isOpening: true) {
            var configuration = configuration(readOnly: false)
            // This check runs before GRDB sets the journal mode, which would change the file even if it is the database
            // of another program.
            configuration.prepareDatabase { db in _ = try Schema.found(in: db, of: path) }
            let pool = try DatabasePool(path: path, configuration: configuration)
            return (pool, try pool.read { db in try Schema.found(in: db, of: path) })
        }
        return try LibraryError.translating(path, isOpening: found == Schema.version) {
            try Schema.migrator.migrate(pool)
            try pool.write { db in try Schema.bound(db) }
            let readers = readers ?? ReaderConnections(path: path, configuration: configuration(readOnly: true))
            let library = Library(path: path, writer: pool, readers: readers)
            try pool.write { db in try library.materializedViews.open(db, now: Int64(time(nil))) }
            return library
        }
    }

    /// Opens the library for a process that only reads, whether the writer runs, has exited or was killed.
    ///
    /// Without a running writer SQLite creates the shared-memory file beside the library, and replays the log of a
    /// killed writer in memory. So the folder must be writable for this process; the library itself is not written.
    package static func openForReading(at path: String) throws -> Library {
        var status = stat()
        guard stat(path, &status) == 0 else {
            if errno == ENOENT || errno == ENOTDIR { throw LibraryError.missing(path: path) }
            throw LibraryError.failed(path: path, reason: errnoText())
        }
        // A writer killed before its first transaction leaves an empty file.
        guard status.st_size > 0 || hasLog(path) else { throw absence(of: path, reason: "the file is empty") }
        return try LibraryError.translating(path, isOpening: true) {
            let readers = ReaderConnections(path: path, configuration: configuration(readOnly: true))
            try readers.use { connection in try connection.read { db in try checkTables(db, of: path) } }
            return Library(path: path, writer: nil, readers: readers)
        }
    }

    /// Returns the error for an empty library. The error is `damaged` if there is a backup or a log, because the
    /// library then once had content; otherwise it is `missing`. A library with a log looks empty if the log's header
    /// is damaged, because SQLite then silently ignores the log.
    private static func absence(of path: String, reason: String) -> LibraryError {
        hasBackup(path) || hasLog(path) ? .damaged(path: path, reason: reason) : .missing(path: path)
    }

    private static func checkTables(_ db: Database, of path: String) throws {
        let found = try Schema.found(in: db, of: path)
        if found == 0 { throw absence(of: path, reason: "it has no tables") }
        // Reads the root pages, so that a truncated file is detected here rather than at the first listing.
        for table in Schema.smallTables + Schema.largeTables {
            _ = try Row.fetchOne(db, "SELECT * FROM \(table) LIMIT 1")
        }
    }

    /// Copies the log into the database file, so that this file alone contains the whole library, even if the log is
    /// lost or damaged later. Waits at most a second for readers. Changes newer than the snapshot of a remaining reader
    /// stay in the log.
    package func checkpoint() throws {
        guard let writer else { throw LibraryError.readOnly }
        try LibraryError.translating(path) {
            try writer.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA busy_timeout = 1000")
                defer { try? db.execute(sql: "PRAGMA busy_timeout = 10000") }
                do {
                    _ = try db.checkpoint(.truncate)
                } catch DatabaseError.SQLITE_BUSY {
                    _ = try db.checkpoint(.passive)
                }
            }
        }
    }

    /// Copies the whole log into the database file and closes the library. The file alone then contains everything.
    func closeAfterCheckpoint() throws {
        try checkpoint()
        try writer?.close()
    }

    /// Checks the whole file for damage, which takes seconds for a large one. Runs `PRAGMA quick_check`, or
    /// `integrity_check`, which also compares the indices with their tables.
    ///
    /// - Throws: `damaged`, with the first problem.
    package func check(withIndices: Bool = false) throws {
        try query { db in try Self.check(db, of: path, withIndices: withIndices) }
    }

    static func check(_ db: Database, of path: String, withIndices: Bool = false) throws {
        let pragma = withIndices ? "integrity_check" : "quick_check"
        let result = try String.fetchAll(db, sql: "PRAGMA \(pragma)(1)")
        guard result == ["ok"] else {
            throw LibraryError.damaged(path: path, reason: result.first ?? "\(pragma) returned no result")
        }
    }

    /// Writes a copy of the library to `destination` with `VACUUM INTO`, mode 0600. Replaces `destination` atomically,
    /// once the copy is complete and on the disk. Does not block the writer.
    package func backup(to destination: String) throws {
        let temporary = destination + ".new"
        unlink(temporary)
        // SQLite accepts an existing empty target; creating it here sets the mode from the start.
        let created = open(temporary, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
        guard created >= 0 else { throw Self.systemError(destination) }
        defer { close(created) }
        do {
            try query { db in try db.run("VACUUM INTO ?", [temporary]) }
            guard fsync(created) == 0, Glibc.rename(temporary, destination) == 0 else {
                throw Self.systemError(destination)
            }
        } catch {
            unlink(temporary)
            throw error
        }
    }

    /// Sets whether the writing connection may use 16 MB to cache pages, instead of SQLite's default of 2 MB. With
    /// enough for the index pages that a large transaction changes, each of them is written once.
    package func cacheManyPages(_ isEnabled: Bool) throws {
        guard let writer else { throw LibraryError.readOnly }
        try LibraryError.translating(path) {
            try writer.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA cache_size = \(isEnabled ? -16_000 : -2_000)")
            }
        }
    }

    // MARK: - Ids

    /// The tables whose ids are never reused.
    static let numberedTables = ["podcast", "episode", "download"]

    /// Returns the highest id that each of `numberedTables` has assigned so far; 0 if there is none.
    package func identifiers() throws -> [String: Int64] {
        let last = try dictionary("SELECT name, seq FROM sqlite_sequence") { ($0[0] as String, $0[1] as Int64) }
        return Dictionary(uniqueKeysWithValues: Self.numberedTables.map { ($0, last[$0] ?? 0) })
    }

    /// Ensures that all ids assigned from now on are higher than these.
    ///
    /// Needed after a library was rebuilt or restored from a backup. The ids that the lost library had assigned are
    /// part of inode numbers, which running programs and the kernel may still use.
    func reserve(_ identifiers: [String: Int64]) throws {
        try write { db in
            for (table, last) in identifiers {
                try db.run("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?", [last, table])
                if db.changesCount == 0 {
                    try db.run("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", [table, last])
                }
            }
        }
    }

    // MARK: - Access

    /// Runs `body` without an explicit transaction, which would add two statements to every lookup. Two statements of
    /// `body` may therefore see different states. Inside `group`, `body` runs on the writing connection.
    ///
    /// - Parameters:
    ///   - isOpening: See `LibraryError.translating`.
    ///   - isTransaction: Whether to run `body` in a transaction nevertheless.
    func query<Value>(
        isOpening: Bool = false, isTransaction: Bool = false, _ body: (Database) throws -> Value
    ) throws -> Value {
        try LibraryError.translating(path, isOpening: isOpening) {
            if let writer, isInGroup { return try writer.unsafeReentrantWrite(body) }
            return try readers.use { isTransaction ? try $0.read(body) : try $0.unsafeRead(body) }
        }
    }

    /// Returns a number that changes when any process has written to the library.
    ///
    /// The number is `PRAGMA data_version`. Its values are comparable only within one connection, so all calls use the
    /// same connection.
    package func changeCounter() throws -> Int64 {
        try LibraryError.translating(path) { try readers.changeCounter() }
    }

    /// Runs `body` in a transaction, so that all its statements see the same state.
    func read<Value>(_ body: (Database) throws -> Value) throws -> Value { try query(isTransaction: true, body) }

    /// Runs a transaction. Inside `group`, runs a savepoint of the group's transaction instead.
    func write<Value>(_ body: (Database) throws -> Value) throws -> Value {
        guard let writer else { throw LibraryError.readOnly }
        return try LibraryError.translating(path) {
            guard isInGroup else { return try transaction(writer, body) }
            return try writer.unsafeReentrantWrite { db in
                var value: Value?
                try db.inSavepoint {
                    value = try body(db)
                    return .commit
                }
                guard let value else { throw LibraryError.failed(path: path, reason: "the transaction did not run") }
                return value
            }
        }
    }

    /// Combines several writes in one transaction, because starting a transaction and updating the index pages cost
    /// more than a small write itself. Each write is a savepoint. Reads of this thread see the writes made so far.
    /// Other threads and processes see none of them before the commit. Other writers wait. A group inside another group
    /// is a savepoint of the outer one.
    ///
    /// - Throws: The error of `body`, or the failure of the transaction. All writes are then rolled back.
    package func group<Value>(_ body: () throws -> Value) throws -> Value {
        guard let writer else { throw LibraryError.readOnly }
        if isInGroup { return try write { _ in try body() } }
        return try LibraryError.translating(path) {
            try transaction(writer) { _ in
                grouping.store(UInt(pthread_self()), ordering: .relaxed)
                defer { grouping.store(0, ordering: .relaxed) }
                return try body()
            }
        }
    }

    /// Runs a transaction, and updates the views that it affects before the commit.
    private func transaction<Value>(_ writer: DatabasePool, _ body: (Database) throws -> Value) throws -> Value {
        do {
            return try writer.write { db in
                let value = try body(db)
                try materializedViews.applyChanges(db, now: Int64(time(nil)))
                return value
            }
        } catch {
            // The compiled views may contain a definition that was rolled back with the transaction.
            materializedViews.invalidate()
            throw error
        }
    }

    /// Whether this thread executes `group`. A race with another thread cannot make this true: each thread stores only
    /// its own id.
    private var isInGroup: Bool { grouping.load(ordering: .relaxed) == UInt(pthread_self()) }

    // MARK: - Opening

    static func configuration(readOnly: Bool) -> Configuration {
        var configuration = Configuration()
        configuration.readonly = readOnly
        configuration.foreignKeysEnabled = true
        // In seconds. Readers wait only while another process recovers the log of a killed writer, or removes the log
        // when it exits.
        configuration.busyMode = .timeout(10)
        configuration.label = "library"
        configuration.prepareDatabase { db in
            guard !readOnly else { return }
            try db.execute(sql: "PRAGMA synchronous = NORMAL")
            // 4,000 pages of 4 KiB. The longer the log, the fewer checkpoints, each of which waits for the disk twice.
            // A reader's lookup takes no longer than with one page: it searches the log's index in steps of 4,096.
            try db.execute(sql: "PRAGMA wal_autocheckpoint = 4000")
            // After the first merge of a huge feed, the log is truncated to 16 MiB instead of keeping its size.
            _ = try Row.fetchOne(db, sql: "PRAGMA journal_size_limit = 16777216")
        }
        return configuration
    }

    /// Creates the folder with mode 0700 and the file with mode 0600, since SQLite would create the file with another
    /// mode. The log and the shared-memory file inherit the file's mode.
    ///
    /// An existing file is not opened: closing any descriptor of it would release the locks of another connection in
    /// this process (fcntl(2), "Advisory record locking").
    private static func prepareFile(at path: String) throws {
        do {
            try FileManager.default.createDirectory(
                at: URL(fileURLWithPath: path).deletingLastPathComponent(), withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        } catch {
            throw LibraryError.failed(path: path, reason: error.localizedDescription)
        }
        let created = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
        if created >= 0 {
            close(created)
        } else if errno == EEXIST {
            guard chmod(path, 0o600) == 0 else { throw systemError(path) }
        } else {
            throw systemError(path)
        }
    }

    /// Returns the error for the current `errno`.
    private static func systemError(_ path: String) -> LibraryError {
        errno == ENOSPC ? .diskFull(path: path) : .failed(path: path, reason: errnoText())
    }
}
