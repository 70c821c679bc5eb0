internal import Foundation
package import PodcastFeed
package import PodcastLibrary
package import TransferCore

/// The list of the subscriptions beside the library, from which that is made anew when it is lost: OPML, which any podcast
/// program reads, with what the addresses keep secret.
package enum SubscriptionsCopy {
    /// At least this long lies between two writings, in seconds: an import changes the subscriptions many times a second.
    static let pause: Int64 = 1

    /// The list as a document.
    package static func document(_ subscriptions: [Subscription], _ credentials: CredentialStore<ShowID>) -> [UInt8] {
        OPML.document(
            title: "podfs subscriptions",
            subscriptions: subscriptions.lazy.map { $0.outline(url: credentials.address(of: $0).whole) })
    }

    /// The subscriptions in a copy; none when there is no copy, or nothing in it that can be read.
    package static func read(_ path: String) -> [OPML.Subscription] {
        guard let data = FileManager.default.contents(atPath: path) else { return [] }
        return (try? OPML.parse([UInt8](data)))?.subscriptions ?? []
    }
}
