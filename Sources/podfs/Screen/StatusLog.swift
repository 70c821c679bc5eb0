import Platform
import PodcastPages
import PodcastProtocol
import Transfers

/// The output of `podfs status --watch` if standard output is not a terminal: one line each time a task changes state
/// or its progress reaches another tenth.
struct StatusLog {
    /// The states and tenths of progress that were printed last.
    private var printed: [TaskID: (state: TaskState, tenth: Int)] = [:]

    /// Returns the line to print for an event; `nil` if there is nothing new.
    mutating func line(for event: Event) -> String? {
        guard let known = event.task, let task = known.id else { return nil }
        let state = known.state
        let isFeed = known.kind != .download && known.kind != .upload
        let info = TaskInfo(
            id: task, kind: known.kind, path: known.path ?? "", episode: nil, state: state,
            received: known.received ?? 0, expected: known.expected, rate: state == .running ? known.rate : nil,
            error: known.error, started: event.time)
        var report = StatusReport.Task(info, now: event.time)
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
