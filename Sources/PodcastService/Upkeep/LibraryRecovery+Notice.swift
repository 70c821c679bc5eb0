internal import Foundation
internal import PodcastLibrary

extension LibraryRecovery {
    /// Formats a time as ISO 8601 in UTC.
    ///
    /// - Parameter moment: the time in seconds since 1970.
    fileprivate static func date(_ moment: Int64) -> String {
        ISO8601DateFormatter().string(from: Date(timeIntervalSince1970: TimeInterval(moment)))
    }

    /// The message for the log and the next command: the damaged library's replacement, and the damaged file's path.
    var notice: String {
        let kept = "the damaged file is kept as \(damaged)"
        guard let backup else {
            return "the library was damaged and had no backup: it was recreated from the subscription list; \(kept)"
        }
        return "the library was damaged: the backup of \(Self.date(backup)) has taken its place; \(kept)"
    }
}
