import Platform
import PodcastFilesystem
import PodcastPages
import PodcastProtocol
import Transfers

/// The current tasks according to the daemon's events, for display.
struct TaskBoard {
    private let live = LiveTasks()
    /// The number of downloads and uploads completed since the board was created.
    private(set) var done = 0
    /// The size in bytes of the downloads that `done` counts.
    private var downloaded: Int64 = 0
    /// The last transfers that finished or failed since the board was created, newest first.
    private(set) var ended: [StatusPage.Ended] = []

    private static let endedLimit = 5

    /// Replaces the tasks with the daemon's list, at the start and after connecting to another daemon.
    func replace(with tasks: [TaskInfo]) { live.replace(with: tasks) }

    mutating func apply(_ event: Event) {
        live.apply(event)
        guard let task = event.task, event.kind == .completed || event.kind == .failed else { return }
        if event.kind == .completed {
            done += 1
            if task.kind == .download { downloaded += LiveTasks.bytes(task.received) }
        }
        let error = event.kind == .failed ? task.error ?? "no reason is known" : nil
        ended.insert(StatusPage.Ended(path: task.path, time: event.time, size: task.received, error: error), at: 0)
        ended = Array(ended.prefix(Self.endedLimit))
    }

    /// Returns the daemon's description of a task; `nil` if it has ended.
    func info(of task: TaskID) -> TaskInfo? { live.all.first { $0.id == task } }

    /// The tasks, ordered by state, active ones first, then by start.
    var tasks: [StatusReport.Task] {
        func rank(_ task: StatusReport.Task) -> Int { TaskState.counted.firstIndex(of: task.state) ?? .max }
        return StatusReport(live.all).tasks.sorted { (rank($0), $0.started, $0.id) < (rank($1), $1.started, $1.id) }
    }

    /// The sums over the active downloads and those completed since the board was created; `nil` if no download is
    /// running or queued.
    var total: StatusReport.Task? {
        let active = tasks.filter { $0.kind == .download && ($0.state == .running || $0.state == .queued) }
        guard !active.isEmpty else { return nil }
        let sizes = active.compactMap { task in (task.expected ?? task.estimate).map { max($0, task.received) } }
        let rates = active.compactMap(\.rate)
        let sum = TaskInfo(
            id: 0, kind: .download, path: "", state: .running, received: active.reduce(downloaded) { $0 + $1.received },
            expected: sizes.count == active.count ? sizes.reduce(downloaded, +) : nil,
            rate: rates.isEmpty ? nil : rates.reduce(0, +), started: 0)
        return StatusReport.Task(sum, now: 0)
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
        var report = StatusReport.Task(info, now: event.time)
        if state != .running { report.rate = nil }
        let tenth = Int((report.progress ?? 0) / 10)
        let last = printed[task]
        if let last, last.state == state, last.tenth >= tenth { return nil }
        printed[task] = event.kind == .completed || state == .remote || state == .cancelled ? nil : (state, tenth)
        // A cancelled download or finished feed task that was never printed needs no final line.
        if state == .remote, last == nil { return nil }
        if info.kind != .download, info.kind != .upload {
            return "\(state == .remote ? "done" : report.kind.rawValue): \(PlainText.oneLine(report.path))"
        }
        if state == .remote { report.state = .cancelled }
        return report.line
    }

    /// Records the states of tasks that were printed by other means.
    mutating func record(_ tasks: [StatusReport.Task]) {
        for task in tasks { printed[task.id] = (task.state, Int((task.progress ?? 0) / 10)) }
    }
}
