internal import Platform
package import Transfers

/// An event, which the daemon sends to every watching client. The library stores final events for days.
package struct Event: Sendable, Codable, Equatable {
    /// The kind of an event, and its subject.
    package enum Body: Sendable, Codable, Equatable {
        /// A task has received or sent more bytes.
        case progress(TaskReport)
        /// The state or the path of a task has changed.
        case state(TaskReport)
        /// The last event of a task that has transferred all bytes.
        case completed(TaskReport)
        /// The last event of a task that failed, or the failure of an open without a task.
        case failed(TaskReport)
        /// A visible episode has changed in the library.
        case episode(EpisodeID, formerName: String?)
        /// A show or its list of episodes has changed in the library. The name is that of its folder.
        case show(ShowID, name: String?, formerName: String?)
        /// A view was added, changed or removed, or its episodes have changed because time has passed.
        case view(name: String, isRemoved: Bool)
        /// The library has stored a media player's report of its playback. The path is `SHOW/EPISODE`.
        case listening(EpisodeID, path: String, StoredListening)
        /// No download or upload is running or queued any more, except for downloads that wait for space.
        case idle
    }

    /// The number of the event; later events have higher numbers.
    package let sequence: Int64
    /// Seconds since 1970 UTC.
    package let time: Int64
    package var body: Body

    package init(sequence: Int64, time: Int64, _ body: Body) {
        self.sequence = sequence
        self.time = time
        self.body = body
    }
}

/// The subject and the progress of a task, in its events.
package struct TaskReport: Sendable, Codable, Equatable {
    /// The task; `nil` for an event without one, such as that of a probe or of a failed open.
    package var id: TaskID?
    package var kind = TaskInfo.Kind.download
    package var episode: EpisodeID?
    package var show: ShowID?
    package var generation: Int?
    package var path: String?
    package var state: TaskState
    /// The number of bytes received, or sent by an upload.
    package var received: Int64?
    /// The total number of bytes; `nil` if it is not known.
    package var expected: Int64?
    /// Bytes per second.
    package var rate: Double?
    /// The cached byte ranges as text, such as `0-999999`.
    package var ranges: String?
    /// The identifier of the client session that created the task.
    package var session: String?
    package var error: String?
    /// Whether the task waits until the cache has space for the whole file; `error` then states the reason.
    package var waitsForSpace = false
    /// The size in bytes that the feed or the duration suggests, while `expected` is unknown.
    package var estimate: Int64?
    /// The time from the event to the next attempt after a failure, in whole milliseconds.
    package var retryIn: Duration?

    package init(id: TaskID?, state: TaskState) {
        self.id = id
        self.state = state
    }
}

extension Event {
    /// The kind of an event, as in the output of `podfs events`.
    package enum Kind: String, Sendable {
        case progress, completed, failed, state, library, listening, idle
    }

    package var kind: Kind {
        switch body {
        case .progress: .progress
        case .state: .state
        case .completed: .completed
        case .failed: .failed
        case .episode, .show, .view: .library
        case .listening: .listening
        case .idle: .idle
        }
    }

    /// The report in an event that concerns a task; `nil` for other events.
    package var task: TaskReport? {
        switch body {
        case .progress(let report), .state(let report), .completed(let report), .failed(let report): report
        case .episode, .show, .view, .listening, .idle: nil
        }
    }

    /// The time of the next attempt after a failure, in seconds since 1970 UTC, at most one second off.
    package var nextTry: Int64? {
        // The limit prevents an overflow of the sum, since `retryIn` comes from another process.
        task?.retryIn.map { time + min(max($0, .zero), .milliseconds(1 << 40)).seconds + 1 }
    }

    /// The episode that the event concerns; `nil` if it concerns none.
    package var episode: EpisodeID? {
        switch body {
        case .episode(let id, _), .listening(let id, _, _): id
        default: task?.episode
        }
    }

    /// The state that a `listening` event reports; `nil` for other events.
    package var listening: StoredListening? {
        if case .listening(_, _, let listening) = body { listening } else { nil }
    }

    /// The path of a task's subject, or of the episode in a `listening` event; for a changed show or view, its name.
    /// `nil` for `episode` and `idle`.
    package var path: String? {
        switch body {
        case .show(_, let name, _): name
        case .view(let name, _): name
        case .listening(_, let path, _): path
        default: task?.path
        }
    }

    /// Whether this is the final event of a task. Also true for the failure of an open without a task.
    package var endsTask: Bool {
        switch body {
        case .completed, .failed: true
        // `remote`: a cancelled download, or a finished fetch of a feed, a search or an asset. `cancelled`: an upload.
        case .state(let report): report.state == .remote || report.state == .cancelled
        case .progress, .episode, .show, .view, .listening, .idle: false
        }
    }
}

/// The tasks that a status lists, and the number of the others: a queue may be thousands long.
package struct TaskList: Sendable, Codable, Equatable {
    /// The listed tasks, ordered by number.
    package let tasks: [TaskInfo]
    /// The number of tasks that are not listed, by state.
    package let omitted: [TaskState: Int]

    /// The number of tasks that a status lists, unless all are asked for.
    package static let limit = 100

    /// Selects the running tasks and the first ones of each other state, up to `limit`.
    package init(_ all: [TaskInfo], limit: Int = .max) {
        func rank(_ task: TaskInfo) -> Int { TaskState.counted.firstIndex(of: task.state) ?? TaskState.counted.count }
        let ranked = all.count <= limit ? all : all.sorted { (rank($0), $0.id) < (rank($1), $1.id) }
        tasks = ranked.prefix(limit).sorted { $0.id < $1.id }
        omitted = ranked.dropFirst(limit).reduce(into: [:]) { $0[$1.state, default: 0] += 1 }
    }
}
