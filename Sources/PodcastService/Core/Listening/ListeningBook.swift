internal import Platform
internal import PodcastProtocol

/// The rules by which players' reports change what is stored. A value without IO: the caller passes the stored state
/// and the time, and stores the change.
///
/// A *stretch* is listening without a seek. An episode becomes played when a stretch that began before the episode's
/// tail reaches the tail; a seek into the tail does not count. The episode stays played until a person clears the mark,
/// or until a player starts it again from the beginning and plays it for a minute.
///
/// Two players may play the same episode. The stored position follows one of them, the *owner*: the one that started,
/// continued or sought last. Once the owner has paused or ended, the next player that reports anything becomes the
/// owner. A report that sets or clears the played mark also changes the stored position, whether or not its player is
/// the owner.
struct ListeningBook: Sendable {
    /// The consequences of a report.
    struct Verdict: Sendable, Equatable {
        /// The change to store; `nil` if there is none, or it is too early to write one.
        var change: ListeningChange?
        /// The position in seconds to which the player should seek, once; `nil` if it should play on.
        var resume: Double?
    }

    fileprivate struct Key: Hashable {
        var source: ListeningReport.Source
        var player: String
        var episode: EpisodeID
    }

    /// One player's listening to one episode, from `started` to `stopped`.
    fileprivate struct Session {
        var process: Int32?
        /// The position at which the stretch began.
        var stretch: Double
        /// The furthest position reported in this stretch.
        var position: Double
        /// The time of the last report.
        var reported: Instant
        var rate: Double
        var isPlaying = true
        /// Seconds of the episode played since the session began, or since a later reported seek to the beginning.
        var listened: Double = 0
        /// Whether the session has begun at the beginning of the episode, by its start or by a reported seek, and has
        /// neither set nor cleared the played mark since then.
        var isFromBeginning: Bool
        /// Whether the player has started from the beginning and may still seek to the stored position, which is
        /// therefore not replaced yet.
        var isTentative: Bool
        /// Whether this stretch has marked the episode as played. If a person clears the mark, the same stretch does
        /// not set it again.
        var hasMarked = false
        /// The time of the last report that `ListeningRules.isWritten` allowed to be written, even if it changed
        /// nothing.
        var lastWriteDue: Instant?

        mutating func beginStretch(at position: Double) {
            stretch = position
            self.position = position
            hasMarked = false
        }
    }

    /// The maximum number of sessions; beyond it, the session whose last report is oldest is dropped. Not every session
    /// gets a `stopped`: a player may be killed together with the process that watches it.
    static let capacity = 256

    private var sessions: [Key: Session] = [:]
    /// The owner of each episode's stored position.
    private var owners: [EpisodeID: Key] = [:]
    /// The time of the last report from a script inside a player, by the player's process.
    private var scripts: [Int32: Instant] = [:]
    /// The time after a script's last report during which reports from the session bus (MPRIS) about the same process
    /// are ignored. They are also ignored while the script has a session.
    private static let scriptLifetime: Duration = .seconds(60)

    /// Processes a report.
    ///
    /// - Parameter now: The time of a clock that never goes back, preferably the clock of the reports' sender,
    ///   CLOCK_MONOTONIC, which stops while the machine sleeps. With another clock, daemon and sender disagree after a
    ///   sleep on when the next write is due, and a position may be written one interval late.
    mutating func handle(
        _ report: ListeningReport, stored: StoredListening, at now: Instant
    ) -> Verdict {
        guard let report = report.validated(within: stored.duration) else { return Verdict() }
        let key = Key(source: report.source, player: report.player, episode: report.episode)
        if let process = report.process {
            if report.source == .script {
                recordScript(process, at: now)
            } else if scripts[process].map({ now - $0 < Self.scriptLifetime }) ?? false
                || sessions.contains(where: { $0.key.source == .script && $0.value.process == process })
            {
                return Verdict()
            }
        }
        if report.phase == .started { return start(report, key, stored, at: now) }
        var session = sessions[key] ?? Self.adopted(report, stored, at: now)
        let isKnown = sessions[key] != nil
        let wasPlaying = session.isPlaying && isKnown
        if report.phase == .seeked {
            session.seek(to: report.position, stored)
        } else {
            session.advance(to: report.position, stored, rate: report.rate, at: now)
        }
        session.reported = now
        session.rate = report.rate
        switch report.phase {
        case .playing: session.isPlaying = true
        case .paused, .stopped: session.isPlaying = false
        case .started, .seeked: break
        }
        var takesOver = false
        if report.phase == .seeked || report.phase == .playing && !wasPlaying || !hasPlayingOwner(of: key) {
            takesOver = owners[report.episode] != key
            owners[report.episode] = key
        }
        let isWritten = ListeningRules.isWritten(report.phase, after: session.lastWriteDue, at: now)
        let change = session.change(
            report, stored, isOwner: owners[report.episode] == key, isWritten: isWritten || takesOver)
        // Do not set `lastWriteDue` if an adopted session begins with `playing`. The sender still follows the intervals
        // that began with a write of the previous daemon, so its next report comes before a whole interval has passed
        // here. Without `lastWriteDue` that report is written too.
        if isWritten, isKnown || report.phase != .playing { session.lastWriteDue = now }
        if report.phase == .stopped {
            remove(key)
        } else {
            sessions[key] = session
            prune()
        }
        return Verdict(change: change)
    }

