import Platform
import PodcastClient
import PodcastPages
import PodcastProtocol
import Synchronization
import TransferCore

/// Waits for downloads on behalf of a command. They belong to the session shared by all commands, so they continue when
/// the command is interrupted. If the daemon is killed, the command continues with its successor.
struct DownloadWait {
    private let installation: Installation
    private let episodes: [EpisodeID]

    /// The maximum number of consecutive daemons that exit without an event.
    private static let patience = 6

    init(installation: Installation, episodes: [EpisodeID]) {
        self.installation = installation
        // An episode named twice is downloaded and reported once.
        var seen: Set<EpisodeID> = []
        self.episodes = episodes.filter { seen.insert($0).inserted }
    }

    private struct EventState {
        let board = TaskBoard()
        var hasArrived = false
        var done = 0
        var retryErrors = RetryErrorLog()
    }

    /// The reasons for waits that were printed already, where no line can be redrawn.
    struct RetryErrorLog {
        private var printed: [TaskID: String] = [:]

        /// Returns a line for an event with a new reason; `nil` if it needs none.
        mutating func line(for event: Event) -> String? {
            guard let report = event.task, let task = report.id, let path = report.path, !event.endsTask else {
                return nil
            }
            guard let error = report.error else {
                // Bytes have arrived: a later failure is reported again.
                if report.state == .running, report.received ?? 0 > 0 { printed[task] = nil }
                return nil
            }
            if printed.updateValue(error, forKey: task) == error { return nil }
            let wait = event.nextTry.map { Double(max(0, $0 - event.time)) }
            return "\(path): \(StatusReport.reason(error, retryIn: wait))"
        }
    }

    /// Downloads all episodes for which there is space; returns when all others wait for space. The daemon downloads
    /// those later.
    ///
    /// - Returns: A line for each episode that is not complete.
    func run() async throws -> [String] {
        _ = try installation.configuration()
        let progress = ProgressLine()
        defer { progress.finish() }
        let events = Mutex(EventState())
        var remaining = Remaining(episodes: episodes)
        var failures = 0
        while true {
            events.withLock { $0.hasArrived = false }
            let session = try await TransferSession.open(
                .background(identifier: "podfs"), launcher: installation.launcher,
                delegate: { event in
                    events.withLock { events in
                        let now = ContinuousClock.now.seconds
                        events.board.apply(event, now: now)
                        events.hasArrived = true
                        if !progress.isShown, let line = events.retryErrors.line(for: event) { Terminal.error(line) }
                        progress.show(
                            ProgressText.downloads(
                                events.board, done: events.done, of: episodes.count, now: now))
                    }
                })
            defer { session.close() }
            do {
                try await finish(&remaining, in: session) { done in events.withLock { $0.done = done } }
                return remaining.problems
            } catch {
                guard let error = error as? ClientError, error.code == .disconnected else { throw error }
                failures = events.withLock { $0.hasArrived } ? 0 : failures + 1
                guard failures < Self.patience else { throw error }
            }
            await Timers.sleep(for: .milliseconds(100 << failures))
            try Task.checkCancellation()
        }
    }

    /// The downloads that have not ended.
    fileprivate struct Remaining {
        var episodes: [EpisodeID]
        var problems: [String] = []
        /// The sequence number of the last event before the command; `nil` until a daemon has answered.
        var baseline: Int64?
    }

    private func finish(
        _ remaining: inout Remaining, in session: TransferSession, onFinish: (Int) -> Void
    ) async throws {
        // Final events of tasks that ended while no daemon was connected.
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
                continue
            }
            tasks.append(try await session.downloadTask(episode: episode))
        }
        // All tasks are created before the first is started, so that the final event of a quick task is not mistaken
        // for that of a later one.
        for task in tasks { try await task.resume() }
        onFinish(episodes.count - remaining.episodes.count)
        while !tasks.isEmpty {
            var waiting: [(task: DownloadTask, event: Event)] = []
            for task in tasks {
                let event = try await task.finalEventOrSpaceWait()
                if !event.endsTask {
                    waiting.append((task, event))
                    continue
                }
                remaining.record(event, episode: task.episode, path: task.info.path)
                onFinish(episodes.count - remaining.episodes.count)
            }
            let remain = waiting.map(\.task.episode)
            // Some may have been given space when others ended.
            if waiting.count == tasks.count, try await session.waitingForSpace(Set(remain)).count == remain.count {
                for (task, event) in waiting { remaining.record(event, episode: task.episode, path: task.info.path) }
                return
            }
            tasks = waiting.map(\.task)
        }
    }
}

extension DownloadWait.Remaining {
    fileprivate mutating func record(_ end: Event, episode: EpisodeID? = nil, path: String) {
        episodes.removeAll { $0 == episode ?? end.episode }
        if end.kind == .completed { return }
        let reason = end.task?.error ?? "the download was cancelled"
        problems.append("\(path): \(end.endsTask ? "" : "waits: ")\(reason)")
    }
}
