import GRDB
package import PodcastProtocol
internal import Transfers

/// The data of an episode that pages about several shows display.
package struct ShelfEpisode: Sendable, Equatable {
    package var id: EpisodeID
    package var show: ShowID
    /// The file name.
    package var name: String
    package var title: String
    /// Seconds since 1970 UTC.
    package var published: Int64?
    /// The UTC offset of the feed's time zone in seconds.
    package var publishedOffset: Int = 0
    /// The duration in seconds according to the feed, otherwise according to the player.
    package var duration: Double?
    /// The playback position in seconds.
    package var position: Double?
    package var played: Bool = false
    /// Whether the episode is completely cached.
    package var complete: Bool = false
    /// The MIME type according to the feed.
    package var type: String?

    /// The position in seconds from which an unplayed episode counts as in progress.
    package static let inProgressThreshold = ListeningRules.inProgress
}

/// The title of an episode, for a search over all shows.
package struct TitleEntry: Sendable, Equatable {
    package var id: EpisodeID
    package var show: ShowID
    package var title: String
}

extension Library {
    /// Returns the episodes in progress, the most recently played first.
    package func episodesInProgress(limit: Int) throws -> [ShelfEpisode] {
        try shelf(
            "AND e.played = 0 AND e.position >= ? ORDER BY coalesce(e.last_played, e.last_opened, 0) DESC, e.moment DESC LIMIT ?",
            [ShelfEpisode.inProgressThreshold, limit])
    }

    /// Returns the newest episodes of all subscribed shows.
    package func newestEpisodes(limit: Int) throws -> [ShelfEpisode] {
        try shelf("ORDER BY e.moment DESC, e.id DESC LIMIT ?", [limit])
    }

    /// Returns the first episodes of a view, in its order.
    package func shelf(of view: ViewID, limit: Int) throws -> [ShelfEpisode] {
        // CROSS JOIN keeps SQLite from reordering the tables, so that it reads the view's rows in their order and stops
        // at the limit.
        try shelf(
            from: "view_episode v CROSS JOIN episode e ON e.id = v.episode",
            "AND v.view = ? ORDER BY v.rank, v.tie LIMIT ?", [view, limit])
    }

    /// Returns episodes of subscribed shows, except buried ones, which no listing shows.
    ///
    /// - Parameters:
    ///   - source: The table `episode e`, or a join with it.
    ///   - condition: The end of the statement: further conditions, the order and the limit.
    private func shelf(
        from source: String = "episode e", _ condition: String, _ arguments: StatementArguments
    ) throws -> [ShelfEpisode] {
        try rows(
            """
            SELECT e.id, e.podcast, e.name, e.title, e.published, e.published_offset, \
            coalesce(e.duration, e.total), e.position, e.played, r.complete, e.type \
            FROM \(source) JOIN podcast p ON p.id = e.podcast \
            LEFT JOIN rendition r ON r.episode = e.id WHERE p.ephemeral = 0 AND e.buried = 0 \(condition)
            """, arguments
        ) { row in
            ShelfEpisode(
                id: row[0], show: row[1], name: row[2], title: row[3], published: row[4], publishedOffset: row[5],
                duration: row[6], position: row[7], played: row[8], complete: row[9] ?? false, type: row[10])
        }
    }

    /// Returns the titles of the newest episodes of all subscribed shows.
    package func titles(limit: Int) throws -> [TitleEntry] {
        try rows(
            """
            SELECT e.id, e.podcast, e.title FROM episode e JOIN podcast p ON p.id = e.podcast \
            WHERE p.ephemeral = 0 AND e.buried = 0 ORDER BY e.moment DESC, e.id DESC LIMIT ?
            """, [limit]
        ) {
            TitleEntry(id: $0[0], show: $0[1], title: $0[2])
        }
    }

    /// Returns the number of unplayed episodes of each show that has any.
    package func unplayedCounts() throws -> [ShowID: Int] {
        try query { db in
            return try Row.fetchCursor(
                db, "SELECT podcast, count(*) FROM episode WHERE buried = 0 AND played = 0 GROUP BY podcast"
            ).dictionary { ($0[0], $0[1]) }
        }
    }
}
