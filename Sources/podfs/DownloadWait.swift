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

    private struct Hearing {
        let board = TaskBoard()
        var hasHeard = false
        var done = 0
        var troubles = TroubleLog()
    }

    /// The reasons for waits that were printed already, where no line can be redrawn.
    struct TroubleLog {
        private var said: [TaskID: String] = [:]

        /// Returns a line for an event with a new reason; `nil` if it needs none.
        mutating func line(for event: Event) -> String? {
            guard let report = event.task, let task = report.id, let path = report.path, !event.endsTask else {
                return nil
            }
            guard let error = report.error else {
                // Bytes have arrived: a later failure is reported again.
                if report.state == .running, report.received ?? 0 > 0 { said[task] = nil }
                return nil
            }
            if said.updateValue(error, forKey: task) == error { return nil }
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
        defer { progress.end() }
        let hearing = Mutex(Hearing())
        var rest = Rest(episodes: episodes)
        var failures = 0
        while true {
            hearing.withLock { $0.hasHeard = false }
            let session = try await TransferSession.open(
                .background(identifier: "podfs"), launcher: installation.launcher,
                delegate: { event in
                    hearing.withLock { hearing in
                        let now = ContinuousClock.now.seconds
                        hearing.board.take(event, now: now)
                        hearing.hasHeard = true
                        if !progress.isShown, let line = hearing.troubles.line(for: event) { Terminal.error(line) }
                        progress.show(
                            ProgressText.downloads(
                                hearing.board, done: hearing.done, of: episodes.count, now: now))
                    }
                })
            defer { session.end() }
            do {
                try await finish(&rest, in: session) { done in hearing.withLock { $0.done = done } }
                return rest.problems
            } catch {
                guard let error = error as? ClientError, error.code == .disconnected else { throw error }
                failures = hearing.withLock { $0.hasHeard } ? 0 : failures + 1
                guard failures < Self.patience else { throw error }
            }
            await Timers.sleep(for: .milliseconds(100 << failures))
            try Task.checkCancellation()
        }
    }

    /// The downloads that have not ended.
    fileprivate struct Rest {
        var episodes: [EpisodeID]
        var problems: [String] = []
        /// The sequence number of the last event before the command; `nil` until a daemon has answered.
        var baseline: Int64?
    }

    private func finish(
        _ rest: inout Rest, in session: TransferSession, note: (Int) -> Void
    ) async throws {
        // Final events of tasks that ended while no daemon was connected.
        var missed: [EpisodeID: Event] = [:]
        if let baseline = rest.baseline {
            for event in session.endedWhileAway where event.sequence > baseline {
                if let episode = event.episode { missed[episode] = event }
            }
        } else {
            rest.baseline = session.endedWhileAway.last?.sequence ?? 0
        }
        var tasks: [DownloadTask] = []
        for episode in rest.episodes {
            if let end = missed[episode] {
                rest.take(end, path: end.path ?? "")
                continue
            }
            tasks.append(try await session.downloadTask(episode: episode))
        }
        // All tasks are created before the first is started, so that the final event of a quick task is not mistaken
        // for that of a later one.
        for task in tasks { try await task.resume() }
        note(episodes.count - rest.episodes.count)
        while !tasks.isEmpty {
            var resting: [(task: DownloadTask, event: Event)] = []
            for task in tasks {
                let event = try await task.endOrRest()
                if !event.endsTask {
                    resting.append((task, event))
                    continue
                }
                rest.take(event, episode: task.episode, path: task.info.path)
                note(episodes.count - rest.episodes.count)
            }
            let remain = resting.map(\.task.episode)
            // Some may have been given space when others ended.
            if resting.count == tasks.count, try await session.waitingForSpace(Set(remain)).count == remain.count {
                for (task, event) in resting { rest.take(event, episode: task.episode, path: task.info.path) }
                return
            }
            tasks = resting.map(\.task)
        }
    }
}

extension DownloadWait.Rest {
    fileprivate mutating func take(_ end: Event, episode: EpisodeID? = nil, path: String) {
        episodes.removeAll { $0 == episode ?? end.episode }
        if end.kind == .completed { return }
        let reason = end.task?.error ?? "the download was cancelled"
        problems.append("\(path): \(end.endsTask ? "" : "waits: ")\(reason)")
    }
}
