internal import PodcastPages
internal import Synchronization

/// Why art, transcripts and chapters could not be opened last. They have no rows that could store it.
final class AssetFailures: Sendable {
    private let reasons = Mutex<[NodeNumber: String]>([:])

    /// The most reasons held at a time; the next open of an asset sets its reason again.
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
