internal import DaemonCore
internal import Platform
internal import PodcastFeed
internal import TransferCore

extension RefreshFacts {
    /// The facts of a document that was just fetched.
    init(head: ResponseHead, feed: Feed) {
        self.init(
            head: head, updateInterval: feed.updateInterval.map(Int64.init), quietTimes: feed.quietTimes,
            published: feed.items.compactMap { $0.published?.seconds })
    }
}