    private mutating func start(
        _ report: ListeningReport, _ key: Key, _ stored: StoredListening, at now: Instant
    ) -> Verdict {
        let isFromBeginning = report.position < ListeningRules.beginning
        sessions[key] = Session(
            process: report.process, stretch: report.position, position: report.position, reported: now,
            rate: report.rate, isFromBeginning: isFromBeginning, isTentative: isFromBeginning)
        owners[report.episode] = key
        prune()
        guard isFromBeginning else { return Verdict() }
        return Verdict(resume: ListeningRules.resume(stored, duration: report.duration ?? stored.duration))
    }

    /// Returns a session whose start was not reported to this book, for example because it was reported to a previous
    /// daemon. Its stretch begins at the stored position if the reported position is at or shortly after that position,
    /// otherwise at the reported position. Until it reports `playing`, it counts as paused: a paused player may seek.
    private static func adopted(_ report: ListeningReport, _ stored: StoredListening, at now: Instant) -> Session {
        let distance = stored.position.map { report.position - $0 } ?? -1
        let isNear = distance >= 0 && distance <= 3 * Double(ListeningRules.writeInterval.components.seconds)
        return Session(
            process: report.process, stretch: isNear ? report.position - distance : report.position,
            position: report.position, reported: now, rate: report.rate, isPlaying: false,
            listened: isNear ? distance : 0, isFromBeginning: false, isTentative: false)
    }

    /// Whether the episode has an owner, and the owner is the player of `key` or is playing.
    private func hasPlayingOwner(of key: Key) -> Bool {
        guard let owner = owners[key.episode] else { return false }
        return owner == key || sessions[owner]?.isPlaying ?? false
    }

    /// Records the time of a script's report. A script's first report about a process removes the sessions that MPRIS
    /// reports about that process have created.
    private mutating func recordScript(_ process: Int32, at now: Instant) {
        if scripts[process] == nil {
            for (key, session) in sessions where key.source == .mpris && session.process == process { remove(key) }
            scripts = scripts.filter { now - $0.value < Self.scriptLifetime }
        }
        scripts[process] = now
    }

    private mutating func remove(_ key: Key) {
        sessions[key] = nil
        if owners[key.episode] == key { owners[key.episode] = nil }
    }

    private mutating func prune() {
        guard sessions.count > Self.capacity else { return }
        if let oldest = sessions.min(by: { $0.value.reported < $1.value.reported }) { remove(oldest.key) }
    }
}

extension ListeningBook.Session {
    /// Processes a seek that the player has reported.
    mutating func seek(to position: Double, _ stored: StoredListening) {
        beginStretch(at: position)
        if position < ListeningRules.beginning {
            // A new start, such as that of a repeated file.
            isFromBeginning = true
            listened = 0
            return
        }
        if !Self.isResume(to: position, stored) { isTentative = false }
    }

    /// Whether a seek leads to the stored position, or a little before it.
    private static func isResume(to position: Double, _ stored: StoredListening) -> Bool {
        stored.position.map { position <= $0 && position >= $0 - ListeningRules.beginning } ?? false
    }

    /// Processes playback up to a position. A distance that the player cannot have played since its last report
    /// is regarded as a seek that it did not report.
    mutating func advance(to position: Double, _ stored: StoredListening, rate: Double, at now: Instant) {
        let elapsed = isPlaying ? max(0, Double((now - reported) / .milliseconds(1)) / 1_000) : 0
        // Allows a quarter more and five seconds, since reports may be delayed and positions may be estimates.
        let possible = elapsed * max(rate, self.rate) * 1.25 + 5
        let distance = position - self.position
        if distance < -2 || distance > possible {
            beginStretch(at: position)
            if position >= ListeningRules.beginning, !Self.isResume(to: position, stored) { isTentative = false }
            return
        }
        listened += max(0, distance)
        self.position = max(position, self.position)
        if listened >= ListeningRules.committed { isTentative = false }
    }

    /// Returns the change to store; `nil` if there is none. Updates the flags of the session, also if it returns `nil`.
    mutating func change(
        _ report: ListeningReport, _ stored: StoredListening, isOwner: Bool, isWritten: Bool
    ) -> ListeningChange? {
        var played = stored.played
        let end = (report.duration ?? stored.duration).map { $0 - ListeningRules.tail(of: $0) }
        let isInTail = end.map { report.position >= $0 } ?? false
        if report.phase == .seeked {
            // A seek is not listening.
        } else if let end, isInTail, stretch < end, !played, !hasMarked, listened > 0 {
            (played, hasMarked, isFromBeginning) = (true, true, false)
        } else if played, isFromBeginning, !isInTail, listened >= ListeningRules.relisten {
            (played, isFromBeginning) = (false, false)
        }
        guard played == stored.played else {
            return ListeningChange(
                played: played, position: played ? nil : report.position, started: stretch, total: report.duration)
        }
        guard isOwner else { return nil }
        if isTentative, ListeningRules.isInProgress(played: played, position: stored.position) {
            guard let position = stored.position, report.position >= position else { return nil }
            isTentative = false
        }
        guard isWritten else { return nil }
        return ListeningChange(
            played: played, position: played ? stored.position : report.position, started: stretch,
            total: report.duration)
    }
}
