internal import Platform
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
    /// Whether the engine is being asked to cancel it, and it was not requested again since.
    var isCancelling = false
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

/// The downloads by episode, with counts over all of them.
///
/// The driver handles each batch of inputs on a copy of the core. The table is divided into small parts, so that a
/// change in the copy copies one part and not a queue of thousands.
struct DownloadTable: Sendable {
    private static let partCount = 128

    private var parts = [[MediaID: RegisteredDownload]](repeating: [:], count: partCount)
    private(set) var count = 0
    /// The number of downloads that are running or queued.
    private(set) var underWay = 0
    /// The number of downloads that are neither suspended nor failed.
    private(set) var proceeding = 0
    /// The number of automatic downloads that nobody has requested and that are running or queued.
    private(set) var discretionary = 0
    /// The number of bytes in the cache that are not recorded in the library yet.
    private(set) var unrecordedBytes: Int64 = 0

    var isEmpty: Bool { count == 0 }

    var values: some Sequence<RegisteredDownload> { parts.lazy.flatMap(\.values) }

    /// The download of a medium, if there is one.
    subscript(_ media: MediaID) -> RegisteredDownload? {
        get { parts[Self.part(of: media)][media] }
        set {
            let part = Self.part(of: media)
            if let old = parts[part].removeValue(forKey: media) { add(old, -1) }
            guard let newValue else { return }
            parts[part][media] = newValue
            add(newValue, 1)
        }
    }

    mutating func remove(_ media: MediaID) -> RegisteredDownload? {
        defer { self[media] = nil }
        return self[media]
    }

    private static func part(of media: MediaID) -> Int { Int(UInt64(bitPattern: media.rawValue) % UInt64(partCount)) }

    private mutating func add(_ task: RegisteredDownload, _ sign: Int) {
        count += sign
        if task.isUnderWay { underWay += sign }
        if task.canProceed { proceeding += sign }
        if task.isDiscretionary { discretionary += sign }
        unrecordedBytes += Int64(sign) * max(0, task.snapshot.received - task.recordedBytes)
    }
}
