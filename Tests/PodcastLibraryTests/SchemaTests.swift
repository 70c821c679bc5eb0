import Foundation
import GRDB
import TestSupport
import Testing

@testable import PodcastLibrary

/// The tables of a library, which every later version of podfs must be able to open: the chapter "Promises" of
/// Contributing.
struct SchemaTests {
    private static let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Promises/schema-\(Schema.version).sql")

    /// A change of the tables is a new migration with a new version, and a file of its own.
    @Test func theTablesOfAVersionDoNotChange() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path + "/library.sqlite"
        _ = try Library.openForWriting(at: path)
        let found = try DatabaseQueue(path: path).read { db in
            try String.fetchAll(
                db,
                sql:
                    "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%' ORDER BY type, name"
            )
        }
        // Comments and line breaks are no part of the promise.
        let lines = found.map { sql in
            sql.replacing(#/--[^\n]*/#, with: "").replacing(#/\s+/#, with: " ").trimmingCharacters(in: .whitespaces)
                + ";"
        }
        if ProcessInfo.processInfo.environment["PODFS_WRITE_FIXTURES"] != nil {
            try (lines.joined(separator: "\n") + "\n").write(to: Self.file, atomically: true, encoding: .utf8)
            return
        }
        let promised = try String(contentsOf: Self.file, encoding: .utf8).split(separator: "\n").map(String.init)
        #expect(lines == promised, "a change of the tables is a new migration: see Promises in Contributing")
    }
}
