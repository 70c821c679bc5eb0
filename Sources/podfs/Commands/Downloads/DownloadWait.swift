import PodcastPages
import PodcastProtocol
import Transfers

/// A command's wait for downloads.
///
/// The downloads belong to the background session that all commands share, so they continue when the command is
/// interrupted. If the daemon exits or is killed, the command reconnects to the next one.
struct DownloadWait {
    let installation: Installation
    /// The episodes to wait for, without duplicates.
    let episodes: [EpisodeID]

    /// The retry reason printed last for each download, to omit repetitions. Used if no progress line is shown.
    struct RetryErrorLog {
        private var printed: [TaskID: String] = [:]

        /// Returns the line to print for an event; `nil` if its reason is the one printed last, if it has none, or if
        /// it is a final event.
        mutating func line(for event: Event) -> String? {
            guard let task = event.task, task.id != 0, let path = event.path, !event.endsTask else { return nil }
            guard let error = task.error else {
                // Since bytes have arrived, the next failure is printed even if its reason is the same.
                if task.state == .running, task.received > 0 { printed[task.id] = nil }
                return nil
            }
            if printed.updateValue(error, forKey: task.id) == error { return nil }
            let wait = StatusReport.Task(task, now: event.time).retryIn
            return "\(path): \(StatusReport.reason(error, retryIn: wait))"
        }
    }

    /// Downloads the episodes, and returns when each has finished or failed, was cancelled, or waits for space. The
    /// daemon continues the waiting downloads later, once there is space.
    ///
    /// - Returns: A line for each episode that is not complete.
    func run() async throws -> [String] {
        let progress = ProgressLine()
        defer { progress.finish() }
        let board = TaskBoard()
        var retryErrors = RetryErrorLog()
        var downloads = Downloads(episodes)
        var connection: DaemonConnection?
        return try await installation.follow(
            begin: { daemon, received in
                connection = daemon
                let session = SessionConfiguration.background(identifier: "podfs")
                downloads.began(missed: try await daemon.perform(.openSession(session), \.session).ended)
                // The first task is started only after all have been created. If one cannot be created, none is.
                for episode in downloads.remaining {
                    downloads.created(episode, try await daemon.perform(.createTask(episode: episode), \.task))
                }
                for episode in downloads.remaining {
                    downloads.started(episode, after: received())
                    _ = try await daemon.perform(.resumeTask(episode: episode))
                    downloads.confirmed(episode)
                }
                return downloads.remaining.isEmpty ? downloads.problems : nil
            },
            next: { event, number in
                let now = ContinuousClock.now.seconds
                board.apply(event, now: now)
                downloads.apply(event, number)
                if !progress.isShown, let line = retryErrors.line(for: event) { Terminal.error(line) }
                let done = episodes.count - downloads.remaining.count
                progress.show(ProgressText.downloads(board, done: done, of: episodes.count, now: now))
                // Downloads that waited for space may have got space when others ended.
                if downloads.allWaitForSpace, let tasks = try await connection?.perform(.tasks, \.tasks) {
                    downloads.endWaits(Set(tasks.filter { $0.waitsForSpace }.compactMap(\.episode)))
                }
                return downloads.remaining.isEmpty ? downloads.problems : nil
            })
    }

    /// The downloads that have not ended, and the problems of those that have.
    struct Downloads {
        private let episodes: [EpisodeID]
        /// The episodes whose downloads have not ended.
        private(set) var remaining: [EpisodeID]
        private var problem: [EpisodeID: String] = [:]
        private var paths: [EpisodeID: String] = [:]
        /// The started downloads, each with the number of events that the current daemon had sent before.
        private var starts: [EpisodeID: Int] = [:]
        /// The downloads whose start a daemon has confirmed, so that the next one has their tasks too.
        private var confirmed: Set<EpisodeID> = []
        /// The reasons of the downloads that wait for space.
        private var waits: [EpisodeID: String] = [:]
        /// The sequence number of the last event before the command started; `nil` until a daemon has answered.
        private var baseline: Int64?

        init(_ episodes: [EpisodeID]) {
            self.episodes = episodes
            remaining = episodes
        }

        /// A line for each ended episode that is not complete, in the order of the episodes.
        var problems: [String] { episodes.compactMap { problem[$0] } }

        /// Whether all downloads that have not ended wait for space, by the events so far.
        var allWaitForSpace: Bool { !remaining.isEmpty && remaining.allSatisfy { waits[$0] != nil } }

        /// Records the final events of tasks that ended while the command was not connected to a daemon.
        mutating func began(missed events: [Event]) {
            waits = [:]
            if let baseline {
                for event in events where event.sequence > baseline {
                    if let episode = event.episode, remaining.contains(episode) { end(episode, event) }
                }
            } else {
                baseline = events.last?.sequence ?? 0
            }
        }

        /// Records a created task. No event of a cancellation is stored. But a download that was started and is
        /// incomplete has a task, with a number, until it is cancelled.
        mutating func created(_ episode: EpisodeID, _ task: TaskInfo) {
            paths[episode] = task.path
            if confirmed.contains(episode), task.id == 0, task.state != .cached { end(episode, nil) }
        }

        /// - Parameter number: The number of events before the start, which are of an earlier download of the episode.
        mutating func started(_ episode: EpisodeID, after number: Int) { starts[episode] = number }

        mutating func confirmed(_ episode: EpisodeID) { confirmed.insert(episode) }

        mutating func apply(_ event: Event, _ number: Int) {
            guard let task = event.task, let episode = task.episode, let start = starts[episode], number > start else {
                return
            }
            if event.endsTask {
                end(episode, event)
            } else {
                waits[episode] = task.waitsForSpace ? task.error ?? "" : nil
            }
        }

        /// Ends the command's wait if all remaining downloads are among `waiting`, those that wait for space according
        /// to the daemon.
        mutating func endWaits(_ waiting: Set<EpisodeID>) {
            waits = waits.filter { waiting.contains($0.key) }
            guard allWaitForSpace else { return }
            for episode in remaining { problem[episode] = "\(paths[episode] ?? ""): waits: \(waits[episode] ?? "")" }
            remaining = []
        }

        private mutating func end(_ episode: EpisodeID, _ event: Event?) {
            remaining.removeAll { $0 == episode }
            starts[episode] = nil
            if event?.kind == .completed { return }
            let path = paths[episode] ?? event?.path ?? ""
            problem[episode] = "\(path): \(event?.task?.error ?? "the download was cancelled")"
        }
    }
}
