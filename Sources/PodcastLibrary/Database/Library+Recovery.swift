import GRDB
import Glibc
internal import Platform

/// The replacement of a damaged or missing library.
package struct LibraryRecovery: Sendable, Equatable {
    /// The new path of the damaged file, whose content is unchanged; `nil` if the library was missing.
    package var damaged: String?
    /// The time of the backup that replaced the library; `nil` if no backup was usable and the new library is empty.
    package var backup: Int64?
}

extension LibraryError {
    /// Whether the library is damaged or missing.
    fileprivate var isLoss: Bool {
        switch self {
        case .damaged, .missing: true
        default: false
        }
    }
}

extension Library {
    /// Opens the library for the writing process, replacing a damaged or missing one with its last good backup.
    ///
    /// The damaged file is renamed. New ids start well above those of the lost library, because ids are part of inode
    /// numbers, and programs may still use the old ones. They start at 1 only if neither a backup nor a list of
    /// subscriptions shows that there was a library.
    ///
    /// - Parameters:
    ///   - backup: A file written by `backup(to:)`; need not exist.
    ///   - isSuspect: Whether earlier daemons crashed at start. The whole file is then checked, which takes seconds for
    ///     a large one.
    ///   - canRebuild: Whether an empty library may replace a damaged one if there is no usable backup. True if the
    ///     caller has another list of the subscriptions. Evaluated only if the library is damaged or missing.
    /// - Throws: `damaged` if neither a backup nor an empty library can replace the file, which then stays. Another
    ///   error if the backup cannot be read or copied now, for example because the disk is full. No empty library is
    ///   created then, because its backup would soon overwrite the existing one.
    package static func openForWriting(
        at path: String, backup: String, isSuspect: Bool = false, canRebuild: @autoclosure () -> Bool, now: Int64
    ) throws -> (library: Library, recovery: LibraryRecovery?) {
        do {
            // The connections to an undamaged library are reused, since closing one has a cost: see `Schema.model`.
            var readers: ReaderConnections?
            // Whether the library is missing, but is known to have existed.
            var isLost = false
            do {
                // Opening for reading does not change the file, so that a damaged file is renamed as it was found.
                let library = try openForReading(at: path)
                try library.checkAtStart(all: isSuspect)
                readers = library.readers
            } catch let error as LibraryError where error.isLoss && hasBackup(path) {
                throw error
            } catch LibraryError.damaged(let path, let reason) where canRebuild() {
                throw LibraryError.damaged(path: path, reason: reason)
            } catch LibraryError.missing {
                isLost = canRebuild()
            } catch {
                // Opening for writing below handles the other cases: an old schema; a missing library without a backup;
                // a damaged library without a backup and without another list of the subscriptions.
            }
            let library = try openWritable(at: path, readers: readers)
            if readers == nil { try library.checkAtStart(all: isSuspect) }
            if isLost { try library.reserveIdentifiers(assignedBefore: now) }
            return (library, nil)
        } catch let error as LibraryError where error.isLoss {
            let restored = path + ".restored"
            let moment = try restoreIfUsable(backup, to: restored)
            var recovery = LibraryRecovery(backup: moment)
            let aside = "\(path).damaged-\(now)"
            if case .damaged = error {
                guard moment != nil || canRebuild() else { throw error }
                recovery.damaged = aside
            }
            // Also the WAL of a missing library: SQLite would replay it into the file that replaces the library.
            for suffix in ["", "-wal", "-shm"] { try rename(path + suffix, to: aside + suffix, needsFile: false) }
            if moment != nil { try rename(restored, to: path) }
            let library = try openWritable(at: path)
            if moment == nil { try library.reserveIdentifiers(assignedBefore: now) }
            return (library, recovery == LibraryRecovery() ? nil : recovery)
        }
    }

