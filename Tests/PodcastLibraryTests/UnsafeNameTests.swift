import Foundation
import GRDB
import Testing

@testable import PodcastLibrary

/// Names in an earlier version's library that are no longer allowed.
struct UnsafeNameTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test func executableNamesGetAnotherExtension() throws {
        let names = [
            "a.mp3", "b.svg", "2026-01-01 c.xhtml", "d.M4A", "e.jar", "f.1.svg.mp4", "g.mp3.html", "h.bin", "i.m3u8",
            "j.pdf",
            "k.opus", "l", "m.x1y2z",
        ]
        let path = folder.path + "/old.sqlite"
        let old = try DatabaseQueue(path: path)
        try Schema.migrator.migrate(old, upTo: "4")
        try old.write { db in
            try db.execute(
                sql:
                    "INSERT INTO podcast (name, folded, url, title, created, changed) VALUES ('A', 'a', 'u', 'A', 1, 1)"
            )
            for (index, name) in names.enumerated() {
                try db.execute(
                    sql: """
                        INSERT INTO episode (podcast, name, folded, title, moment, url, first_seen, changed, buried, digest,
                            visible_digest, generation) VALUES (1, ?, ?, 'T', ?, 'https://e.com/1', 1, 1, ?, 0, 0, 7)
                        """,
                    arguments: [
                        name, FileName.folded(FileName.stem(ofFile: name)), -index, index == 4 ? 1 : 0,
                    ])
            }
        }
        try old.close()
        let library = try Library.openForWriting(at: path)
        let rows = try library.query { db in
            try Row.fetchAll(db, sql: "SELECT id, name, changed, generation FROM episode ORDER BY id")
        }
        #expect(
            rows.map { $0["name"] as String } == [
                "a.mp3", "b.bin", "2026-01-01 c.bin", "d.M4A", "e.bin", "f.1.svg.mp4", "g.mp3.bin", "h.bin", "i.m3u8",
                "j.bin", "k.opus", "l.bin", "m.bin",
            ])
        #expect(rows.map { $0["id"] as Int64 } == Array(1...Int64(names.count)))
        #expect(rows.allSatisfy { ($0["generation"] as Int) == 7 })
        // Only renamed rows count as changed.
        for (row, name) in zip(rows, names) {
            #expect(((row["changed"] as Int64) > 1) == ((row["name"] as String) != name), "\(name)")
        }
        // Listings and lookups have the new names.
        let show = try #require(try library.podcasts().first?.id)
        #expect(try library.episodes(of: show).map(\.name).contains("b.bin"))
        for (index, row) in rows.enumerated() where index != 4 {
            let name: String = row["name"]
            #expect(try library.entry(of: show, named: name) != nil, "\(name)")
        }
    }
}
