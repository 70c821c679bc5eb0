package import TransferCore

/// What `auto_download` asks for a show: its newest episodes in the cache, and no older ones that nobody asked for.
/// Pure; each list in the order of listings, newest first.
package struct AutoDownload: Sendable, Equatable {
    /// Downloads to begin, as discretionary ones.
    package let enqueue: [EpisodeID]
    /// Automatic downloads under way that are not wanted any more.
    package let cancel: [EpisodeID]
    /// Complete automatic downloads that are no longer among the newest.
    package let evict: [EpisodeID]

    /// - Parameters:
    ///   - episodes: all of the show.
    ///   - count: `auto_download`. With 0, off, nothing new begins and what is under way ends; what is complete stays
    ///     until the cache needs the room, since turning it off is no wish to lose anything.
    ///   - keep: what retention would bury is not fetched.
    package init(_ episodes: [RetainedEpisode], newest count: Int, keep: Keep, now: Int64) {
        let wanted = Self.wanted(episodes, newest: count, keep: keep, now: now)
        let wantedIDs = Set(wanted.map(\.id))
        enqueue = wanted.filter { episode in
            // One that was heard to the end is not fetched for the sake of it.
            !episode.complete && !episode.hasTask && !episode.isDeclined && !episode.played && !episode.isMediaGone
        }.map(\.id)
        let surplus = episodes.sorted(by: RetainedEpisode.isNewer).filter {
            $0.isAutomatic && !wantedIDs.contains($0.id) && !$0.isProtected
        }
        cancel = surplus.filter { !$0.complete && ($0.hasTask || $0.cachedBytes > 0) }.map(\.id)
        evict = count > 0 ? surplus.filter(\.complete).map(\.id) : []
    }

    /// The newest `count` that the feed lists.
    ///
    /// Trailers and bonus items do not count and are not fetched, so that a trailer does not push an episode out; a
    /// show that has nothing else yet is the exception. What was declined counts: the place of an episode that a person
    /// threw out does not go to an older one.
    private static func wanted(
        _ episodes: [RetainedEpisode], newest count: Int, keep: Keep, now: Int64
    ) -> [RetainedEpisode] {
        guard count > 0 else { return [] }
        let leaving = Set(Retention(episodes, keep: keep, now: now).rows)
        let present = episodes.filter { $0.listed && !leaving.contains($0.id) }
        let full = present.filter { ($0.type ?? "full") == "full" }
        return Array((full.isEmpty ? present : full).sorted(by: RetainedEpisode.isNewer).prefix(count))
    }
}
