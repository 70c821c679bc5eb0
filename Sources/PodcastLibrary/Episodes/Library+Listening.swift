import GRDB
package import Listening
package import TransferCore

extension Library {
    /// Returns what is stored about the listening of an episode; `nil` if there is no such episode.
    package func listening(of episode: EpisodeID) throws -> StoredListening? {
        try query { db in
            try Row.fetchOne(
                db.cachedStatement(sql: "SELECT played, position, duration FROM episode WHERE id = ? AND buried = 0"),
                arguments: [episode]
            ).map { StoredListening(played: $0[0], position: $0[1], duration: $0[2]) }
        }
    }

    /// Stores the listening that a player has reported.
    package func listened(to episode: EpisodeID, _ change: ListeningChange, now: Int64) throws {
        try write { db in
            // SQLite evaluates all assignments with the old values.
            try db.cachedStatement(
                sql: """
                    UPDATE episode SET changed = ?1, last_played = ?1, played = ?2, position = ?3, started = ?4, total = ?5
                    WHERE id = ?6
                    """
            ).execute(arguments: [now, change.played, change.position, change.started, change.total, episode])
            guard db.changesCount > 0 else { throw LibraryError.noSuchEpisode(episode) }
        }
    }

    /// Marks all episodes of a show as played or as not played.
    ///
    /// - Returns: The number of changed episodes.
    package func setPlayed(podcast: ShowID, _ played: Bool, now: Int64) throws -> Int {
        try write { db in
            guard try Bool.fetchOne(db, sql: "SELECT 1 FROM podcast WHERE id = ?", arguments: [podcast]) != nil else {
                throw LibraryError.noSuchPodcast(podcast)
            }
            let forgets = try played && SyncSQL.hasAccount(db)
            // An episode in progress is not played: "none" leaves its position.
            try db.execute(
                sql: """
                    UPDATE episode SET played = ?1, position = CASE WHEN ?2 THEN NULL ELSE position END,
                        started = NULL, total = NULL, changed = ?3
                    WHERE podcast = ?4 AND buried = 0 AND played <> ?1
                    """, arguments: [played, forgets, now, podcast])
            return db.changesCount
        }
    }
}

extension Episode {
    /// Whether listening has begun and not been finished.
    package var isInProgress: Bool { ListeningRules.isInProgress(played: played, position: position) }
}

/// SQL about listening.
enum ListeningSQL {
    /// The condition of a row of `episode` whose listening has begun and not been finished.
    static let isInProgress = "(played = 0 AND position >= \(ListeningRules.inProgress))"
}
