internal import Listening
package import PodcastLibrary
package import TransferCore

/// The facts about an episode that `EpisodeRemovals` and `AutoDownload` need.
package struct RetainedEpisode: Sendable, Equatable {
    package var id: EpisodeID
    /// The publication time, in seconds since 1970; if the feed has no date, the time at which the episode was first
    /// seen. Determines the order of listings.
    package var moment: Int64
    package var title: String
    /// The duration in seconds; `nil` if the feed does not state it.
    package var duration: Double?
    /// `full`, `trailer` or `bonus`; `nil` if the feed does not state it.
    package var type: String?
    /// Whether the feed listed the episode when it was last fetched.
    package var listed: Bool
    package var cachedBytes: Int64
    /// Whether the whole media file is cached.
    package var complete: Bool
    package var played: Bool
    /// The playback position in seconds.
    package var position: Double?
    package var pinned: Bool
    /// Whether a download of it is queued, running, suspended or failed.
    package var hasTask: Bool
    /// Whether a program has it open.
    package var isOpen: Bool
    /// Whether the server answered the last request for its media with 404 or 410.
    package var isMediaGone: Bool
    /// Whether it was cached or queued by `auto_download`, and nobody has requested it since.
    package var isAutomatic: Bool
    /// Whether a person cancelled its download or evicted it, so that it is not downloaded automatically.
    package var isDeclined: Bool
    /// Whether its media is a stream, which cannot be downloaded.
    package var isStream = false

    package init(
        id: EpisodeID, moment: Int64, title: String = "", duration: Double? = nil, type: String? = nil,
        listed: Bool = true, cachedBytes: Int64 = 0,
        complete: Bool = false, played: Bool = false, position: Double? = nil, pinned: Bool = false,
        hasTask: Bool = false, isOpen: Bool = false, isMediaGone: Bool = false, isAutomatic: Bool = false,
        isDeclined: Bool = false
    ) {
        self.id = id
        self.moment = moment
        self.title = title
        self.duration = duration
        self.type = type
        self.listed = listed
        self.cachedBytes = cachedBytes
        self.complete = complete
        self.played = played
        self.position = position
        self.pinned = pinned
        self.hasTask = hasTask
        self.isOpen = isOpen
        self.isMediaGone = isMediaGone
        self.isAutomatic = isAutomatic
        self.isDeclined = isDeclined
    }

    /// Creates the facts from a library row. The parameters supply what the row does not contain.
    package init(
        _ episode: Episode, isOpen: Bool, isMediaGone: Bool = false, isAutomatic: Bool = false,
        isDeclined: Bool = false
    ) {
        self.init(
            id: episode.id, moment: episode.published ?? episode.firstSeen, title: episode.title,
            duration: episode.duration, type: episode.episodeType,
            listed: episode.listed, cachedBytes: episode.cachedBytes, complete: episode.complete,
            played: episode.played, position: episode.position, pinned: episode.pinned,
            hasTask: episode.download != nil, isOpen: isOpen, isMediaGone: isMediaGone, isAutomatic: isAutomatic,
            isDeclined: isDeclined)
        isStream = episode.isStream
    }

    /// Whether it must not be removed automatically: it is pinned, open, or played in part.
    package var isProtected: Bool {
        pinned || isOpen || ListeningRules.isInProgress(played: played, position: position)
    }

    /// Returns whether `one` precedes `other` in listings, which are sorted newest first. Of two episodes with the same
    /// time, the one added later comes first.
    static func isNewer(_ one: RetainedEpisode, _ other: RetainedEpisode) -> Bool {
        one.moment != other.moment ? one.moment > other.moment : one.id > other.id
    }
}

/// The episodes of a show to remove from the library, in listing order. Pure.
package struct EpisodeRemovals: Sendable, Equatable {
    /// The episodes whose rows become tombstones.
    package let removed: [EpisodeID]

    /// Selects the episodes to remove: those that `keep` excludes, and those that can no longer be read.
    ///
    /// An episode can no longer be read if it has left the feed, the server answers 404 or 410 for its media, and the
    /// cache has no complete copy. A complete copy in the cache may be the only one left anywhere, so such an episode
    /// is removed only if `keep` excludes it.
    ///
    /// Protected episodes are not removed, but `keep = "N episodes"` counts them among the N newest. `now` is in
    /// seconds since 1970.
    package init(_ episodes: [RetainedEpisode], keep: Keep, now: Int64) {
        let sorted = episodes.sorted(by: RetainedEpisode.isNewer)
        // A feed without any episode is usually a temporary mistake of the publisher, so `keep = listed` removes none.
        let isEmptied = !episodes.contains(where: \.listed)
        removed = sorted.enumerated().filter { rank, episode in
            guard !episode.isProtected else { return false }
            if !episode.listed, episode.isMediaGone, !episode.complete { return true }
            return switch keep {
            case .all: false
            case .listed: !episode.listed && !isEmptied
            case .episodes(let count): rank >= count
            case .days(let days): episode.moment < now - Int64(days) * 86_400
            }
        }.map(\.element.id)
    }
}
