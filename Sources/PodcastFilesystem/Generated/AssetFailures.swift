internal import PodcastPages
internal import Synchronization

/// The reasons of the last failed opens of art, transcripts and chapters, which have no rows in the library to store
/// them.
final class AssetFailures: Sendable {
    private let reasons = Mutex<[NodeNumber: String]>([:])

    /// The maximum number of stored reasons; the next open of an asset stores its reason again.
    private static let most = 1_000

    func set(_ reason: String?, of number: NodeNumber) {
        reasons.withLock { reasons in
            if reasons.count >= Self.most, reason != nil { reasons = [:] }
            reasons[number] = reason
        }
    }

    /// The extended attributes of an asset: the reason for its last failed open, if no later one succeeded.
    func attributes(of number: NodeNumber) -> [(String, String)] {
        reasons.withLock { $0[number] }.map { [("user.podfs.error", PlainText.oneLine($0))] } ?? []
    }
}
