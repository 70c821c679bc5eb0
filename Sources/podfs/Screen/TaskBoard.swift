import PodcastFilesystem
import PodcastPages
import PodcastProtocol
import TransferCore

/// What is known of the tasks by the daemon's events, for who draws it. Belongs to one loop.
final class TaskBoard {
    private let live = LiveTasks()
    /// When something was last heard of a task, by its number.
    private var heard: [TaskID: Double] = [:]
    /// Downloads that have completed since the board was made.
    private(set) var done = 0
    private(set) var doneBytes: Int64 = 0

    /// After so many seconds of silence a rate is no longer true: progress is told four times a second.
    private static let silence = 5.0

    /// The daemon's own list, at the beginning and whenever another daemon has taken over.
    ///
    /// - Parameter now: seconds of a clock that does not jump.
    func replace(with tasks: [TaskInfo], now: Double) {
        live.replace(with: tasks)
        heard = [:]
        for task in tasks { heard[task.id] = now }
    }

    func take(_ event: Event, now: Double) {
        live.take(event)
        if let task = event.task { heard[task] = now }
        if event.kind == .completed {
            done += 1
            doneBytes += LiveTasks.bytes(event.received ?? 0)
        }
    }

    /// The tasks, those that do something first.
    func tasks(now: Double) -> [StatusReport.Task] {
        let order = StatusReport.counted
        func place(_ task: StatusReport.Task) -> Int { order.firstIndex(of: task.state) ?? order.count }
        return StatusReport(live.all).tasks.map { task in
            var task = task
            if task.state != .running || now - (heard[task.id] ?? 0) > Self.silence { task.rate = nil }
            return task
        }
        .sorted { (place($0), $0.started, $0.id) < (place($1), $1.started, $1.id) }
    }

    /// All downloads that are under way or have completed, as if they were one.
    struct Total {
        var task: StatusReport.Task
        /// Whether the size is a guess.
        var isEstimate: Bool
    }

    /// `nil` when nothing is under way. What is queued has no size yet: until a server says, it counts as much as the
    /// others on the average.
    func total(now: Double) -> Total? {
        let active = tasks(now: now).filter {
            $0.kind == "download" && ($0.state == .running || $0.state == .queued)
        }
        guard !active.isEmpty else { return nil }
        let known = active.compactMap { task in task.expected.map { max($0, task.received) } }
        let unknown = active.count - known.count
        let sum = known.reduce(0, +)
        let (all, count) = (sum + doneBytes, known.count + done)
        let guess: Int64? = count > 0 ? all / Int64(count) * Int64(unknown) : unknown > 0 ? nil : 0
        let rates = active.compactMap(\.rate)
        let task = StatusReport.Task(
            id: 0, kind: "download", path: "", state: .running,
            received: active.reduce(doneBytes) { $0 + $1.received }, expected: guess.map { all + $0 },
            rate: rates.isEmpty ? nil : rates.reduce(0, +), error: nil, started: 0)
        return Total(task: task, isEstimate: unknown > 0)
    }
}
