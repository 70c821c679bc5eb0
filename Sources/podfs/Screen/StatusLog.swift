import PodcastPages
import PodcastProtocol
import TransferCore

/// The output of `podfs status --watch` if it is not a terminal: one line when a task changes state, and at each tenth
/// of its progress.
struct StatusLog {
    private var said: [TaskID: (state: TaskState, tenth: Int)] = [:]

    /// Returns the line for an event; `nil` if it needs none.
    mutating func line(for event: Event) -> String? {
        guard let known = event.task, let task = known.id else { return nil }
        let state = known.state
        let isFeed = known.kind != .download
        var report = StatusReport.Task(
            id: task, kind: known.kind.rawValue, path: known.path ?? "", state: state,
            received: known.received ?? 0, expected: known.expected, rate: state == .running ? known.rate : nil,
            error: known.error, started: event.time)
        let tenth = Int((report.progress ?? 0) / 10)
        if let last = said[task], last.state == state, last.tenth >= tenth { return nil }
        let wasKnown = said[task] != nil
        let hasEnded = event.kind == .completed || state == .remote
        said[task] = hasEnded ? nil : (state, tenth)
        // The end of a task that was never printed needs no line.
        if state == .remote, !wasKnown { return nil }
        if isFeed { return "\(state == .remote ? "done" : report.kind): \(PlainText.oneLine(report.path))" }
        if state == .remote { report.state = .cancelled }
        return report.line
    }

    /// Records the states of tasks that another part of the output has shown.
    mutating func record(_ tasks: [StatusReport.Task]) {
        for task in tasks { said[task.id] = (task.state, Int((task.progress ?? 0) / 10)) }
    }
}
