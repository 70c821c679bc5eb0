internal import Platform
internal import PodcastFeed
internal import Transfers

extension RefreshFacts {
    /// Creates the facts of a newly fetched document.
    init(head: ResponseHead, feed: Feed) {
        self.init(
            head: head, updateInterval: feed.updateInterval.map(Int64.init), quietTimes: feed.quietTimes,
            published: feed.items.compactMap { $0.published?.seconds })
    }
}
