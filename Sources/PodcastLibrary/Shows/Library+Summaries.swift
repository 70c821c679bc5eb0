internal import Foundation
import GRDB
package import PodcastFeed
package import PodcastProtocol
internal import Transfers

/// The data of an episode that pages and generated feeds display.
package struct EpisodeSummary: Sendable, Equatable {
    package var id: EpisodeID
    /// The file name.
    package var name: String
    package var title: String
    /// Seconds since 1970 UTC.
    package var published: Int64?
    /// The UTC offset of the feed's time zone in seconds.
    package var publishedOffset: Int = 0
    /// The duration in seconds according to the feed, otherwise according to the player.
    package var duration: Double?
    /// The MIME type according to the feed.
    package var type: String?
    package var link: String?
    /// The time of the last change that users can see, in seconds since 1970 UTC.
    package var changed: Int64 = 0
    /// The size in bytes; 0 while unknown.
    package var size: Int64 = 0
    package var sizeSource: SizeSource = .unknown
    /// Whether the episode is completely cached.
    package var complete: Bool = false
    package var played: Bool = false
    /// The playback position in seconds.
    package var position: Double?
    package var season: Int?
    package var sidecars: Sidecars = []
    /// The notes from the feed; `nil` if there are none, or if they exceed the limits.
    package var notes: String?
    package var chapters: [Chapter] = []
    /// The other encodings, in the feed's order, up to the limits.
    package var alternates: [AlternateSummary] = []
    package var details: EpisodeDetails?
    package var podcast: ShowID = 0
    package var guid: String?
    /// The media URL.
    package var url = ""
    package var number: Double?
    /// `full`, `trailer` or `bonus`.
    package var kind: String?
    package var explicit: Bool?
}

/// The data of an alternate (another encoding of an episode) that pages display.
package struct AlternateSummary: Sendable, Equatable {
    /// The name in the folder of the episode's alternates.
    package var name: String
    /// The MIME type according to the feed.
    package var type: String?
    package var language: String?
    package var size: EpisodeSize
    /// The time of the last change that users can see, in seconds since 1970 UTC.
    package var changed: Int64 = 0
}

/// The limits of the texts and lists that a page reads from the library.
package struct SummaryLimits: Sendable {
    /// The maximum number of bytes of one episode's notes.
    package var notes = 0
    /// The maximum number of bytes of all notes together. Notes are read in the order of the episodes, until those of
    /// one episode exceed the remaining bytes.
    package var notesInAll = 0
    /// The maximum number of chapters of one episode.
    package var chapters = 0
    /// The maximum number of chapters of all episodes together.
    package var chaptersInAll = 0
    /// The maximum number of alternates of one episode.
    package var alternates = 0
    /// The maximum number of alternates of all episodes together.
    package var alternatesInAll = 0

    /// The limits of the page of a show. Notes beyond them are replaced by links, since all notes of 10,000 episodes
    /// would be 30 MB.
    package static let page = SummaryLimits(
        notes: 32 << 10, notesInAll: 256 << 10, chapters: 200, chaptersInAll: 3_000, alternates: 20,
        alternatesInAll: 3_000)
    /// The limits of a feed for other programs.
    package static let feed = SummaryLimits(notes: 32 << 10, notesInAll: 4 << 20)
}

extension Library {
    /// Passes a show's episodes to `body` one by one, newest first, so that only one is in memory at a time.
    package func summaries(of podcast: ShowID, limits: SummaryLimits, _ body: (EpisodeSummary) throws -> Void) throws {
        try summaries(where: EpisodeSQL.isListed, [podcast], limits: limits, body)
    }

    /// Passes a view's episodes to `body` one by one, in the view's order.
    package func summaries(of view: ViewID, limits: SummaryLimits, _ body: (EpisodeSummary) throws -> Void) throws {
        try summaries(joining: ViewSQL.joined, where: ViewSQL.isListed, [view], limits: limits, body)
    }

    private func summaries(
        joining outer: String = "", where condition: String, _ arguments: StatementArguments, limits: SummaryLimits,
        _ body: (EpisodeSummary) throws -> Void
    ) throws {
        try read { db in
            var limits = limits
            let rows = try Row.fetchCursor(
                db,
                """
                SELECT \(EpisodeSummary.columns), d.value FROM \(outer)\(EpisodeSummary.table)
                LEFT JOIN episode_details d ON d.episode = e.id WHERE \(condition)
                """, arguments)
            while let row = try rows.next() {
                var summary = EpisodeSummary(row)
                summary.details = StoredDetails.value(row[22], as: EpisodeDetails.self)
                if summary.sidecars.contains(.notes), limits.notesInAll > 0 {
                    // `length` counts the characters of a text but the bytes of a blob; `octet_length` requires SQLite
                    // 3.43.
                    summary.notes = try String.fetchOne(
                        db, "SELECT notes FROM detail WHERE episode = ? AND length(CAST(notes AS BLOB)) <= ?",
                        [summary.id, min(limits.notes, limits.notesInAll)])
                    if let notes = summary.notes {
                        limits.notesInAll -= notes.utf8.count
                    } else if limits.notesInAll < limits.notes {
                        // Finding shorter notes would require reading the notes of all episodes.
                        limits.notesInAll = 0
                    }
                }
                if summary.sidecars.contains(.chapters) || summary.complete, limits.chaptersInAll > 0 {
                    summary.chapters = Array(
                        try EpisodeExtras.fetch(db, of: summary.id).chapters
                            .prefix(min(limits.chapters, limits.chaptersInAll)))
                    limits.chaptersInAll -= summary.chapters.count
                }
                if summary.sidecars.contains(.alternates), limits.alternatesInAll > 0 {
                    summary.alternates = try AlternateSummary.fetch(
                        db, joining: AlternateSQL.joined,
                        where: "\(AlternateSQL.isOffered) ORDER BY a.position LIMIT ?",
                        [summary.id, min(limits.alternates, limits.alternatesInAll)])
                    limits.alternatesInAll -= summary.alternates.count
                }
                try body(summary)
            }
        }
    }
}

