package import PodcastLibrary
package import PodcastProtocol
internal import Transfers

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
