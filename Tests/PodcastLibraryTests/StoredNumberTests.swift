import Foundation
import GRDB
import PodcastFeed
import PodcastProtocol
import TestSupport
import Testing
import Transfers

@testable import PodcastLibrary

/// Rows with extreme numbers, which a damaged disk has produced.
@Suite struct StoredNumberTests {
    private static let tables = [
        "podcast", "episode", "rendition", "download", "event", "session", "counter", "upload",
        "sync_account", "sync_feed", "sync_subscription", "sync_episode", "sync_pending", "sync_parked", "sync_clamped",
        "sync_removed", "sqlite_sequence",
    ]
    /// The columns that `spoil` does not change, because they identify the row or its parent, or disable the triggers.
    private static let kept: Set<String> = ["id", "podcast", "episode", "kind", "applying", "ephemeral", "sequence"]

    private static func makeLibrary(_ path: String) throws {
        let library = try Library.openForWriting(at: path)
        var items = (1...4).map { makeItem("E\($0)", guid: "g\($0)", url: "https://e/\($0).mp3", duration: 600) }
        items[0].chapters = [Chapter(start: 5, title: "c")]
        items[0].enclosures.append(Enclosure(url: "https://e/1.opus", length: 5, type: "audio/opus"))
        let show = try library.subscribe(items).podcast.id
        let ids = try library.episodes(of: show).map(\.id)
        for (index, id) in ids.prefix(2).enumerated() {
            _ = try library.pin(
                Rendition(
                    episode: id, generation: 1, file: "f\(index)", size: 9, received: 5, created: noon,
                    lastOpened: noon), now: noon)
        }
        _ = try library.enqueue(episode: ids[2], session: "", now: noon)
        _ = try library.add(
            Upload(
                url: "https://u", title: "t", description: nil, media: SnapshotFile(file: "f", name: "n"), size: 5,
                idempotencyKey: "k", created: noon))
        _ = try library.reserveSequences(5)
        try library.store(Event(sequence: 3, time: noon, .idle))
        try library.acknowledge(session: "s", through: 2)
        try library.beginSync(SyncAccount(url: "https://s", user: "u", device: "d", kind: .gpodder), now: noon)
        try library.setPosition(episode: ids[0], 30, now: noon)
        try library.setPlayed(episode: ids[1], true, now: noon)
        _ = try library.apply(
            [
                SyncAction(podcast: feedURL, episode: "https://e/4.mp3", kind: .play, timestamp: noon, position: 9),
                SyncAction(podcast: "https://o", episode: "https://o/1", kind: .play, timestamp: noon, position: 9),
            ], clock: SyncClock(local: noon, server: noon), window: SyncWindow(last: noon, lastFull: noon),
            keepsLatestOnly: false, now: noon)
        try library.recordServerState([ServerFeed(url: feedURL, subscribed: true, podcast: show)])
        try library.closeAfterCheckpoint()
    }

    /// Writes a number that `number` returns into each numeric column of `tables`, except the columns in `kept`.
    private static func spoil(_ path: String, _ number: () -> Double) throws {
        let queue = try DatabaseQueue(path: path)
        var integers: Set<Int64> = []
        try queue.write { db in
            try db.execute(sql: "UPDATE sync_account SET applying = 1; PRAGMA ignore_check_constraints = ON")
            for table in tables {
                let columns = try Row.fetchAll(db, sql: "SELECT name, type, pk FROM pragma_table_info('\(table)')")
                for column in columns {
                    let (name, type): (String, String) = (column[0], column[1])
                    let isNumber = type == "INTEGER" || type == "REAL" || name == "seq"
                    guard isNumber, !kept.contains(name) else { continue }
                    let value = number()
                    let integer = Int64(exactly: value) ?? (value < 0 ? Int64.min : .max)
                    integers.insert(integer)
                    // Some columns are parts of keys: rows that would become duplicates stay unchanged.
                    try db.execute(
                        sql: "UPDATE OR IGNORE \(table) SET \(name) = ?",
                        arguments: type == "REAL" ? [value] : [integer])
                }
            }
            try db.execute(sql: "UPDATE sync_account SET applying = 0")
            // Proves that SQLite has stored the extreme numbers unchanged.
            let raw = try Set(Int64.fetchAll(db, sql: "SELECT changed FROM episode UNION SELECT value FROM counter"))
            #expect(!raw.isDisjoint(with: integers), "\(raw) \(integers)")
        }
        try queue.close()
    }

    private static func exercise(_ library: Library, _ context: String) throws {
        for show in try library.podcasts() + [library.podcast(id: 1)].compactMap(\.self) {
            for episode in try library.episodes(of: show.id) {
                #expect((0...EpisodeSize.greatest).contains(episode.size.bytes), "\(context)")
                #expect((0...EpisodeSize.greatest).contains(episode.cachedBytes), "\(context)")
                #expect((episode.published ?? 0).magnitude <= 1 << 53, "\(context)")
                #expect(episode.generation.magnitude <= 1 << 53 && episode.position ?? 0 <= 0x1p53, "\(context)")
            }
            let limits = SummaryLimits(notes: 10, notesInAll: 10, chapters: 10, chaptersInAll: 10)
            try library.summaries(of: show.id, limits: limits) { #expect($0.size >= 0) }
            _ = try (
                library.entries(of: show.id), library.tracks(of: show.id),
                library.retainedEpisodes(of: show.id, goneError: 0)
            )
            _ = try (library.refreshRecord(of: show.id), library.published(of: [show.id]))
        }
        _ = try (
            library.folders(), library.viewFolders(), library.entries(of: ViewID(1)), library.entries(of: ViewID(2))
        )
        _ = try library.places(changedSince: 0)
        for id in Int64(1)...4 {
            _ = try (
                library.opening(of: EpisodeID(id)), library.source(of: EpisodeID(id)),
                library.extras(of: EpisodeID(id)), library.place(of: EpisodeID(id))
            )
        }
        _ = try (library.refreshSubjects(), library.refreshSubjects(dueAt: .max), library.nextRefresh())
        _ = try (library.renditions(), library.evictionCandidates(), library.ephemeralRenditions())
        #expect(try library.cachedBytes() >= 0, "\(context)")
        _ = try (library.downloads(), library.uploads(), library.events(since: .min), library.identifiers())
        _ = try (library.syncAccount(), library.syncQueue(), library.subscriptionBook())

    }

    @Test func extremeNumbersInEachColumnPreventNoRead() throws {
        let folder = try TemporaryFolder()
        let model = folder.path + "/model.sqlite"
        try Self.makeLibrary(model)
        var dice = SeededGenerator(seed: 1)
        let mixed = ExtremeNumbers.integers.map(Double.init) + ExtremeNumbers.doubles
        let numbers: [Double] = [-.infinity, -0x1p63, -1, -0.0, 0.5, 1, 0x1p44 + 1, 0x1p53 + 2, 0x1p63, .infinity]
        for round in 0..<numbers.count + 8 {
            let path = folder.path + "/\(round).sqlite"
            try FileManager.default.copyItem(atPath: model, toPath: path)
            try Self.spoil(path) {
                round < numbers.count ? numbers[round] : mixed.randomElement(using: &dice) ?? 0
            }
            let context = round < numbers.count ? "all \(numbers[round])" : "mixture \(round)"
            do {
                let library = try Library.openForReading(at: path)
                try Self.exercise(library, context)
            } catch {
                Issue.record("\(context): \(error)")
            }
        }
    }
}
