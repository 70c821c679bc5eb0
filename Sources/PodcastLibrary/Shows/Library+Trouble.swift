import GRDB
package import PodcastProtocol
internal import Transfers

extension Library {
    /// Returns the troubles that are due to be announced, and records that they are.
    package func announceTroubles(now: Int64) throws -> [(show: ShowID, trouble: FeedTrouble)] {
        let condition = "trouble IS NOT NULL AND trouble_due <= ? AND ephemeral = 0"
        let isDue = try query { db in
            try Bool.fetchOne(db, "SELECT EXISTS (SELECT 1 FROM podcast WHERE \(condition))", [now]) ?? false
        }
        guard isDue else { return [] }
        return try write { db in
            var announced: [(show: ShowID, trouble: FeedTrouble)] = []
            let rows = try Row.fetchAll(db, "SELECT id, trouble, trouble_due FROM podcast WHERE \(condition)", [now])
            for row in rows {
                var record = FeedTroubleRecord(row, from: 1)
                if let trouble = record.announce(at: now) { announced.append((row[0], trouble)) }
                try Self.set(record, of: row[0], now: now, db)
            }
            return announced
        }
    }

    /// Returns the episodes of a show of which there is no complete copy here.
    package func unsavedEpisodes(of podcast: ShowID) throws -> UnsavedEpisodes {
        // Also those that are not served from the archive while its folder is offline.
        let archived = try query { db in
            try EpisodeID.fetchSet(
                db,
                """
                SELECT a.episode FROM episode e CROSS JOIN archived a ON a.episode = e.id
                WHERE e.podcast = ? AND a.defect IS NULL
                """, [podcast])
        }
        return try entries(of: podcast).reduce(into: UnsavedEpisodes()) { unsaved, entry in
            guard !entry.complete, !archived.contains(entry.id), !StreamFile.isStream(entry.name) else { return }
            unsaved.count += 1
            if entry.sizeSource != .unknown { unsaved.bytes += entry.size }
        }
    }

    /// Records a refresh of shows whose feeds have not changed.
    static func recordUnchanged(_ shows: Set<ShowID>, now: Int64, _ db: Database) throws {
        for row in try Row.fetchAll(db, "SELECT id, trouble, trouble_due FROM podcast WHERE trouble IS NOT NULL") {
            let id: ShowID = row[0]
            guard shows.contains(id) else { continue }
            let old = FeedTroubleRecord(row, from: 1)
            var record = old
            record.observe(.unchanged, at: now)
            if record != old { try set(record, of: id, now: now, db) }
        }
    }

    static func set(_ record: FeedTroubleRecord, of podcast: ShowID, now: Int64, _ db: Database) throws {
        try db.run(
            "UPDATE podcast SET trouble = ?, trouble_due = ?, changed = ? WHERE id = ?",
            [record.trouble?.rawValue, record.due, now, podcast])
    }
}

extension FeedTroubleRecord {
    /// - Parameter index: The column `trouble`, which `trouble_due` follows.
    init(_ row: Row, from index: Int) {
        self.init(trouble: (row[index] as String?).flatMap(FeedTrouble.init), due: row[index + 1])
        if trouble == nil { due = nil }
    }
}
