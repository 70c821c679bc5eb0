internal import Foundation
package import PodcastFeed
package import PodcastLibrary
package import TransferCore

/// The copy of the subscription list beside the library, from which a lost library is restored. The format is OPML,
/// which other podcast apps can import. The addresses contain the credentials.
package enum SubscriptionsCopy {
    /// Minimum interval between two copies: an import changes the subscriptions many times a second.
    static let pause = Duration.seconds(1)
    /// Interval between two attempts while the copy cannot be written, for example because the disk is full.
    static let retryPause = Duration.seconds(60)

    /// Returns the list as an OPML document.
    package static func document(_ subscriptions: [Subscription], _ credentials: CredentialStore<ShowID>) -> [UInt8] {
        OPML.document(
            title: "podfs subscriptions",
            subscriptions: subscriptions.lazy.map { $0.outline(url: credentials.address(of: $0).whole) })
    }

    /// Returns the subscriptions in a copy; empty if it is missing or unreadable.
    package static func read(_ path: String) -> [OPML.Subscription] {
        guard let data = FileManager.default.contents(atPath: path) else { return [] }
        return (try? OPML.parse([UInt8](data)))?.subscriptions ?? []
    }
}
