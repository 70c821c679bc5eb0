import PodcastProtocol
import Synchronization

/// The progress of `podfs refresh`: how many of the command's shows have been fetched, and the name of the last one.
/// The daemon may fetch other shows at the same time, which do not count.
final class RefreshProgress: Sendable {
    private let line: ProgressLine
    /// The names of the shows' folders.
    private let shows: Set<String>
    private let fetched = Mutex<Set<String>>([])

    /// - Parameter shows: The names of the shows' folders.
    init(_ line: ProgressLine, shows: [String]) {
        self.line = line
        self.shows = Set(shows)
    }

    /// The number of shows fetched so far.
    var count: Int { fetched.withLock { $0.count } }

    /// Handles an event of the daemon.
    func apply(_ event: Event) {
        guard event.task?.kind == .refresh, let show = event.path, shows.contains(show) else { return }
        if event.endsTask { fetched.withLock { _ = $0.insert(show) } }
        line.show(ProgressText.count(count, of: shows.count, show))
    }
}
