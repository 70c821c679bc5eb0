import GRDB
package import PodcastProtocol

/// The facts about an episode on which its removal and its automatic download depend.
package struct RetainedEpisode: Sendable, Equatable {
    package var id: EpisodeID
    /// The publication time, in seconds since 1970; if the feed has no date, the time at which the episode was first
    /// seen. Determines the order of listings.
    package var moment: Int64
    package var title: String = ""
    /// The duration in seconds; `nil` if the feed does not state it.
    package var duration: Double?
    /// `full`, `trailer` or `bonus`; `nil` if the feed does not state it.
    package var type: String?
    /// Whether the feed listed the episode when it was last fetched.
    package var listed: Bool = true
    package var cachedBytes: Int64 = 0
    /// Whether the whole media file is cached.
    package var complete: Bool = false
    package var played: Bool = false
    /// The playback position in seconds.
    package var position: Double?
    package var pinned: Bool = false
    /// Whether a download of it is queued, running, suspended or failed.
    package var hasTask: Bool = false
    /// Whether a program has it open.
    package var isOpen: Bool = false
    /// Whether the server answered the last request for its media with 404 or 410.
    package var isMediaGone: Bool = false
    /// Whether it was cached or queued by `auto_download`, and nobody has requested it since.
    package var isAutomatic: Bool = false
    /// Whether a person cancelled its download or evicted it, so that it is not downloaded automatically.
    package var isDeclined: Bool = false
    /// Whether its media is a stream, which cannot be downloaded.
    package var isStream = false
    /// Whether it was removed from the listings because `keep` excluded it.
    package var isBuried = false
    /// The name of its cache file.
    package var file: String?
    /// Whether it has a file in the archive.
    package var isArchived = false

    /// Whether it must not be removed automatically: it is pinned, archived, open, or played in part.
    package var isProtected: Bool {
        pinned || isArchived || isOpen || ListeningRules.isInProgress(played: played, position: position)
    }

    /// Returns whether `one` precedes `other` in listings, which are sorted newest first. Of two episodes with the same
    /// time, the one added later comes first.
    package static func isNewer(_ one: RetainedEpisode, _ other: RetainedEpisode) -> Bool {
        one.moment != other.moment ? one.moment > other.moment : one.id > other.id
    }
}

extension Library {
    /// Returns the episodes of a show, and the buried ones that its feed still lists. Reads only what the rules need:
    /// this is called after each refresh, also of a feed that has not changed.
    ///
    /// - Parameter goneError: The error number of a download whose media the server does not have.
    package func retainedEpisodes(of podcast: ShowID, goneError: Int) throws -> [RetainedEpisode] {
        try rows(
            """
            SELECT e.id, e.moment, e.title, e.duration, e.episode_type, e.listed, r.received, r.complete, \
            e.played, e.position, e.pinned, d.id IS NOT NULL, coalesce(d.error_number = ?2, 0), e.automatic, \
            e.declined, e.name, e.buried, r.file, \
            EXISTS (SELECT 1 FROM archived a WHERE a.episode = e.id) \
            FROM episode e LEFT JOIN rendition r ON r.episode = e.id LEFT JOIN download d ON d.episode = e.id \
            WHERE e.podcast = ?1 AND (e.buried = 0 OR e.buried = 1 AND e.listed = 1)
            """, [podcast, goneError]
        ) { row in
            RetainedEpisode(
                id: row[0], moment: row[1], title: row[2], duration: row[3], type: row[4], listed: row[5],
                cachedBytes: row[bytes: 6] ?? 0, complete: row[7] ?? false, played: row[8], position: row[9],
                pinned: row[10], hasTask: row[11], isMediaGone: row[12], isAutomatic: row[13], isDeclined: row[14],
                isStream: StreamFile.isStream(row[15]), isBuried: row[16], file: row[17], isArchived: row[18])
        }
    }

    /// Returns whether a show has automatic downloads, or buried episodes that its feed still lists.
    package func hasRetention(_ podcast: ShowID) throws -> Bool {
        try value(
            "SELECT 1 FROM episode WHERE podcast = ? AND (automatic = 1 OR buried = 1 AND listed = 1) LIMIT 1",
            [podcast]) ?? false
    }
}
