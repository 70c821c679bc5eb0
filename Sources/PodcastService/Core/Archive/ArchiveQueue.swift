internal import Platform
internal import PodcastProtocol

/// The decisions of the archive's unattended work: when to look at the folder, and which complete file is added next.
///
/// The caller performs the steps that `next` returns one after the other, and reports the result of each by `finish`.
struct ArchiveQueue: Sendable {
    /// The next action of the caller.
    enum Step: Sendable, Hashable {
        /// Look at the folder.
        case examine
        /// Serve files again that were detached while the folder was offline.
        case reattach
        /// Move the next file.
        case move
        /// Add the files that are missing beside a show's archived episodes.
        case complete(ShowID)
    }

    /// The result of a step.
    enum Result: Sendable {
        case examined(ArchiveState)
        /// The step has to be performed again.
        case more
        case done
        /// Only files are left that programs have open: the step is performed again after a while.
        case postponed
        /// One file could not be moved, for a reason that does not concern others.
        case refused(EpisodeID)
        /// No file can be moved now.
        case failed
    }

    private var state: ArchiveState
    /// The steps that there may be something to do for.
    private var pending: Set<Step> = [.examine, .reattach]
    private var postponed: Set<Step> = []
    /// The files that were refused. They are tried again by the next daemon.
    private(set) var refused: Set<EpisodeID> = []
    /// The time of the next attempt, if no file can be moved now.
    private var pausedUntil: Instant?
    private var pauses = 0
    /// The time at which the postponed steps are performed.
    private var retryAt: Instant?

    /// The first pause after a failure of the folder, such as a full disk. Each further pause is twice as long.
    private static let firstPause = Duration.seconds(30)
    private static let longestPause = Duration.seconds(900)
    /// The maximum number of refused files that are remembered. Above it nothing is moved.
    static let mostRefused = 1_000

    init(isConfigured: Bool) { state = isConfigured ? .unknown : .unset }

    /// Records that a step may be necessary. A look at the folder, which may have come or gone, ends a pause.
    mutating func request(_ step: Step) {
        pending.insert(step)
        if step == .examine { pausedUntil = nil }
    }

    /// Records the result of a step.
    mutating func finish(_ step: Step, _ result: Result, at now: Instant) {
        switch result {
        case .examined(let found):
            pending.remove(.examine)
            if found != state { pending.insert(.reattach) }
            state = found
            if found.writeProblem != nil { suspend(at: now) } else { (pausedUntil, pauses) = (nil, 0) }
        case .more:
            pending.insert(step)
            pauses = 0
        case .done: pending.remove(step)
        case .postponed:
            pending.remove(step)
            postponed.insert(step)
            retryAt = now + Self.firstPause
        case .refused(let episode): refused.insert(episode)
        case .failed:
            pending.insert(.examine)
            suspend(at: now)
        }
    }

    private mutating func suspend(at now: Instant) {
        pausedUntil = now + min(Self.longestPause, Self.firstPause * (1 << min(pauses, 10)))
        pauses += 1
    }

    /// Returns the next step; `nil` if there is none now.
    mutating func next(at now: Instant) -> Step? {
        guard state != .unset else { return nil }
        if let pausedUntil, pausedUntil <= now { request(.examine) }
        if let retryAt, retryAt <= now {
            self.retryAt = nil
            pending.formUnion(postponed)
            postponed = []
        }
        // Files can be served from a read-only folder, although none can be added to it.
        if pending.contains(.examine) { return pausedUntil == nil ? .examine : nil }
        if pending.contains(.reattach), state.readProblem == nil { return .reattach }
        guard state == .online, pausedUntil == nil else { return nil }
        if pending.contains(.move), refused.count < Self.mostRefused { return .move }
        let step = pending.first { $0 != .move && $0 != .reattach }
        // A request during this step has to be performed afterwards.
        if let step { pending.remove(step) }
        return step
    }

    /// The time of the next step that depends on the clock; `nil` if there is none. A folder that is offline is
    /// examined again even if nothing waits for it: its files can be served then.
    var due: Instant? { [pausedUntil, retryAt].compactMap(\.self).min() }
}

/// The availability of the archive folder.
enum ArchiveState: Sendable, Equatable {
    /// The configuration names no folder.
    case unset
    /// Nobody has looked at the folder yet.
    case unknown
    case online
    /// Files can be read, but none can be added: the reason as text.
    case readOnly(String)
    /// Files can neither be read nor added: the reason as text.
    case offline(String)

    /// The reason why files cannot be read; `nil` if they can.
    var readProblem: String? {
        if case .offline(let reason) = self { reason } else { nil }
    }

    /// The reason why files cannot be added; `nil` if they can.
    var writeProblem: String? {
        switch self {
        case .unset: "there is no archive: set archive.folder in podfs.conf(5)"
        case .unknown: "the archive folder has not been examined yet"
        case .online: nil
        case .readOnly(let reason), .offline(let reason): reason
        }
    }
}

/// The names in the archive folder that are not those of shows and episodes.
enum ArchiveNames {
    /// The file with the archive's id.
    static let marker = ".podfs-archive"
    /// The beginning of the names of unfinished files; the installation's id follows.
    static let partial = ".podfs-partial-"

    /// Returns the name for an unfinished file of an installation.
    static func newPartial(_ owner: String) -> String { "\(partial)\(owner)-\(UInt64.random(in: 0 ... .max))" }
}
