internal import Platform
package import Transfers

/// An event, which the daemon sends to every watching client.
package struct Event: Sendable, Equatable {
    /// The kind of an event, and its subject.
    package enum Body: Sendable, Equatable {
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
package struct TaskReport: Sendable, Equatable {
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
    package enum Kind: String, Sendable, Codable {
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

// The stored form is one flat JSON object. The library keeps it for days, so a daemon of another version must be able
// to read it.
extension Event: Codable {
    fileprivate struct Stored: Codable {
        var sequence: Int64
        var time: Int64
        var kind: Kind
        var task: TaskID?
        /// `nil` for a download.
        var taskKind: TaskInfo.Kind?
        var id: EpisodeID?
        var podcast: ShowID?
        var generation: Int?
        var path: String?
        var formerName: String?
        var state: TaskState?
        var received: Int64?
        var expected: Int64?
        var rate: Double?
        var ranges: String?
        var session: String?
        var error: String?
        var waitsForSpace: Bool?
        var listening: StoredListening?
        var estimate: Int64?
        /// In milliseconds.
        var retryIn: Int64?
    }

    /// Decodes the stored form. Throws if the state or the subject is missing.
    package init(from decoder: any Decoder) throws {
        let stored = try Stored(from: decoder)
        let body: Body? =
            switch stored.kind {
            case .progress: stored.report.map { .progress($0) }
            case .state: stored.report.map { .state($0) }
            case .completed: stored.report.map { .completed($0) }
            case .failed: stored.report.map { .failed($0) }
            case .library:
                stored.id.map { .episode($0, formerName: stored.formerName) }
                    ?? stored.podcast.map { .show($0, name: stored.path, formerName: stored.formerName) }
                    ?? stored.path.map { .view(name: $0, isRemoved: stored.formerName != nil) }
            case .listening:
                if let id = stored.id, let path = stored.path, let listening = stored.listening {
                    .listening(id, path: path, listening)
                } else {
                    nil
                }
            case .idle: .idle
            }
        guard let body else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(
                    codingPath: decoder.codingPath,
                    debugDescription: "an event of kind \(stored.kind) lacks its state or its subject"))
        }
        self.init(sequence: stored.sequence, time: stored.time, body)
    }

    /// Encodes the stored form.
    package func encode(to encoder: any Encoder) throws {
        var stored = Stored(sequence: sequence, time: time, kind: kind)
        switch body {
        case .progress(let report), .state(let report), .completed(let report), .failed(let report):
            stored.report = report
        case .episode(let id, let formerName): (stored.id, stored.formerName) = (id, formerName)
        case .show(let id, let name, let formerName):
            (stored.podcast, stored.path, stored.formerName) = (id, name, formerName)
        case .view(let name, let isRemoved): (stored.path, stored.formerName) = (name, isRemoved ? name : nil)
        case .listening(let id, let path, let listening):
            (stored.id, stored.path, stored.listening) = (id, path, listening)
        case .idle: break
        }
        try stored.encode(to: encoder)
    }
}

extension Event.Stored {
    fileprivate var report: TaskReport? {
        get {
            guard let state else { return nil }
            var report = TaskReport(id: task, state: state)
            report.kind = taskKind ?? .download
            (report.episode, report.show, report.generation, report.path) = (id, podcast, generation, path)
            (report.received, report.expected, report.rate, report.ranges) = (received, expected, rate, ranges)
            (report.session, report.error, report.waitsForSpace) = (session, error, waitsForSpace ?? false)
            (report.estimate, report.retryIn) = (estimate, retryIn.map { .milliseconds($0) })
            return report
        }
        set {
            guard let report = newValue else { return }
            (task, state, taskKind) = (report.id, report.state, report.kind == .download ? nil : report.kind)
            (id, podcast, generation, path) = (report.episode, report.show, report.generation, report.path)
            (received, expected, rate, ranges) = (report.received, report.expected, report.rate, report.ranges)
            (session, error, waitsForSpace) = (report.session, report.error, report.waitsForSpace ? true : nil)
            (estimate, retryIn) = (report.estimate, report.retryIn?.milliseconds)
        }
    }
}
