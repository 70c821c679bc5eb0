import PodcastClient
import PodcastProtocol
import Synchronization

/// How far an exchange with the sync server is, on the terminal behind standard error: shows that were fetched, added or
/// removed, one after the other.
final class SyncProgress: Sendable {
    private let line = ProgressLine()
    private let done = Mutex(0)

    /// Follows what the daemon does, where anybody sees it.
    func begin(_ daemon: DaemonConnection) async throws {
        guard line.isShown else { return }
        _ = try await daemon.perform(.watch)
        line.show("asking the server")
    }

    /// An event of the daemon.
    func take(_ event: Event) {
        let isFetch = event.taskKind == .refresh
        // A show that is removed is told as a change of the library.
        guard let path = event.path, isFetch || event.kind == .library && event.podcast != nil else { return }
        let count = done.withLock { done in
            if isFetch ? event.endsTask : event.podcast != nil { done += 1 }
            return done
        }
        line.show("\(count) done: \(path)")
    }

    func end() { line.end() }
}
