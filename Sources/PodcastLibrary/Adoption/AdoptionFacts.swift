import Foundation
import GRDB
internal import Platform
package import PodcastFeed
package import PodcastProtocol
package import Transfers

/// A media file that another program has downloaded.
package struct AdoptableFile: Sendable, Equatable {
    /// The path below the folder that is searched.
    package var path: String
    /// The names of the folders that contain the file, the innermost last, from the folder that is searched.
    package var folders: [String]
    /// The size in bytes.
    package var size: Int64
    /// The format that the first bytes show; `nil` if they show none.
    package var format: MediaFormat?
    package var tags: MediaTags
    /// The episode's guid and media URL according to the database of the program that downloaded the file.
    package var record: ForeignRecord?

    package init(
        path: String, folders: [String], size: Int64, format: MediaFormat? = nil, tags: MediaTags = .empty,
        record: ForeignRecord? = nil
    ) {
        self.path = path
        self.folders = folders
        self.size = size
        self.format = format
        self.tags = tags
        self.record = record
    }

    /// The file name.
    package var name: String { path.split(separator: "/").last.map(String.init) ?? path }

    /// The last folder and the file name, by which a `ForeignRecord` names the file.
    package var shortPath: String { (folders.suffix(1) + [name]).joined(separator: "/") }

    /// Whether a file may be media: its name has the extension of audio or video, also before a query, or no extension.
    package static func mayBeMedia(_ name: String) -> Bool {
        NameReading.isMedia(name) || NameReading.fileExtension(of: name).isEmpty
    }
}

extension EpisodeSummary {
    /// Whether the feed or a server has given a size.
    var hasKnownSize: Bool { sizeSource == .server || sizeSource == .feed }

    /// Returns the numbers of the days of publication in the feed's time zone, in UTC, and at another offset.
    func days(alsoAt offset: Int = 0) -> Set<Int64> {
        Set(
            [publishedOffset, 0, offset].compactMap { offset in
                published.flatMap { GregorianDay(seconds: $0, offset: offset)?.number }
            })
    }
}

/// The facts about an episode in the database of another podcast program.
package struct ForeignRecord: Sendable, Equatable {
    /// The program's name.
    package var program: String
    /// The feed's address.
    package var feed: String
    package var guid: String?
    /// The media URL.
    package var url: String
    /// The path of the downloaded file: the name of the show's folder and that of the file.
    package var file: String?
    package var played = false
    /// The playback position in seconds.
    package var position: Double?
}

/// The decision about a file.
package enum AdoptionDecision: Sendable, Equatable {
    /// The file is the episode's.
    case adopt(EpisodeID, Confidence)
    /// The episode is completely downloaded already.
    case present(EpisodeID)
    /// Another file is the episode's as well, and the better one.
    case duplicate(EpisodeID, of: String)
    /// Several episodes fit equally well.
    case ambiguous([EpisodeID], evidence: String)
    /// An episode fits, but something contradicts it.
    case contradicted(EpisodeID, evidence: String, contradiction: String)
    /// An episode may fit, but the evidence does not suffice.
    case weak(EpisodeID, evidence: String)
    case unknown
    /// The file is not usable, for this reason.
    case unusable(String)

    /// The certainty of an adoption, and the reason.
    package struct Confidence: Sendable, Equatable {
        /// Whether more evidence was found than an adoption needs.
        package var isCertain: Bool
        /// The evidence as a phrase: `file name in the feed, folder of the show`.
        package var evidence: String
    }
}

extension Library {
    /// Returns the episodes of all subscribed shows, for `AdoptionMatcher`.
    package func adoptableEpisodes() throws -> [EpisodeSummary] {
        try all(where: "\(EpisodeSQL.isFindable) ORDER BY e.id")
    }
}

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
