package import TransferCore

/// The downloads and evictions required by `auto_download` for a show: its newest episodes are to be cached, and no
/// older ones that nobody requested. Pure; each list is in listing order, newest first.
package struct AutoDownload: Sendable, Equatable {
    /// Downloads to start, as discretionary ones.
    package let enqueue: [EpisodeID]
    /// Running automatic downloads that are no longer wanted.
    package let cancel: [EpisodeID]
    /// Complete automatic downloads that are no longer among the newest.
    package let evict: [EpisodeID]

    /// - Parameters:
    ///   - episodes: all episodes of the show.
    ///   - count: `auto_download`. With 0 (off) no download starts and running ones are cancelled; complete ones stay
    ///     until the cache needs the space, since turning it off is no request to delete anything.
    ///   - keep: the show's `keep`; episodes that it would remove are not fetched.
    package init(_ episodes: [RetainedEpisode], newest count: Int, keep: Keep, now: Int64) {
        let wanted = Self.wanted(episodes, newest: count, keep: keep, now: now)
        let wantedIDs = Set(wanted.map(\.id))
        enqueue = wanted.filter { episode in
            // An episode that was played to the end is not fetched again.
            !episode.complete && !episode.hasTask && !episode.isDeclined && !episode.played && !episode.isMediaGone
                && !episode.isStream
        }.map(\.id)
        let surplus = episodes.sorted(by: RetainedEpisode.isNewer).filter {
            $0.isAutomatic && !wantedIDs.contains($0.id) && !$0.isProtected
        }
        cancel = surplus.filter { !$0.complete && ($0.hasTask || $0.cachedBytes > 0) }.map(\.id)
        evict = count > 0 ? surplus.filter(\.complete).map(\.id) : []
    }

    /// Returns the newest `count` episodes that the feed lists.
    ///
    /// Trailers and bonus episodes are left out, so that a trailer does not displace an episode, unless the show has
    /// nothing else yet. Declined episodes count: when a person removes one, an older one does not take its place.
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
