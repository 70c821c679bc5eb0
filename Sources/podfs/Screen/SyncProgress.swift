import PodcastClient
import PodcastProtocol
import Synchronization

/// The progress of a synchronization on standard error, if that is a terminal: the number of shows fetched, added and
/// removed, and the name of the last one.
final class SyncProgress: Sendable {
    private let line = ProgressLine()
    private let done = Mutex(0)

    /// Subscribes to the daemon's events, if the line is shown.
    func begin(_ daemon: DaemonConnection) async throws {
        guard line.isShown else { return }
        _ = try await daemon.perform(.watch)
        line.show("contacting the server")
    }

    /// Handles an event of the daemon.
    func apply(_ event: Event) {
        let isFetch = event.task?.kind == .refresh
        // The removal of a show is reported as a change of the library.
        guard let path = event.path, isFetch || event.kind == .library else { return }
        let count = done.withLock { done in
            if !isFetch || event.endsTask { done += 1 }
            return done
        }
        line.show("\(count) done: \(path)")
    }

    func finish() { line.finish() }
}
