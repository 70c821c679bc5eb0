internal import Platform
internal import PodcastLibrary
internal import PodcastProtocol

extension WorkRecord.Entry {
    /// The skipped work, the reason, and the command that runs it, in one line.
    package var explanation: String {
        let (what, command) =
            switch item.kind {
            case .refresh: ("the refresh of '\(name)'", "podfs refresh \(ShellQuoting.quoted(name))")
            case .sync: ("the exchange with \(name)", "podfs sync run")
            case .upload: ("the upload of '\(name)'", "podfs resume upload:\(item.id)")
            }
        return "\(what) has crashed the daemon twice and is skipped for a day; \(command) runs it now"
    }
}
