import GRDB
package import PodcastProtocol
internal import Transfers

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
