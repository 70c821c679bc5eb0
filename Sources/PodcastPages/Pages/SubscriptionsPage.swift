internal import PodcastFeed
package import PodcastLibrary

/// The subscriptions as OPML for other programs, without secrets.
package enum SubscriptionsPage {
    package static let title = "podfs subscriptions"

    /// Returns the document. Equal subscriptions give equal bytes.
    package static func document(_ subscriptions: [Subscription]) -> [UInt8] {
        OPML.document(title: title, subscriptions: subscriptions.lazy.map { $0.outline(url: $0.visibleURL) })
    }
}
