import Platform
import PodcastFilesystem
import PodcastPages
import PodcastProtocol
import Transfers

/// The current tasks according to the daemon's events, for display. Not thread-safe.
final class TaskBoard {
    private let live = LiveTasks()
    /// The time of each task's last event, in seconds of a monotonic clock.
    private var lastEvent: [TaskID: Double] = [:]
    /// The number of downloads and uploads completed since the board was created.
    private(set) var done = 0
    /// The number and the total size in bytes of the downloads that `done` counts.
    private var downloads = (count: 0, bytes: Int64(0))
    /// The transfers that finished or failed since the board was created, newest first; at most `endedLimit`.
    private(set) var ended: [Ended] = []

    /// A transfer that has finished or failed.
    struct Ended {
        var path: String
        var size: Int64?
        /// The reason for the failure; `nil` if the transfer is complete.
        var error: String?
    }

    static let endedLimit = 5

    /// The seconds without an event after which a rate is no longer shown; the daemon reports progress four times a
    /// second.
    private static let rateLifetime = 5.0

    /// Replaces the tasks with the daemon's list, at the start and after connecting to another daemon.
    ///
    /// - Parameter now: Seconds of a monotonic clock.
    func replace(with tasks: [TaskInfo], now: Double) {
        live.replace(with: tasks)
        lastEvent = [:]
        for task in tasks { lastEvent[task.id] = now }
    }

    func apply(_ event: Event, now: Double) {
        live.apply(event)
        guard let info = event.task else { return }
        lastEvent[info.id] = now
        if event.kind == .completed {
            done += 1
            if info.kind == .download {
                downloads.count += 1
                downloads.bytes += LiveTasks.bytes(info.received)
            }
        }
        guard let path = event.path else { return }
        switch event.kind {
        case .completed: addFinished(Ended(path: path, size: info.received))
        case .failed: addFinished(Ended(path: path, error: info.error ?? "no reason is known"))
        default: break
        }
    }

    private func addFinished(_ transfer: Ended) {
        ended.insert(transfer, at: 0)
        if ended.count > Self.endedLimit { ended.removeLast() }
    }

    /// Returns the daemon's description of a task; `nil` if it has ended.
    func info(of task: TaskID) -> TaskInfo? { live.all.first { $0.id == task } }

    /// Returns the tasks, ordered by state, active ones first, then by start.
    func tasks(now: Double) -> [StatusReport.Task] {
        let order = TaskState.counted
        func rank(_ task: StatusReport.Task) -> Int { order.firstIndex(of: task.state) ?? order.count }
        return StatusReport(live.all).tasks.map { task in
            var task = task
            if task.state != .running || now - (lastEvent[task.id] ?? 0) > Self.rateLifetime { task.rate = nil }
            return task
        }
        .sorted { (rank($0), $0.started, $0.id) < (rank($1), $1.started, $1.id) }
    }

    /// The sums over the active downloads and those completed since the board was created.
    struct Total {
        var task: StatusReport.Task
        /// Whether the total size is an estimate, because the size of an active download is not known for certain.
        var isEstimate: Bool
    }

    /// Returns the sums; `nil` if no download is running or queued. A download of unknown size counts as the average of
    /// the others.
    func total(now: Double) -> Total? {
        let active = tasks(now: now).filter {
            $0.kind == .download && ($0.state == .running || $0.state == .queued)
        }
        guard !active.isEmpty else { return nil }
        let known = active.compactMap { task in (task.expected ?? task.estimate).map { max($0, task.received) } }
        let unknown = active.count - known.count
        let sum = known.reduce(0, +)
        let (all, count) = (sum + downloads.bytes, known.count + downloads.count)
        let guess: Int64? = count > 0 ? all / Int64(count) * Int64(unknown) : unknown > 0 ? nil : 0
        let rates = active.compactMap(\.rate)
        let task = TaskInfo(
            id: 0, kind: .download, path: "", state: .running,
            received: active.reduce(downloads.bytes) { $0 + $1.received }, expected: guess.map { all + $0 },
            rate: rates.isEmpty ? nil : rates.reduce(0, +), started: 0)
        return Total(task: StatusReport.Task(task, now: 0), isEstimate: active.contains { $0.expected == nil })
    }
}

/// The output of `podfs status --watch` if standard output is not a terminal: one line each time a task changes state
/// or its progress reaches another tenth.
struct StatusLog {
    /// The states and tenths of progress that were printed last.
    private var printed: [TaskID: (state: TaskState, tenth: Int)] = [:]

    /// Returns the line to print for an event; `nil` if there is nothing new.
    mutating func line(for event: Event) -> String? {
        guard let info = event.task, info.id != 0 else { return nil }
        let (task, state) = (info.id, info.state)
        let isFeed = info.kind != .download && info.kind != .upload
        var report = StatusReport.Task(info, now: event.time)
        if state != .running { report.rate = nil }
        let tenth = Int((report.progress ?? 0) / 10)
        if let last = printed[task], last.state == state, last.tenth >= tenth { return nil }
        let wasKnown = printed[task] != nil
        let hasEnded = event.kind == .completed || state == .remote || state == .cancelled
        printed[task] = hasEnded ? nil : (state, tenth)
        // A cancelled download or finished feed task that was never printed needs no final line.
        if state == .remote, !wasKnown { return nil }
        if isFeed { return "\(state == .remote ? "done" : report.kind.rawValue): \(PlainText.oneLine(report.path))" }
        if state == .remote { report.state = .cancelled }
        return report.line
    }

    /// Records the states of tasks that were printed by other means.
    mutating func record(_ tasks: [StatusReport.Task]) {
        for task in tasks { printed[task.id] = (task.state, Int((task.progress ?? 0) / 10)) }
    }
}
