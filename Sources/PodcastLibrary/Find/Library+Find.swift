import GRDB
package import PodcastProtocol
internal import Transfers

/// The state of a show and its episodes, which changes when any of them does.
struct FindShow: Equatable {
    /// The show's title, and the name of its folder if that is another one.
    var title: String
    /// The number of episodes, and the sum of the times of their last changes; `nil` if an episode has changed in the
    /// current second, and may change in it once more: the next update then compares the show again.
    var contents: String?
}

/// The text of an episode to be indexed.
struct FindEpisode {
    var podcast: ShowID
    var changed: Int64
    var title: String
    var showTitle: String
    /// The notes as the feed states them, usually HTML.
    var notes: String?
    var isArchived: Bool
}

extension Library {
    /// Returns the episodes with these ids that can be found, in the order of the ids.
    ///
    /// - Parameter limit: The maximum number of episodes.
    package func foundEntries(_ ids: [EpisodeID], limit: Int) throws -> [EpisodeEntry] {
        try query { db in
            var found: [EpisodeEntry] = []
            for id in ids {
                found += try EpisodeEntry.fetch(db, where: "e.id = ? AND \(EpisodeSQL.isFindable)", [id])
                if found.count == limit { break }
            }
            return found
        }
    }

    /// Returns the number of episodes that can be found once all are indexed.
    package func findableCount() throws -> Int {
        try value(
            """
            SELECT count(*) FROM podcast p CROSS JOIN episode e ON e.podcast = p.id AND e.buried = 0
            WHERE p.ephemeral = 0
            """) ?? 0
    }

    /// The SQL expression of `FindShow.title` for the row `podcast p`.
    private static let showTitle = "iif(p.title = p.name, p.title, p.title || char(10) || p.name)"

    /// Returns the subscribed shows. Reads all entries of an index: some 80 ms for 300,000 episodes.
    func findShows(now: Int64) throws -> [ShowID: FindShow] {
        try dictionary(
            """
            SELECT p.id, \(Self.showTitle),
                iif(max(e.changed) >= ?, NULL, count(e.changed) || ' ' || CAST(total(e.changed) AS INTEGER))
            FROM podcast p
            LEFT JOIN episode e ON e.podcast = p.id AND e.buried = 0 WHERE p.ephemeral = 0 GROUP BY p.id
            """, [now]
        ) { ($0[0], FindShow(title: $0[1], contents: $0[2])) }
    }

    /// Returns when each episode of a show last changed.
    func findChanges(of podcast: ShowID) throws -> [EpisodeID: Int64] {
        try dictionary("SELECT id, changed FROM episode WHERE podcast = ? AND buried = 0", [podcast]) { ($0[0], $0[1]) }
    }

    /// Returns the text of an episode; `nil` if the episode cannot be found.
    func findEpisode(_ id: EpisodeID) throws -> FindEpisode? {
        try row(
            """
            SELECT e.podcast, e.changed, e.title, (SELECT \(Self.showTitle) FROM podcast p WHERE p.id = e.podcast),
                n.notes, r.archived IS NOT NULL
            FROM episode e LEFT JOIN detail n ON n.episode = e.id LEFT JOIN rendition r ON r.episode = e.id
            WHERE e.id = ? AND \(EpisodeSQL.isFindable)
            """, [id]
        ) {
            FindEpisode(
                podcast: $0[0], changed: $0[1], title: $0[2], showTitle: $0[3], notes: $0[4], isArchived: $0[5])
        }
    }
}
