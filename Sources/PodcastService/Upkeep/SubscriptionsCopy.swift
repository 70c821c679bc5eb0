internal import Glibc
internal import Platform
package import PodcastFeed
package import PodcastLibrary
package import PodcastProtocol
internal import SystemPackage
internal import Transfers

/// The copy of the subscription list beside the library, from which a lost library is restored. The format is OPML,
/// which other podcast apps can import. The feed URLs contain the shows' credentials.
package enum SubscriptionsCopy {
    /// Minimum interval between two copies, because an import changes the subscriptions many times a second.
    static let pause = Duration.seconds(1)
    /// Interval between two attempts while the copy cannot be written, for example because the disk is full.
    static let retryPause = Duration.seconds(60)

    /// Returns the list as an OPML document.
    package static func document(_ subscriptions: [Subscription], _ credentials: CredentialStore<ShowID>) -> [UInt8] {
        OPML.document(
            title: "podfs subscriptions",
            subscriptions: subscriptions.lazy.map { $0.outline(url: credentials.address(of: $0).whole) })
    }

    /// The reason, in one line, why a copy cannot be read or is not a list of subscriptions.
    package struct Problem: Error, CustomStringConvertible {
        package let description: String
    }

    /// Returns the subscriptions in a copy; empty if there is no file.
    package static func read(_ path: String) throws(Problem) -> [OPML.Subscription] {
        let bytes: [UInt8]
        do throws(Errno) {
            bytes = try readFile(path)
        } catch {
            // A folder at the path has no subscriptions that could be lost, so it counts as no file.
            if error == .noSuchFileOrDirectory || error == .isDirectory { return [] }
            throw Problem(description: "\(path) cannot be read: \(error.description)")
        }
        do {
            return try OPML.parse(bytes).subscriptions
        } catch {
            throw Problem(description: "\(path) is damaged: \(error)")
        }
    }
}

/// Returns the content of a file.
///
/// - Throws: The error of open(2) or read(2).
func readFile(_ path: String) throws(Errno) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw Errno(rawValue: errno) }
    defer { close(descriptor) }
    guard let bytes = readAll(descriptor) else { throw Errno(rawValue: errno) }
    return bytes
}
