internal import Platform
internal import PodcastLibrary
internal import PodcastProtocol
internal import Transfers

/// A download that clients can see: its row in the library, and the engine's last report.
struct RegisteredDownload: Sendable, Equatable {
    let id: TaskID
    let show: ShowID
    /// The file's path relative to the mount: `SHOW/EPISODE` for an episode.
    var path: String
    /// The identifier of the client session to which the task belongs.
    let session: String
    /// Whether the user has suspended it. The library stores this, so the suspension outlasts a restart of the daemon.
    var isSuspended = false
    /// Whether `auto_download` started it, rather than a person or program.
    var isAutomatic = false
    let created: WallTime
    /// The time at which the download was last requested.
    var asked: WallTime
    /// The size of the file in bytes according to the library, which may be an estimate; `nil` if it is not known.
    var guess: Int64?
    /// The engine's last report.
    var snapshot: DownloadSnapshot
    /// The time of the next attempt after a failure, in whole seconds; `nil` if none is scheduled.
    var nextTry: WallTime?
    /// The time at which `snapshot.received` was last written to the library.
    var recordedAt: Instant?
    /// The value of `snapshot.received` that was last written to the library.
    var recordedBytes: Int64

    var media: MediaID { snapshot.key }

    /// Whether it is running or queued.
    var isUnderWay: Bool { snapshot.state.isActive }

    /// Whether it is neither suspended nor failed.
    var canProceed: Bool { snapshot.state != .suspended && snapshot.state != .failed }

    /// Whether it is an automatic download that nobody has requested, and running or queued.
    var isDiscretionary: Bool { isAutomatic && snapshot.priority == .automatic && isUnderWay }

    /// The task as clients see it.
    var info: TaskInfo {
        var info = TaskInfo(snapshot, nextTry: nextTry)
        (info.id, info.show, info.path, info.session, info.started) = (id, show, path, session, created.seconds)
        if snapshot.total == nil { info.estimate = guess }
        return info
    }
}

extension TaskInfo {
    /// Creates the description of an open or of a probe, or that of a task without the task's own facts.
    init(_ snapshot: DownloadSnapshot, nextTry: WallTime? = nil) {
        self.init(
            id: 0, episode: snapshot.key.episode, state: snapshot.state, received: snapshot.received,
            expected: snapshot.total, rate: snapshot.rate, error: snapshot.error?.message)
        generation = snapshot.generation
        ranges = snapshot.present.isEmpty ? nil : snapshot.present.text
        waitsForSpace = snapshot.isWaitingForSpace
        self.nextTry = nextTry?.seconds
    }
}

/// An upload as clients see it: its row in the library, and the engine's last report.
struct RegisteredUpload: Sendable, Equatable {
    var row: Upload
    /// The engine's last report; `nil` before the first.
    var snapshot: UploadSnapshot?

    var id: TaskID { row.id }

    var state: TaskState { snapshot?.state ?? row.state }

    /// Whether the upload is running or queued.
    var isUnderWay: Bool { state == .running || state == .queued }

    /// Whether the upload is neither suspended nor failed.
    var canProceed: Bool { state != .suspended && state != .failed }

    var info: TaskInfo {
        TaskInfo(
            id: id, kind: .upload, path: row.title, episode: nil, state: state,
            received: snapshot?.sent ?? row.progress.offset, expected: row.size, rate: snapshot?.rate,
            error: snapshot?.error?.message ?? row.error, started: row.created)
    }
}
