import GRDB
package import PodcastProtocol
internal import Transfers

extension Library {
    /// Returns the stored playback state of an episode; `nil` if there is no such episode or it was removed from all
    /// listings.
    package func listening(of episode: EpisodeID) throws -> StoredListening? {
        try row("SELECT played, position, duration FROM episode WHERE id = ? AND buried = 0", [episode]) {
            StoredListening(played: $0[0], position: $0[1], duration: $0[2])
        }
    }

    /// Stores the playback state that a player has reported.
    ///
    /// - Throws: `noSuchEpisode`.
    package func recordListening(to episode: EpisodeID, _ change: ListeningChange, now: Int64) throws {
        try execute(
            """
            UPDATE episode SET changed = ?1, last_played = ?1, played = ?2, position = ?3, started = ?4, total = ?5
            WHERE id = ?6
            """, [now, change.played, change.position, change.started, change.total, episode],
            orThrow: .noSuchEpisode(episode))
    }

    /// Marks all episodes of a show as played or as not played.
    ///
    /// - Returns: The number of changed episodes.
    /// - Throws: `noSuchPodcast`.
    package func setPlayed(podcast: ShowID, _ played: Bool, now: Int64) throws -> Int {
        try write { db in
            guard try Self.podcastExists(podcast, db) else { throw LibraryError.noSuchPodcast(podcast) }
            // With a sync server the playback state is one value, played or a position, so marking an episode as played
            // clears its position: see podfs-sync(7).
            let clearsPosition = try played && SyncSQL.hasAccount(db)
            // An episode in progress has no played flag, so marking the show as not played does not change it.
            try db.run(
                """
                UPDATE episode SET played = ?1, position = CASE WHEN ?2 THEN NULL ELSE position END,
                    started = NULL, total = NULL, changed = ?3
                WHERE podcast = ?4 AND buried = 0 AND played <> ?1
                """, [played, clearsPosition, now, podcast])
            return db.changesCount
        }
    }
}

extension Episode {
    /// Whether the episode was started and not finished.
    package var isInProgress: Bool { ListeningRules.isInProgress(played: played, position: position) }
}
