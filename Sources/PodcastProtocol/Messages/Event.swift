package import Transfers

/// An event, which the daemon sends to every watching client. The library stores final events for days.
package struct Event: Sendable, Codable, Equatable {
    /// The kind of an event, and its subject.
    package enum Body: Sendable, Codable, Equatable {
        /// A task has received or sent more bytes.
        case progress(TaskInfo)
        /// The state or the path of a task has changed.
        case state(TaskInfo)
        /// The last event of a task that has transferred all bytes.
        case completed(TaskInfo)
        /// The last event of a task that failed, or the failure of an open without a task.
        case failed(TaskInfo)
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

    /// The task that the event concerns, or the open or the probe, whose id is 0; `nil` for other events.
    package var task: TaskInfo? {
        switch body {
        case .progress(let report), .state(let report), .completed(let report), .failed(let report): report
        case .episode, .show, .view, .listening, .idle: nil
        }
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
        default: task.flatMap { $0.path.isEmpty ? nil : $0.path }
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

/// A task as clients see it: in the daemon's lists, and in the events of the task.
package struct TaskInfo: Sendable, Codable, Equatable {
    /// The purpose of a task.
    package enum Kind: String, Sendable, Codable {
        case download, refresh, search, artwork, transcript, upload, archive
    }

    /// 0 for what is not a task: a probe, or an open that waits for a failing server or has failed.
    package var id: TaskID
    package var kind: Kind
    /// The object of the task: `SHOW/EPISODE`, `SHOW/FILE` for an asset, or `SHOW`. For an upload it is the title, for
    /// a search the term, and for a show that is being added the address. Empty if it is not known.
    package var path: String
    /// The episode, if the task concerns one.
    package var episode: EpisodeID?
    package var show: ShowID?
    /// The number of the rendition (version of the media file) that is downloaded.
    package var generation: Int?
    package var state: TaskState
    /// The number of bytes received, or sent by an upload.
    package var received: Int64
    /// The total number of bytes; `nil` if it is not known.
    package var expected: Int64?
    /// Bytes per second.
    package var rate: Double?
    /// The cached byte ranges as text, such as `0-999999`.
    package var ranges: String?
    /// The identifier of the client session that created the task.
    package var session: String?
    package var error: String?
    /// Whether the task waits for space for the whole file; `error` has the reason.
    package var waitsForSpace = false
    /// The size in bytes that the feed or the duration suggests, while `expected` is unknown.
    package var estimate: Int64?
    /// The time of the next attempt after a failure, in seconds since 1970 UTC; `error` has the reason.
    package var nextTry: Int64?
    /// The time at which the task started, in seconds since 1970 UTC.
    package var started: Int64

    package init(
        id: TaskID, kind: Kind = .download, path: String = "", episode: EpisodeID? = nil, state: TaskState,
        received: Int64 = 0, expected: Int64? = nil, rate: Double? = nil, error: String? = nil, started: Int64 = 0
    ) {
        self.id = id
        self.kind = kind
        self.path = path
        self.episode = episode
        self.state = state
        self.received = received
        self.expected = expected
        self.rate = rate
        self.error = error
        self.started = started
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
