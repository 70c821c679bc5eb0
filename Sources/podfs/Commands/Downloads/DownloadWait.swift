import Platform
import PodcastPages
import PodcastProtocol
import Synchronization
import Transfers

/// A command's wait for downloads.
///
/// The downloads belong to the background session that all commands share, so they continue when the command is
/// interrupted. If the daemon exits or is killed, the command reconnects to the next one.
struct DownloadWait {
    private let installation: Installation
    private let episodes: [EpisodeID]

    /// - Parameter episodes: The episodes to wait for, without duplicates.
    init(installation: Installation, episodes: [EpisodeID]) {
        self.installation = installation
        self.episodes = episodes
    }

    /// The state that the callback for events shares with `run`.
    private struct EventState {
        let board = TaskBoard()
        /// Whether the current daemon has sent an event.
        var hasArrived = false
        /// The episodes whose downloads have ended, including failed and cancelled ones, in any order.
        var ended: Set<EpisodeID> = []
        var retryErrors = RetryErrorLog()
    }

    /// The retry reason printed last for each download, to omit repetitions. Used if no progress line is shown.
    struct RetryErrorLog {
        private var printed: [TaskID: String] = [:]

        /// Returns the line to print for an event; `nil` if its reason is the one printed last, if it has none, or if
        /// it is a final event.
        mutating func line(for event: Event) -> String? {
            guard let report = event.task, let task = report.id, let path = report.path, !event.endsTask else {
                return nil
            }
            guard let error = report.error else {
                // Since bytes have arrived, the next failure is printed even if its reason is the same.
                if report.state == .running, report.received ?? 0 > 0 { printed[task] = nil }
                return nil
            }
            if printed.updateValue(error, forKey: task) == error { return nil }
            let wait = event.nextTry.map { Double(max(0, $0 - event.time)) }
            return "\(path): \(StatusReport.reason(error, retryIn: wait))"
        }
    }

    /// Downloads the episodes, and returns when each has finished or failed, was cancelled, or waits for space. The
    /// daemon continues the waiting downloads later, once there is space.
    ///
    /// - Returns: A line for each episode that is not complete.
    func run() async throws -> [String] {
        _ = try installation.configuration()
        let progress = ProgressLine()
        let wanted = Set(episodes)
        defer { progress.finish() }
        let events = Mutex(EventState())
        var remaining = Remaining(episodes: episodes)
        var reconnection = Reconnection()
        while true {
            events.withLock { $0.hasArrived = false }
            let session = try await TransferSession.open(
                .background(identifier: "podfs"), launcher: installation.launcher,
                delegate: { event in
                    events.withLock { events in
                        let now = ContinuousClock.now.seconds
                        events.board.apply(event, now: now)
                        events.hasArrived = true
                        if event.endsTask, let episode = event.episode, wanted.contains(episode) {
                            events.ended.insert(episode)
                        }
                        if !progress.isShown, let line = events.retryErrors.line(for: event) { Terminal.error(line) }
                        progress.show(
                            ProgressText.downloads(
                                events.board, done: events.ended.count, of: episodes.count, now: now))
                    }
                })
            defer { session.close() }
            do {
                try await finish(&remaining, in: session) { episode in events.withLock { _ = $0.ended.insert(episode) }
                }
                return remaining.problems
            } catch {
                guard let error = error as? ClientError, error.code == .disconnected else { throw error }
                if events.withLock({ $0.hasArrived }) { reconnection.succeeded() }
                try await reconnection.wait(after: error)
            }
        }
    }

    /// The downloads that have not ended, and the problems of those that have.
    fileprivate struct Remaining {
        var episodes: [EpisodeID]
        /// The episodes whose downloads have been started.
        var started: Set<EpisodeID> = []
        /// A line for each episode that is not complete.
        var problems: [String] = []
        /// The sequence number of the last event before the command started; `nil` until a daemon has answered.
        var baseline: Int64?
    }

    /// Starts the remaining downloads, and waits until each has ended, or until all that have not ended wait for space.
    /// Records the results in `remaining`. Throws `ClientError` if the daemon exits before that.
    ///
    /// - Parameter onMissed: Called with each episode whose download ended while no daemon was connected.
    private func finish(
        _ remaining: inout Remaining, in session: TransferSession, onMissed: (EpisodeID) -> Void
    ) async throws {
        // Final events of tasks that ended while this command was not connected to a daemon.
        var missed: [EpisodeID: Event] = [:]
        if let baseline = remaining.baseline {
            for event in session.missedEvents where event.sequence > baseline {
                if let episode = event.episode { missed[episode] = event }
            }
        } else {
            remaining.baseline = session.missedEvents.last?.sequence ?? 0
        }
        var tasks: [DownloadTask] = []
        for episode in remaining.episodes {
            if let end = missed[episode] {
                remaining.record(end, path: end.path ?? "")
                onMissed(episode)
                continue
            }
            let task = try await session.downloadTask(episode: episode)
            // No event of a cancellation is stored. But a download that was started and is incomplete has a task, with
            // a number, until it is cancelled.
            if remaining.started.contains(episode), task.info.id == 0, task.info.state != .cached {
                remaining.recordCancelled(episode, path: task.info.path)
                onMissed(episode)
                continue
            }
            tasks.append(task)
        }
        // The first task is started only now, after all have been created. If one cannot be created, none is started.
        for task in tasks {
            try await task.resume()
            remaining.started.insert(task.episode)
        }
        while !tasks.isEmpty {
            var waiting: [(task: DownloadTask, event: Event)] = []
            for task in tasks {
                let event = try await task.finalEventOrSpaceWait()
                if !event.endsTask {
                    waiting.append((task, event))
                    continue
                }
                remaining.record(event, episode: task.episode, path: task.info.path)
            }
            let remain = waiting.map(\.task.episode)
            // Downloads that waited for space may have got space when others ended.
            if waiting.count == tasks.count, try await session.waitingForSpace(Set(remain)).count == remain.count {
                for (task, event) in waiting { remaining.record(event, episode: task.episode, path: task.info.path) }
                return
            }
            tasks = waiting.map(\.task)
        }
    }
}

extension DownloadWait.Remaining {
    private static let cancellation = "the download was cancelled"

    fileprivate mutating func recordCancelled(_ episode: EpisodeID, path: String) {
        episodes.removeAll { $0 == episode }
        problems.append("\(path): \(Self.cancellation)")
    }

    fileprivate mutating func record(_ end: Event, episode: EpisodeID? = nil, path: String) {
        episodes.removeAll { $0 == episode ?? end.episode }
        if end.kind == .completed { return }
        let reason = end.task?.error ?? Self.cancellation
        problems.append("\(path): \(end.endsTask ? "" : "waits: ")\(reason)")
    }
}
