import PodcastProtocol
import Synchronization
import Transfers

/// The progress of a synchronization on standard error, if that is a terminal: the number of shows added, changed and
/// removed, and the name of the last one or the address of the feed that is being fetched.
final class SyncProgress: Sendable {
    private let line = ProgressLine()
    /// The shows that a `show` event has reported as added, changed or removed. The events of an added show's fetch are
    /// not counted.
    private let changed = Mutex<Set<ShowID>>([])

    /// The number of shows added, changed and removed so far.
    var count: Int { changed.withLock { $0.count } }

    /// Synchronizes, showing the progress of it, and prints the result.
    func sync(_ daemon: DaemonConnection, despiteHold: Bool) async throws {
        defer { line.finish() }
        if line.isShown { _ = try await daemon.perform(.watch) }
        line.show("contacting the server")
        let status = try await daemon.perform(.syncNow(despiteHold: despiteHold), \.sync)
        line.finish()
        Terminal.print(SyncStatusCommand.summary(status))
    }

    /// Handles an event of the daemon.
    func apply(_ event: Event) {
        var isShown = event.task?.kind == .refresh
        if case .show(let id, _, _) = event.body {
            changed.withLock { _ = $0.insert(id) }
            isShown = true
        }
        guard isShown, let path = event.path else { return }
        line.show("\(count) done: \(path)")
    }
}
