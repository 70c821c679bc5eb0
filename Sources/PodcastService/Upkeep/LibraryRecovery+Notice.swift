internal import Foundation
internal import PodcastLibrary

extension LibraryRecovery {
    /// Formats a time as ISO 8601 in UTC.
    ///
    /// - Parameter moment: the time in seconds since 1970.
    fileprivate static func date(_ moment: Int64) -> String {
        ISO8601DateFormatter().string(from: Date(timeIntervalSince1970: TimeInterval(moment)))
    }

    /// The message that the daemon logs, and that the next command prints. It names the source from which the library
    /// was restored, and the current path of the damaged file, if there is one.
    var notice: String {
        let problem = damaged == nil ? "did not exist" : "was damaged"
        let kept = damaged.map { "; the damaged file is kept as \($0)" } ?? ""
        guard let backup else {
            return "the library \(problem) and had no backup: it was recreated from the subscription list\(kept)"
        }
        return "the library \(problem): it was restored from the backup of \(Self.date(backup))\(kept)"
    }
}
