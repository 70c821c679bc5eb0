import Foundation
import GRDB

/// The database of another podcast program: gPodder's file `Database`, or the file that AntennaPod exports.
package enum ForeignDatabase {
    /// The reason why a database cannot be used.
    package struct Failure: Error, CustomStringConvertible {
        package var description: String
    }

    /// The maximum number of episodes that are read.
    private static let limit = 1_000_000

    /// Reads what a database says about episodes. It is opened for reading only.
    ///
    /// - Throws: `Failure`.
    package static func records(at path: String) throws -> [ForeignRecord] {
        var configuration = GRDB.Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(5)
        do {
            return try DatabaseQueue(path: path, configuration: configuration).read { db in
                if try db.tableExists("episode"), try db.tableExists("podcast") { return try gPodder(db) }
                if try db.tableExists("FeedItems"), try db.tableExists("FeedMedia") { return try antennaPod(db) }
                throw Failure(description: "\(path) is a database of neither gPodder nor AntennaPod")
            }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_NOTADB {
            throw Failure(description: "\(path) is not a database: give gPodder's file Database or AntennaPod's export")
        } catch let error as DatabaseError {
            throw Failure(description: "\(path) cannot be read: \(error.message ?? "error \(error.resultCode)")")
        }
    }

    /// gPodder has no played mark: a downloaded episode that is no longer new was played, and so was one whose position
    /// is at its end (`PodcastEpisode.is_finished`).
    private static func gPodder(_ db: Database) throws -> [ForeignRecord] {
        try Row.fetchCursor(
            db,
            """
            SELECT p.url, e.guid, e.url, p.download_folder, e.download_filename, e.state = 1 AND NOT e.is_new,
                e.current_position, e.total_time
            FROM episode e JOIN podcast p ON p.id = e.podcast_id LIMIT \(limit)
            """
        ).mapAll { row in
            let position: Double = row[6] ?? 0
            let total: Double = row[7] ?? 0
            let isFinished = position > 0 && total > 0 && (position + 10 >= total || position >= total * 0.99)
            let folder: String = row[3]
            let file: String = row[4]
            return ForeignRecord(
                program: "gPodder", feed: row[0], guid: row[1], url: row[2],
                file: file.isEmpty ? nil : "\(folder)/\(file)", played: row[5] || isFinished,
                position: isFinished || position < 1 ? nil : position)
        }
    }

    private static func antennaPod(_ db: Database) throws -> [ForeignRecord] {
        try Row.fetchCursor(
            db,
            """
            SELECT f.download_url, i.item_identifier, m.download_url, m.file_url, i.read = 1, m.position
            FROM FeedMedia m JOIN FeedItems i ON i.id = m.feeditem JOIN Feeds f ON f.id = i.feed LIMIT \(limit)
            """
        ).mapAll { row in
            let path: String = row[3]
            let position: Double = (row[5] ?? 0) / 1_000
            return ForeignRecord(
                program: "AntennaPod", feed: row[0], guid: row[1], url: row[2],
                file: path.isEmpty ? nil : path.split(separator: "/").suffix(2).joined(separator: "/"),
                played: row[4], position: position < 1 ? nil : position)
        }
    }
}
