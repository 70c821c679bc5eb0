package import PodcastLibrary
package import TransferCore

/// What retention and automatic downloads must know of an episode.
package struct RetainedEpisode: Sendable, Equatable {
    package var id: EpisodeID
    /// When it was published, or first seen where the feed has no date: what listings are ordered by.
    package var moment: Int64
    /// `full`, `trailer`, `bonus`, or not said.
    package var type: String?
    /// Whether it stands in the feed as last fetched.
    package var listed: Bool
    package var cachedBytes: Int64
    package var complete: Bool
    package var played: Bool
    /// Seconds.
    package var position: Double?
    package var pinned: Bool
    /// Whether a download of it is queued, running, suspended or failed.
    package var hasTask: Bool
    /// A program has it open.
    package var isOpen: Bool
    /// The server answered 404 or 410 for its media, last time it was asked.
    package var isMediaGone: Bool
    /// What is cached or queued of it is there because of `auto_download`, and nobody asked for it since.
    package var isAutomatic: Bool
    /// A person cancelled its download or evicted it: it does not come back by itself.
    package var isDeclined: Bool

    package init(
        id: EpisodeID, moment: Int64, type: String? = nil, listed: Bool = true, cachedBytes: Int64 = 0,
        complete: Bool = false, played: Bool = false, position: Double? = nil, pinned: Bool = false,
        hasTask: Bool = false, isOpen: Bool = false, isMediaGone: Bool = false, isAutomatic: Bool = false,
        isDeclined: Bool = false
    ) {
        self.id = id
        self.moment = moment
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

    /// The facts of a library row, with those that the row does not hold.
    package init(
        _ episode: Episode, isOpen: Bool, isMediaGone: Bool = false, isAutomatic: Bool = false,
        isDeclined: Bool = false
    ) {
        self.init(
            id: episode.id, moment: episode.published ?? episode.firstSeen, type: episode.episodeType,
            listed: episode.listed, cachedBytes: episode.cachedBytes, complete: episode.complete,
            played: episode.played, position: episode.position, pinned: episode.pinned,
            hasTask: episode.download != nil, isOpen: isOpen, isMediaGone: isMediaGone, isAutomatic: isAutomatic,
            isDeclined: isDeclined)
    }

    /// Whether nothing may be taken away by itself: a person pinned it, is in the middle of it, or has it open.
    package var isProtected: Bool { pinned || isOpen || (!played && (position ?? 0) > 0) }

    /// Listings are newest first; of two at one moment the one that was seen last comes first.
    static func isNewer(_ one: RetainedEpisode, _ other: RetainedEpisode) -> Bool {
        one.moment != other.moment ? one.moment > other.moment : one.id > other.id
    }
}

/// Which episodes of a show leave the library. Pure; in the order of listings.
package struct Retention: Sendable, Equatable {
    /// Rows that become tombstones.
    package let rows: [EpisodeID]
    /// Those of them whose media is cached, so that its files go, too.
    package let media: [EpisodeID]

    /// Without regard to `keep`, an episode that left the feed goes when its media answers 404 or 410, since nothing
    /// can be read there any more; but not a complete copy, which may be the last there is.
    ///
    /// What is protected stays and counts among the newest all the same. `now` is in seconds since 1970.
    package init(_ episodes: [RetainedEpisode], keep: Keep, now: Int64) {
        let sorted = episodes.sorted(by: RetainedEpisode.isNewer)
        // A feed without any item is a publisher's mishap, and comes back: it empties no show.
        let isEmptied = !episodes.contains(where: \.listed)
        let leaving = sorted.enumerated().filter { rank, episode in
            guard !episode.isProtected else { return false }
            if !episode.listed, episode.isMediaGone, !episode.complete { return true }
            return switch keep {
            case .all: false
            case .listed: !episode.listed && !isEmptied
            case .episodes(let count): rank >= count
            case .days(let days): episode.moment < now - Int64(days) * 86_400
            }
        }.map(\.element)
        rows = leaving.map(\.id)
        media = leaving.filter { $0.cachedBytes > 0 }.map(\.id)
    }
}
