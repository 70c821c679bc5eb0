import GRDB
import Glibc
import TransferCore

/// How a damaged library was replaced.
package struct LibraryRecovery: Sendable, Equatable {
    /// Where the damaged file stands now; nothing of it was removed.
    package var damaged: String
    /// When the backup was made that took its place; `nil` when there was none and the library began anew.
    package var backup: Int64?

    package init(damaged: String, backup: Int64? = nil) {
        self.damaged = damaged
        self.backup = backup
    }
}

extension Library {
    /// Opens the library for the one process that writes, and puts its last good backup in the place of a damaged one.
    ///
    /// The damaged file is moved aside. Ids go on well after those of the backup: what was given in between are inode
    /// numbers that programs may still hold.
    ///
    /// - Parameters:
    ///   - backup: written by `backup(to:)`; need not exist.
    ///   - canRebuild: without a usable backup, an empty library takes the place of the damaged one: the caller knows the
    ///     subscriptions from elsewhere, and is asked only then. Otherwise the damage is thrown, and the file stays where it is.
    package static func openForWriting(
        at path: String, backup: String, canRebuild: @autoclosure () -> Bool, now: Int64
    ) throws -> (library: Library, recovery: LibraryRecovery?) {
        do {
            do {
                // Writes nothing: what is spoilt is moved aside as it was found.
                _ = try openForReading(at: path)
            } catch LibraryError.damaged(_, let reason) where hasBackup(path) || canRebuild() {
                throw LibraryError.damaged(path: path, reason: reason)
            } catch {
                // Whatever else it is, the writer meets it below: a library that is new, or to be migrated.
            }
            return (try openSound(at: path), nil)
        } catch LibraryError.damaged(let path, let reason) {
            let restored = path + ".restored"
            let moment = try? restore(backup, to: restored)
            guard moment != nil || canRebuild() else {
                throw LibraryError.damaged(path: path, reason: reason)
            }
            let aside = "\(path).damaged-\(now)"
            // The log belongs to the damaged file: beside another one SQLite would play it into that.
            for suffix in ["", "-wal", "-shm"] where rename(path + suffix, aside + suffix) != 0 && errno != ENOENT {
                throw LibraryError.failed(path: path, reason: String(cString: strerror(errno)))
            }
            if moment != nil, rename(restored, path) != 0 {
                throw LibraryError.failed(path: path, reason: String(cString: strerror(errno)))
            }
            let library = try openSound(at: path)
            if moment == nil {
                let first = now << idShift
                try library.reserve(
                    Identifiers(podcast: ShowID(first), episode: EpisodeID(first), download: TaskID(first)))
            }
            return (library, LibraryRecovery(damaged: aside, backup: moment))
        }
    }

    /// Where the backup of a library stands by custom: beside it.
    package static func backupPath(of path: String) -> String {
        (path.hasSuffix(".sqlite") ? String(path.dropLast(7)) : path) + ".backup.sqlite"
    }

    /// Whether a log lies beside a library that has more than its header of 32 bytes
    /// (https://www.sqlite.org/fileformat2.html, "The WAL File Format").
    static func hasLog(_ path: String) -> Bool {
        var status = stat()
        return stat(path + "-wal", &status) == 0 && status.st_size > 32
    }

    static func hasBackup(_ path: String) -> Bool { access(backupPath(of: path), R_OK) == 0 }

    /// Damage shows itself here, as far as it concerns the beginnings of the tables, rather than at a later query.
    private static func openSound(at path: String) throws -> Library {
        let library = try openForWriting(at: path)
        try library.query { db in
            for table in ["podcast", "episode", "rendition", "download", "event"] {
                _ = try Row.fetchOne(db, sql: "SELECT * FROM \(table) ORDER BY rowid DESC LIMIT 1")
            }
        }
        return library
    }

    /// Copies a backup and makes it ready.
    ///
    /// - Returns: when the backup was made.
    private static func restore(_ backup: String, to restored: String) throws -> Int64 {
        var status = stat()
        guard stat(backup, &status) == 0, status.st_size > 0 else { throw LibraryError.missing(path: backup) }
        for suffix in ["", "-wal", "-shm"] { unlink(restored + suffix) }
        try LibraryError.translating(backup) {
            var configuration = Configuration()
            configuration.readonly = true
            let source = try DatabaseQueue(path: backup, configuration: configuration)
            try source.writeWithoutTransaction { db in
                try db.execute(sql: "VACUUM INTO ?", arguments: [restored])
            }
            try source.close()
        }
        guard chmod(restored, 0o600) == 0 else {
            throw LibraryError.failed(path: restored, reason: String(cString: strerror(errno)))
        }
        let library = try openForWriting(at: restored)
        try library.check()
        let given = try library.identifiers()
        try library.reserve(
            Identifiers(
                podcast: ShowID(given.podcast.rawValue + idMargin),
                episode: EpisodeID(given.episode.rawValue + idMargin),
                download: TaskID(given.download.rawValue + idMargin)))
        // Whole in its one file: that alone is renamed.
        try library.closeWhole()
        for suffix in ["-wal", "-shm"] { unlink(restored + suffix) }
        return Int64(status.st_mtim.tv_sec)
    }

    /// More rows than come between two backups: ten times as many as in a library of 1,000 shows with 100 episodes each.
    private static let idMargin: Int64 = 1_000_000

    /// What ids a damaged library has given cannot be known. Those of its successor begin at the seconds since 1970, shifted
    /// by this many bits: beyond all of a library in which less than 256 rows a second were made since its own beginning,
    /// and within the 40 bits of an inode number until the year 2106.
    private static let idShift: Int64 = 8

    /// After a restoration: generations that were given after the backup must not come again. Those of cached renditions
    /// are known to be the latest.
    package func skipGenerations() throws {
        try write { db in
            try db.execute(
                sql: """
                    UPDATE episode SET generation = \(RenditionSQL.generation) + 1000
                    WHERE id NOT IN (SELECT episode FROM rendition)
                    """)
        }
    }
}
