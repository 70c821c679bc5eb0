internal import PodcastFeed
package import PodcastLibrary

/// The subscriptions as a list for other programs: OPML, with nothing secret in it.
package enum SubscriptionsPage {
    package static let title = "podfs subscriptions"

    /// The same subscriptions give the same bytes.
    package static func document(_ subscriptions: [Subscription]) -> [UInt8] {
        OPML.document(title: title, subscriptions: subscriptions.lazy.map { $0.outline(url: $0.visibleURL) })
    }
}
