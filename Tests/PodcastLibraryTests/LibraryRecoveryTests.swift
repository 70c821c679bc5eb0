import Foundation
import GRDB
import PodcastProtocol
import Testing
import Transfers

@testable import PodcastLibrary

struct LibraryRecoveryTests {
    private let folder: TemporaryFolder
    private var path: String { folder.library }
    private var backup: String { folder.path + "/data/library.backup.sqlite" }

    init() throws { folder = try TemporaryFolder() }

    private func open(canRebuild: Bool = false) throws -> (library: Library, recovery: LibraryRecovery?) {
        try Library.openForWriting(at: path, backup: backup, canRebuild: canRebuild, now: 4_711)
    }

    /// Creates a library with a show and its backup, changes it, and closes it.
    private func create(_ change: (Library) throws -> Void = { _ in }) throws {
        let library = try Library.openForWriting(at: path)
        _ = try library.subscribe([makeItem("One", url: "https://e.com/1.mp3")])
        try library.backup(to: backup)
        try change(library)
    }

    private func remove(_ suffixes: [String] = ["", "-wal", "-shm"]) {
        for suffix in suffixes { try? FileManager.default.removeItem(atPath: path + suffix) }
    }

    private func damage() throws {
        remove(["-wal", "-shm"])
        try Data(repeating: 0x55, count: 65_536).write(to: URL(fileURLWithPath: path))
    }

    @Test func theLastBackupReplacesADamagedLibrary() throws {
        var last: [String: Int64] = [:]
        try create { library in
            // This show is added after the backup. It is lost, but its ids are not reused.
            _ = try library.subscribe([makeItem("Two", url: "https://e.com/2.mp3")], url: "https://e.com/2", title: "B")
            last = try library.identifiers()
        }
        try damage()
        let (library, found) = try open()
        let recovery = try #require(found)
        #expect(try library.podcasts().map(\.name) == ["Show"])
        try library.check()
        #expect(recovery.damaged == path + ".damaged-4711")
        #expect(try Data(contentsOf: URL(fileURLWithPath: path + ".damaged-4711")).count == 65_536)
        #expect(recovery.backup != nil)
        let fresh = try library.subscribe([], url: "https://e.com/3", title: "C").podcast
        #expect(fresh.id.rawValue > last["podcast"] ?? .max)
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(FileManager.default.fileExists(atPath: backup))
    }

    /// A write-ahead log that remains without its library belongs to the lost file. SQLite must not replay it into the
    /// restored backup.
    @Test(arguments: [false, true]) func theLastBackupReplacesAMissingLibrary(hasLog: Bool) throws {
        var last = ShowID(0)
        try create { library in
            last = try library.subscribe([], url: "https://e.com/2", title: "B").podcast.id
            try FileManager.default.copyItem(atPath: path + "-wal", toPath: path + ".log")
        }
        remove()
        if hasLog { try FileManager.default.moveItem(atPath: path + ".log", toPath: path + "-wal") }
        let (library, found) = try open()
        let recovery = try #require(found)
        #expect(recovery.damaged == nil && recovery.backup != nil)
        #expect(try library.podcasts().map(\.name) == ["Show"])
        try library.check()
        #expect(try library.subscribe([], url: "https://e.com/3", title: "C").podcast.id > last)
        #expect(FileManager.default.fileExists(atPath: backup))
        #expect(FileManager.default.fileExists(atPath: path + ".damaged-4711-wal") == hasLog)
    }

    /// A backup of a newer schema cannot be restored now. If a new, empty library were created instead, the next backup
    /// would replace the good one.
    @Test(arguments: [false, true]) func aBackupThatCannotBeRestoredNowIsNotReplaced(isDamaged: Bool) throws {
        try create()
        if isDamaged { try damage() } else { remove() }
        func execute(_ sql: String) throws {
            let database = try DatabaseQueue(path: backup)
            try database.writeWithoutTransaction { db in try db.execute(sql: sql) }
            try database.close()
        }
        try execute("PRAGMA user_version = 99; INSERT INTO grdb_migrations VALUES ('99')")
        let expected = LibraryError.newerSchema(found: 99, known: Library.schemaVersion)
        #expect(throws: expected) { try open(canRebuild: true) }
        #expect(FileManager.default.fileExists(atPath: path) == isDamaged)
        try execute(
            "PRAGMA user_version = \(Library.schemaVersion); DELETE FROM grdb_migrations WHERE identifier = '99'")
        #expect(try open(canRebuild: true).library.podcasts().map(\.name) == ["Show"])
    }

    /// A mount that was started before the library was lost still has inode numbers with the ids of that library. A new
    /// library must not assign these ids again.
    @Test(arguments: [(true, false), (false, true), (false, false)])
    func aMissingLibraryWithoutAUsableBackupIsNew(hasBadBackup: Bool, hasList: Bool) throws {
        try FileManager.default.createDirectory(atPath: folder.path + "/data", withIntermediateDirectories: true)
        if hasBadBackup { try Data(repeating: 0x55, count: 9_000).write(to: URL(fileURLWithPath: backup)) }
        let (library, recovery) = try open(canRebuild: hasList)
        #expect(recovery == nil)
        #expect(try library.podcasts().isEmpty)
        // Without a trace of an earlier library, this is the first start.
        let first: Int64 = hasBadBackup || hasList ? 4_711 * 256 + 1 : 1
        let show = try library.subscribe([makeItem("One", url: "https://e.com/1.mp3")]).podcast
        #expect(show.id.rawValue == first)
        #expect(try library.episodes(of: show.id).map(\.id.rawValue) == [first])
    }

