internal import Platform
internal import PodcastProtocol

/// The decisions of the archive's unattended work: when to look at the folder, and which complete file is added next.
///
/// One step runs at a time. The caller performs the step that `next` returns, reports its result, and asks again.
struct ArchiveQueue: Sendable {
    /// The next action of the caller.
    enum Step: Sendable, Equatable {
        /// Look at the folder, and report its state by `examined`.
        case examine
        /// Serve the files again that were detached while the folder was offline; report by `reattached`.
        case reattach
        /// Move the next file, and report by `moved`, `refused`, `failed`, `postponed` or `emptied`.
        case move
        /// Add the files that are missing beside a show's archived episodes; report by `completed`.
        case complete(ShowID)
    }

    private enum Activity { case idle, running }

    private var activity = Activity.idle
    private var state: ArchiveState
    /// Whether there may be files to move.
    private var mayMove = false
    /// The shows whose archived episodes may lack files beside them.
    private var incomplete: Set<ShowID> = []
    /// Whether there may be files to serve again.
    private var mayReattach = true
    /// Whether the folder has to be examined.
    private var mustExamine = true
    /// The files that were refused, with the reasons. They are tried again by the next daemon.
    private(set) var refused: [EpisodeID: String] = [:]
    /// The reason why no file can be moved now, and the time of the next attempt.
    private(set) var pause: (reason: String, until: Instant)?
    private var pauses = 0
    /// The time at which files are tried again that programs had open.
    private var retryAt: Instant?
    private var isReattachmentPostponed = false

    /// The first pause after a failure of the folder, such as a full disk. Each further pause is twice as long.
    private static let firstPause = Duration.seconds(30)
    private static let longestPause = Duration.seconds(900)
    /// The maximum number of refused files that are remembered. Above it nothing is moved.
    static let mostRefused = 1_000

    init(isConfigured: Bool) { state = isConfigured ? .unknown : .unset }

    // MARK: Events

    /// Records that a file may have to be moved.
    mutating func request() { mayMove = true }

    /// Records that files may be missing beside a show's archived episodes.
    mutating func requestCompletion(of show: ShowID) { incomplete.insert(show) }

    /// Records that a file may have to be served again.
    mutating func requestReattachment() { mayReattach = true }

    /// Records that the folder may have come or gone. Ends a pause.
    mutating func folderMayHaveChanged() {
        mustExamine = true
        pause = nil
    }

    /// Records the result of a look at the folder.
    mutating func examined(_ found: ArchiveState, at now: Instant) {
        activity = .idle
        mustExamine = false
        if found != state { mayReattach = true }
        state = found
        if let problem = found.writeProblem, found != .unset {
            suspend(problem, at: now)
        } else {
            (pause, pauses) = (nil, 0)
        }
    }

    /// Records that files are served again.
    ///
    /// - Parameter isComplete: Whether there are no more.
    mutating func reattached(isComplete: Bool) {
        activity = .idle
        mayReattach = !isComplete
    }

    /// Records that only files are left to serve again that programs have open from elsewhere.
    mutating func reattachmentPostponed(at now: Instant) {
        activity = .idle
        (mayReattach, isReattachmentPostponed) = (false, true)
        retryAt = now + Self.firstPause
    }

    /// Records that a file was moved.
    mutating func moved() {
        activity = .idle
        pauses = 0
    }

    /// Records that what could be added beside a show's archived episodes was added.
    mutating func completed() { activity = .idle }

    /// Records that there is no file to move.
    mutating func emptied() {
        activity = .idle
        mayMove = false
    }

    /// Records that only files are left that programs have open.
    mutating func postponed(at now: Instant) {
        activity = .idle
        mayMove = false
        retryAt = now + Self.firstPause
    }

    /// Records that one file could not be moved, for a reason that does not concern others.
    mutating func refused(_ episode: EpisodeID, _ reason: String) {
        activity = .idle
        refused[episode] = reason
    }

    /// Records that no file can be moved now.
    mutating func failed(_ reason: String, at now: Instant) {
        activity = .idle
        mustExamine = true
        suspend(reason, at: now)
    }

    private mutating func suspend(_ reason: String, at now: Instant) {
        let length = min(Self.longestPause, Self.firstPause * (1 << min(pauses, 10)))
        pauses += 1
        pause = (reason, now + length)
    }

    // MARK: Decisions

    /// Returns the next step; `nil` if there is none now.
    mutating func next(at now: Instant) -> Step? {
        guard activity == .idle, state != .unset else { return nil }
        if let pause, pause.until <= now {
            self.pause = nil
            mustExamine = true
        }
        if let retryAt, retryAt <= now {
            self.retryAt = nil
            mayMove = true
            if isReattachmentPostponed { (mayReattach, isReattachmentPostponed) = (true, false) }
        }
        // Files can be served from a read-only folder, although none can be added to it.
        if pause != nil, mustExamine { return nil }
        let step: Step
        if mustExamine {
            step = .examine
        } else if mayReattach, state.readProblem == nil {
            step = .reattach
        } else if mayMove, state == .online, pause == nil, refused.count < Self.mostRefused {
            step = .move
        } else if state == .online, pause == nil, let show = incomplete.popFirst() {
            step = .complete(show)
        } else {
            return nil
        }
        activity = .running
        return step
    }

    /// The time of the next step that depends on the clock; `nil` if there is none. A folder that is offline is
    /// examined again even if nothing waits for it: its files can be served then.
    var due: Instant? {
        activity == .idle ? [pause?.until, retryAt].compactMap(\.self).min() : nil
    }
}
