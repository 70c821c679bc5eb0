internal import PodcastFeed
internal import PodcastLibrary

extension LibraryRecovery {
    /// The message that the daemon logs, and that the next command prints. It names the source from which the library
    /// was restored, and the current path of the damaged file, if there is one.
    var notice: String {
        let problem = damaged == nil ? "did not exist" : "was damaged"
        let kept = damaged.map { "; the damaged file is kept as \($0)" } ?? ""
        guard let backup else {
            return "the library \(problem) and had no backup: it was recreated from the subscription list\(kept)"
        }
        let date = PublicationDate(seconds: backup, offset: 0).iso8601
        return "the library \(problem): it was restored from the backup of \(date)\(kept)"
    }
}