    @Test func aDamagedBackupIsDetected() throws {
        try FileManager.default.createDirectory(atPath: folder.path + "/data", withIntermediateDirectories: true)
        let old = try DatabaseQueue(path: backup)
        try Schema.migrator.migrate(old)
        try old.write { db in
            // Enough rows for pages that can be damaged below.
            for number in 1...200 {
                try db.execute(
                    sql: "INSERT INTO podcast (name, folded, url, title, created, changed) VALUES (?, ?, ?, 'A', 1, 1)",
                    arguments: ["A\(number)", "a\(number)", "u\(number)"])
            }
        }
        try old.close()
        try Library.openForReading(at: backup).check()
        #expect(try open().library.podcasts().count == 200)
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: backup))
        try handle.seek(toOffset: 8_192)
        try handle.write(contentsOf: Data(repeating: 0x5A, count: 8_192))
        try handle.close()
        expectError { try Library.openForReading(at: backup).check() }
    }

    @Test(arguments: [false, true])
    func withoutABackupADamagedLibraryIsNeverSilentlyEmptied(withBadBackup: Bool) throws {
        _ = try Library.openForWriting(at: path)
        try damage()
        if withBadBackup { try Data(repeating: 0x55, count: 9_000).write(to: URL(fileURLWithPath: backup)) }
        expectError { _ = try open() }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)).count == 65_536)
        // If another file lists the subscriptions (`canRebuild`), a new library is created, and the damaged file is
        // renamed.
        let (library, recovery) = try open(canRebuild: true)
        #expect(recovery == LibraryRecovery(damaged: path + ".damaged-4711", backup: nil))
        #expect(try library.podcasts().isEmpty)
        #expect(FileManager.default.fileExists(atPath: path + ".damaged-4711"))
        // The ids used in the damaged library are unknown, so the new ids start far above those that it probably has.
        let fresh = try library.subscribe([makeItem("One", url: "https://e.com/1.mp3")]).podcast
        #expect(fresh.id.rawValue == 4_711 * 256 + 1)
        #expect(try library.episodes(of: fresh.id).map(\.id.rawValue) == [4_711 * 256 + 1])
    }

    /// Creates a library whose contents are all in its write-ahead log, like the new library of a killed daemon.
    /// `change` edits the log.
    private func leaveLog(_ change: (inout Data) -> Void) throws {
        let copies = ["", "-wal"].map { (path + $0, path + ".copy" + $0) }
        try {
            let library = try Library.openForWriting(at: path)
            _ = try library.subscribe([makeItem("One", url: "https://e.com/1.mp3")])
            for (file, copy) in copies { try FileManager.default.copyItem(atPath: file, toPath: copy) }
        }()
        remove()
        for (file, copy) in copies { try FileManager.default.moveItem(atPath: copy, toPath: file) }
        var log = try Data(contentsOf: URL(fileURLWithPath: path + "-wal"))
        try #require(log.count > 4_096)
        change(&log)
        try log.write(to: URL(fileURLWithPath: path + "-wal"))
    }

    @Test func aLibraryInItsLogIsComplete() throws {
        try leaveLog { _ in }
        #expect(try Library.openForReading(at: path).podcasts().map(\.name) == ["Show"])
        let (library, recovery) = try open()
        #expect(recovery == nil)
        #expect(try library.podcasts().map(\.name) == ["Show"])
        // After a checkpoint the database file is complete without its log.
        try library.checkpoint()
        let copy = folder.path + "/copied.sqlite"
        try FileManager.default.copyItem(atPath: path, toPath: copy)
        #expect(try Library.openForReading(at: copy).podcasts().map(\.name) == ["Show"])
    }

    /// Offsets in the log: its magic number, its salt, its header's checksum, the first frame.
    @Test(arguments: [0, 17, 25, 40]) func aLibraryWithADamagedLogIsNotTreatedAsNew(offset: Int) throws {
        try leaveLog { $0[offset] ^= 0x40 }
        let before = try Data(contentsOf: URL(fileURLWithPath: path + "-wal"))
        expectError { _ = try Library.openForReading(at: path) }
        // If another file lists the subscriptions (`canRebuild`), a new library is created, and the damaged files are
        // renamed.
        let (library, recovery) = try open(canRebuild: true)
        #expect(recovery == LibraryRecovery(damaged: path + ".damaged-4711", backup: nil))
        #expect(try library.podcasts().isEmpty)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path + ".damaged-4711-wal")) == before)
    }

    @Test func aWriterKilledInItsFirstTransactionCausesNoDamage() throws {
        try leaveLog { $0 = $0.prefix(100) }
        // Neither subscriptions nor a backup exist.
        let (library, recovery) = try open()
        #expect(recovery == nil)
        #expect(try library.podcasts().isEmpty)
    }

    @Test func generationsAreSkippedForEpisodesWithoutARendition() throws {
        let library = try Library.openForWriting(at: path)
        let show = try library.subscribe([
            makeItem("One", url: "https://e.com/1.mp3"), makeItem("Two", url: "https://e.com/2.mp3"),
        ]).podcast.id
        let episodes = try library.episodes(of: show).map(\.id)
        try library.pin(Rendition(episode: episodes[0], generation: 3, file: "f"), now: 1)
        try library.skipGenerations()
        #expect(try library.episode(id: episodes[0])?.generation == 3)
        #expect(try library.episode(id: episodes[1])?.generation == 1_001)
    }
}
