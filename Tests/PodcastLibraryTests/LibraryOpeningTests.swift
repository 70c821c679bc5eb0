import Foundation
import GRDB
import Testing
import Transfers

@testable import PodcastLibrary

struct LibraryOpeningTests {
    private let folder: TemporaryFolder
    private var path: String { folder.library }

    init() throws {
        folder = try TemporaryFolder()
    }

    private func mode(_ path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return try #require(attributes[.posixPermissions] as? Int)
    }

    /// Copies the library's files to another folder, in the state in which a writer killed now would leave them.
    private func killed(_ writer: Library, withSharedMemory: Bool) throws -> String {
        let target = folder.path + "/killed-\(withSharedMemory)"
        try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
        for suffix in withSharedMemory ? ["", "-wal", "-shm"] : ["", "-wal"] {
            try FileManager.default.copyItem(atPath: path + suffix, toPath: target + "/library.sqlite" + suffix)
        }
        return target + "/library.sqlite"
    }

    @Test func aNewLibraryIsPrivateAndEmpty() throws {
        let library = try Library.openForWriting(at: path)
        #expect(try library.podcasts().isEmpty)
        #expect(try library.folders().isEmpty)
        #expect(try mode(path) == 0o600)
        #expect(try mode(path + "-wal") == 0o600)
        #expect(try mode(folder.path + "/data") == 0o700)
        try library.check()
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        _ = try Library.openForWriting(at: path)
        #expect(try mode(path) == 0o600)
    }

    @Test func readingWithoutALibraryThrowsMissing() throws {
        #expect(throws: LibraryError.missing(path: path)) { try Library.openForReading(at: path) }
        #expect(!FileManager.default.fileExists(atPath: path))
        try FileManager.default.createDirectory(atPath: folder.path + "/data", withIntermediateDirectories: true)
        try Data().write(to: URL(fileURLWithPath: path))
        #expect(throws: LibraryError.missing(path: path)) { try Library.openForReading(at: path) }
    }

    @Test func aReaderOpensAfterTheWriterHasClosed() throws {
        try {
            let writer = try Library.openForWriting(at: path)
            _ = try writer.subscribe([makeItem("One", url: "https://e.com/1.mp3")])
        }()
        #expect(!FileManager.default.fileExists(atPath: path + "-wal"))
        #expect(!FileManager.default.fileExists(atPath: path + "-shm"))
        let reader = try Library.openForReading(at: path)
        #expect(try reader.podcasts().map(\.name) == ["Show"])
        // The same reader sees a later writer.
        let writer = try Library.openForWriting(at: path)
        _ = try writer.subscribe([], url: "https://e.com/second", title: "Second")
        #expect(try reader.podcasts().map(\.name) == ["Second", "Show"])
    }

    @Test(arguments: [true, false])
    func aReaderOpensTheFilesOfAKilledWriter(withSharedMemory: Bool) throws {
        let writer = try Library.openForWriting(at: path)
        _ = try writer.subscribe([makeItem("One", url: "https://e.com/1.mp3")])
        let left = try killed(writer, withSharedMemory: withSharedMemory)
        let reader = try Library.openForReading(at: left)
        #expect(try reader.podcasts().map(\.name) == ["Show"])
        // The next writer continues with these files while the reader stays open.
        let next = try Library.openForWriting(at: left)
        _ = try next.subscribe([], url: "https://e.com/second", title: "Second")
        #expect(try reader.podcasts().map(\.name) == ["Second", "Show"])
        try next.check()
    }

    private func execute(_ sql: String) throws {
        let database = try DatabaseQueue(path: path)
        try database.writeWithoutTransaction { try $0.execute(sql: sql) }
        try database.close()
    }

    @Test func readerAndWriterRefuseANewerSchema() throws {
        _ = try Library.openForWriting(at: path)
        try execute("PRAGMA user_version = 99; INSERT INTO grdb_migrations VALUES ('99')")
        let expected = LibraryError.newerSchema(found: 99, known: Library.schemaVersion)
        #expect(throws: expected) { try Library.openForReading(at: path) }
        #expect(throws: expected) { try Library.openForWriting(at: path) }
    }

    /// The version and the tables are written in one transaction, so they differ only in a damaged file.
    @Test(arguments: ["PRAGMA user_version = 99", "PRAGMA user_version = 0", "DELETE FROM grdb_migrations"])
    func aVersionThatContradictsTheTablesIsDamage(sql: String) throws {
        _ = try Library.openForWriting(at: path)
        try execute(sql)
        for open in [Library.openForReading, Library.openForWriting] { expectError { _ = try open(path) } }
    }

    @Test func aFileThatIsNotADatabaseIsDamageAndIsNotTouched() throws {
        try FileManager.default.createDirectory(atPath: folder.path + "/data", withIntermediateDirectories: true)
        let content = Data(String(repeating: "not a database ", count: 1000).utf8)
        try content.write(to: URL(fileURLWithPath: path))
        for open in [Library.openForReading, Library.openForWriting] { expectError { _ = try open(path) } }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == content)
    }

    @Test func aTruncatedLibraryIsDamaged() throws {
        try {
            let writer = try Library.openForWriting(at: path)
            _ = try writer.subscribe((0..<500).map { makeItem("Title \($0)", url: "https://e.com/\($0).mp3") })
        }()
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try file.truncate(atOffset: 8192)
        try file.close()
        expectError { try Library.openForReading(at: path).check() }
    }

    @Test(arguments: ["CREATE TABLE song (id)", "CREATE TABLE song (id); PRAGMA user_version = 7"])
    func aDatabaseOfAnotherProgramIsNotTouched(sql: String) throws {
        try FileManager.default.createDirectory(atPath: folder.path + "/data", withIntermediateDirectories: true)
        try execute(sql)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        for open in [Library.openForReading, Library.openForWriting] {
            expectError(\.isFailure) { _ = try open(path) }
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == bytes)
        }
    }

    @Test func aBackupIsCompleteAndPrivateAndPreservesIds() throws {
        let library = try Library.openForWriting(at: path)
        let old = try library.subscribe([makeItem("One", url: "https://e.com/1.mp3")])
        _ = try library.unsubscribe(podcast: old.podcast.id)
        let copy = folder.path + "/backup.sqlite"
        try library.backup(to: copy)
        try library.backup(to: copy)
        #expect(try mode(copy) == 0o600)
        #expect(!FileManager.default.fileExists(atPath: copy + ".new"))
        let restored = try Library.openForWriting(at: copy)
        try restored.check()
        #expect(try restored.identifiers() == library.identifiers())
        #expect(try restored.subscribe([]).podcast.id > old.podcast.id)
    }
}
