internal import Platform
internal import PodcastPages
internal import Synchronization

/// The reasons of the last failed opens of art, transcripts, chapters and streams, for which the library has no column.
final class AssetFailures: Sendable {
    private let reasons = Mutex<[NodeNumber: String]>([:])

    /// The maximum number of stored reasons. A reason beyond it replaces all the others, which are stored again when
    /// the next open of their asset fails.
    private static let capacity = 1_000

    func set(_ reason: String?, of number: NodeNumber) {
        reasons.withLock { reasons in
            if reasons.count >= Self.capacity, reason != nil { reasons = [:] }
            reasons[number] = reason
        }
    }

    /// Returns the extended attributes of an asset or stream: the reason of its last failed open, if no later one has
    /// succeeded.
    func attributes(of number: NodeNumber) -> [(String, String)] {
        reasons.withLock { $0[number] }.map { [("user.podfs.error", PlainText.oneLine($0))] } ?? []
    }
}
