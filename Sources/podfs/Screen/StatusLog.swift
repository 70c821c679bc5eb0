import PodcastPages
import PodcastProtocol
import TransferCore

/// What `podfs status --watch` prints where nothing can be drawn again: a line when a task changes, and for each tenth of
/// its way.
struct StatusLog {
    private var said: [TaskID: (state: TaskState, tenth: Int)] = [:]

    /// The line that an event is worth, if any.
    mutating func line(for event: Event) -> String? {
        guard let task = event.task, let state = event.state, event.kind != .library, event.kind != .idle else {
            return nil
        }
        let isFeed = event.taskKind != nil
        var report = StatusReport.Task(
            id: task, kind: (event.taskKind ?? .download).rawValue, path: event.path ?? "", state: state,
            received: event.received ?? 0, expected: event.expected, rate: state == .running ? event.rate : nil,
            error: event.error, started: event.time)
        let tenth = Int((report.progress ?? 0) / 10)
        if let last = said[task], last.state == state, last.tenth >= tenth { return nil }
        let wasKnown = said[task] != nil
        let hasEnded = event.kind == .completed || state == .remote
        said[task] = hasEnded ? nil : (state, tenth)
        // Of what is not there, that it is not there is no news.
        if state == .remote, !wasKnown { return nil }
        if isFeed { return "\(state == .remote ? "done" : report.kind): \(PlainText.oneLine(report.path))" }
        if state == .remote { report.state = .cancelled }
        return report.line
    }

    /// Tasks that were told of otherwise.
    mutating func note(_ tasks: [StatusReport.Task]) {
        for task in tasks { said[task.id] = (task.state, Int((task.progress ?? 0) / 10)) }
    }
}