extension AlternateSummary: StoredRow {
    static let columns = "a.name, e.type, a.language, \(EpisodeSQL.size), e.length, e.duration, e.changed"
    static let table = EpisodeEntry.table

    init(_ row: Row) {
        self.init(
            name: row[0], type: row[1], language: row[2],
            size: EpisodeSize(
                confirmed: row[bytes: 3], length: row[bytes: 4], duration: row[5], type: row[1], name: row[0]),
            changed: row[6])
    }
}

extension EpisodeSummary: StoredRow {
    static let columns = """
        e.id, e.name, e.title, e.published, e.published_offset, coalesce(e.duration, e.total), e.type, e.link, \
        e.changed, \(EpisodeSQL.size), e.length, r.complete, e.played, e.position, e.season, e.sidecars, e.podcast, \
        e.guid, e.url, e.episode, e.episode_type, e.explicit
        """
    static let table = EpisodeEntry.table

    init(_ row: Row) {
        let size = EpisodeSize(
            confirmed: row[bytes: 9], length: row[bytes: 10], duration: row[5], type: row[6], name: row[1])
        self.init(
            id: row[0], name: row[1], title: row[2], published: row[3], publishedOffset: row[4], duration: row[5],
            type: row[6], link: row[7], changed: row[8], size: size.bytes, sizeSource: size.source,
            complete: row[11] ?? false, played: row[12], position: row[13], season: row[14],
            sidecars: Sidecars(rawValue: row[15]), podcast: row[16], guid: row[17], url: row[18], number: row[19],
            kind: row[20],
            explicit: row[21])
    }
}

extension Library {
    /// Returns the episodes in progress, the most recently played first. They and those of the other lists have no
    /// notes, chapters, alternates and details.
    package func episodesInProgress(limit: Int) throws -> [EpisodeSummary] {
        try all(
            where: """
                \(EpisodeSQL.isFindable) AND \(EpisodeSQL.isBegun)
                ORDER BY coalesce(e.last_played, e.last_opened, 0) DESC, e.moment DESC LIMIT ?
                """, [limit])
    }

    /// Returns the newest episodes of all subscribed shows.
    package func newestEpisodes(limit: Int) throws -> [EpisodeSummary] {
        try all(where: "\(EpisodeSQL.isFindable) ORDER BY e.moment DESC, e.id DESC LIMIT ?", [limit])
    }

    /// Returns the first episodes of a view, in its order.
    package func shelf(of view: ViewID, limit: Int) throws -> [EpisodeSummary] {
        try all(joining: ViewSQL.joined, where: "\(ViewSQL.isListed) LIMIT ?", [view, limit])
    }

    /// Returns the titles of the newest episodes of all subscribed shows.
    package func titles(limit: Int) throws -> [(id: EpisodeID, show: ShowID, title: String)] {
        try rows(
            """
            SELECT e.id, e.podcast, e.title FROM episode e WHERE \(EpisodeSQL.isFindable)
            ORDER BY e.moment DESC, e.id DESC LIMIT ?
            """, [limit]
        ) { ($0[0], $0[1], $0[2]) }
    }

    /// Returns the number of unplayed episodes of each show that has any.
    package func unplayedCounts() throws -> [ShowID: Int] {
        try dictionary("SELECT podcast, count(*) FROM episode WHERE buried = 0 AND played = 0 GROUP BY podcast") {
            ($0[0], $0[1])
        }
    }
}

/// The stored form of the details of shows and episodes: JSON text.
enum StoredDetails {
    /// Returns the JSON of a value; equal values have equal text.
    static func text(_ value: (some Encodable)?) -> String? {
        guard let value else { return nil }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Decodes JSON text; `nil` if that fails, as for a text written by another version of podfs.
    static func value<Value: Decodable>(_ text: String?, as type: Value.Type) -> Value? {
        text.flatMap { try? JSONDecoder().decode(type, from: Data($0.utf8)) }
    }
}

extension Library {
    /// Returns the details of a show for its page; `nil` if its feed has none.
    package func details(ofShow podcast: ShowID) throws -> ShowDetails? {
        StoredDetails.value(
            try value("SELECT details FROM podcast WHERE id = ?", [podcast]), as: ShowDetails.self)
    }
}
