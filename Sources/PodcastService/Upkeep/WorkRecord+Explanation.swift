internal import PodcastLibrary
internal import PodcastProtocol

extension WorkRecord.Entry {
    /// What is not run, why, and how to run it, in one line.
    package var explanation: String {
        let (what, command) =
            switch item.kind {
            case .refresh: ("the refresh of '\(name)'", "podfs refresh '\(name)'")
            case .sync: ("the exchange with \(name)", "podfs sync run")
            case .upload: ("the upload of '\(name)'", "podfs resume upload:\(item.id)")
            }
        return "\(what) has ended the daemon twice and is left out for a day; \(command) tries it now"
    }
}