    /// Reserves the ids that a lost library, which this one replaces, may have assigned.
    private func reserveIdentifiers(assignedBefore now: Int64) throws {
        // The first id is above all ids of the lost library, which are unknown, unless that library has inserted 256
        // rows a second or more ever since its creation. It fits the 40 bits of an inode number until the year 2106.
        try reserve(identifiers().mapValues { _ in now << 8 })
    }

    private static func rename(_ path: String, to new: String, needsFile: Bool = true) throws {
        guard Glibc.rename(path, new) == 0 || errno == ENOENT && !needsFile else {
            throw LibraryError.failed(path: path, reason: errnoText())
        }
    }

    /// Returns the path of a library's backup, beside it.
    package static func backupPath(of path: String) -> String {
        (path.hasSuffix(".sqlite") ? String(path.dropLast(7)) : path) + ".backup.sqlite"
    }

    /// Whether a library has a WAL that is longer than its header of 32 bytes
    /// (https://www.sqlite.org/fileformat2.html, "The WAL File Format").
    static func hasLog(_ path: String) -> Bool {
        var status = stat()
        return stat(path + "-wal", &status) == 0 && status.st_size > 32
    }

    static func hasBackup(_ path: String) -> Bool { access(backupPath(of: path), R_OK) == 0 }

    private static func openWritable(at path: String, readers: ReaderConnections? = nil) throws -> Library {
        do {
            return try openForWriting(at: path, readers: readers)
        } catch LibraryError.readOnly where access(path, W_OK) == 0 {
            throw LibraryError.damaged(path: path, reason: "its header marks it as read-only")
        }
    }

    /// Checks for damage that can be found within a few milliseconds, before a later query fails because of it.
    ///
    /// - Parameter all: Whether to check every page, however long it takes.
    private func checkAtStart(all: Bool) throws {
        try query(isOpening: true) { db in
            try Schema.checkTables(db, of: path)
            _ = try Row.fetchOne(db, "SELECT * FROM episode ORDER BY rowid DESC LIMIT 1")
            if all { try Self.check(db, of: path, withIndices: true) }
        }
    }

    /// Copies a backup, checks the copy, and reserves the ids that may have been assigned since the
    /// backup was made.
    ///
    /// - Returns: The time of the backup; `nil` if it is missing or damaged.
    private static func restoreIfUsable(_ backup: String, to restored: String) throws -> Int64? {
        var status = stat()
        guard stat(backup, &status) == 0, status.st_size > 0 else { return nil }
        do {
            try restore(backup, to: restored)
        } catch LibraryError.damaged {
            return nil
        }
        return Int64(status.st_mtim.tv_sec)
    }

    private static func restore(_ backup: String, to restored: String) throws {
        for suffix in ["", "-wal", "-shm"] { unlink(restored + suffix) }
        try LibraryError.translating(backup, isOpening: true) {
            var configuration = Configuration()
            configuration.readonly = true
            let source = try DatabaseQueue(path: backup, configuration: configuration)
            try source.writeWithoutTransaction { db in
                try db.run("VACUUM INTO ?", [restored])
            }
            try source.close()
        }
        guard chmod(restored, 0o600) == 0 else { throw LibraryError.failed(path: restored, reason: errnoText()) }
        let library = try openForWriting(at: restored)
        // In a group, which reads through the writing connection: no other one is left open.
        try library.group {
            try library.check()
            // The number of ids skipped after a restoration, more than are assigned between two backups: ten times the
            // episodes of 1,000 shows with 100 episodes each.
            try library.reserve(library.identifiers().mapValues { $0 + 1_000_000 })
        }
        // Copies the WAL into the database file, since only this file is renamed.
        try library.closeAfterCheckpoint()
        for suffix in ["-wal", "-shm"] { unlink(restored + suffix) }
    }

    /// Skips generations after a restoration, since generations assigned after the backup must not be reused. The
    /// generations of cached renditions stay: they are known to be current.
    package func skipGenerations() throws {
        try write { db in
            try db.execute(
                sql: """
                    UPDATE episode SET generation = generation + 1000
                    WHERE id NOT IN (SELECT episode FROM rendition)
                    """)
        }
    }
}
