package import Platform
package import PodcastProtocol
internal import Transfers

/// The state of the players on the session bus, from which reports about episodes are derived. A value without IO.
///
/// A player announces its track, status, rate and seeks, but not its position. The position is read when playback
/// begins, pauses or continues, and every ten seconds while the player plays; between two readings it is extrapolated
/// from the last one at the playback rate.
///
/// A player's messages lead to reports only if its track is an episode that was open in this mount when the bus was
/// connected, or was opened since. So a message on the bus alone cannot cause a report. All times are of a clock that
/// stops while the machine sleeps.
package struct PlayerTracker: Sendable {
    /// A message of a player, or another event that concerns players.
    package enum Input: Sendable {
        /// A player is on the bus. `name` is its bus name without MPRIS's prefix.
        case appeared(PlayerID, name: String, process: Int32?)
        /// A player has left the bus.
        case disappeared(PlayerID)
        /// Changed properties, or the reply to `read`.
        case changed(PlayerID, PlayerProperties)
        /// The signal `Seeked`, with the new position in seconds.
        case seeked(PlayerID, Double)
        /// The reply to `readPosition` in seconds; `nil` for an error or a timeout.
        case position(PlayerID, Double?)
        /// The result of `locate`; `nil` if the URL is not that of an episode in this mount.
        case located(PlayerID, url: String, EpisodeID?)
        /// A program has opened an episode in this mount.
        case opened(EpisodeID)
        /// The daemon's response to a report: the position in seconds to which the player should seek, if any.
        case answered(PlayerID, session: Int, resume: Double?)
        /// The connection to the bus was lost or closed.
        case disconnected
        /// The time of `deadline` has come.
        case tick
    }

    /// An action that the driver, which does the IO, has to perform.
    package enum Effect: Sendable, Equatable {
        /// Reads all properties of the player.
        case read(PlayerID)
        case readPosition(PlayerID)
        /// Finds the episode of a URL that a player's process, if it is known, has announced.
        case locate(PlayerID, url: String, process: Int32?)
        case report(PlayerID, session: Int, ListeningReport)
        /// Asks the player to seek; `from` is its present position. Both positions are in seconds.
        case seek(PlayerID, track: String?, to: Double, from: Double)
    }

    /// The interval between readings of the position while a player plays.
    static let readInterval: Duration = .seconds(10)
    /// The time after a session's start at which the position is read again, because VLC does not announce its initial
    /// seek. Also the delay before the position is requested again if the player has not answered and has no session
    /// yet.
    static let startInterval: Duration = .seconds(1)
    /// The interval between readings of the position while a seek to the stored position is pending.
    static let resumeInterval: Duration = .milliseconds(300)
    /// The time after which the tracker asks the player to seek to the stored position even if playback does not seem
    /// to have started. If the player does not answer the next reading of its position after this time, the tracker
    /// drops the seek.
    static let resumeTimeout: Duration = .seconds(2)
    /// The minimum interval between two reports of announced seeks. A key that is held down causes twenty seeks a
    /// second.
    static let seekInterval: Duration = .seconds(1)
    /// The maximum number of players.
    package static let capacity = 64

    var players: [PlayerID: Player] = [:]
    /// The episodes that were open when the bus was connected, or were opened since.
    private var opened: Set<EpisodeID> = []
    /// The number of the last session. A session is a player's playback of one episode.
    private var lastSession = 0
    /// The effects of the current input.
    var effects: [Effect] = []

    package init() {}

    /// The time at which `tick` is due; `nil` if nothing is scheduled.
    package var deadline: Instant? { players.values.compactMap(\.deadline).min() }

    /// Processes an input.
    package mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
        switch input {
        case .appeared(let id, let name, let process):
            let player = Player(name: name, process: process)
            guard players[id] == nil, players.count < Self.capacity,
                !players.values.contains(where: { $0.isAlias(of: player) })
            else { break }
            players[id] = player
            effects.append(.read(id))
        case .disappeared(let id):
            with(id) { player, tracker in tracker.endSession(id, &player, at: now) }
            players[id] = nil
        case .changed(let id, var properties):
            properties.position = properties.position.flatMap(validPosition)
            if let length = properties.track?.length { properties.track?.length = validPosition(length) }
            with(id) { player, tracker in
                guard player.budget.spend(at: now) else { return }
                tracker.change(id, &player, properties, at: now)
            }
        case .seeked(let id, let position):
            with(id) { player, tracker in
                guard player.budget.spend(at: now), let position = validPosition(position) else { return }
                tracker.seek(id, &player, to: position, at: now)
            }
        case .position(let id, let position):
            with(id) { player, tracker in
                tracker.measure(id, &player, position.flatMap(validPosition), at: now)
            }
        case .located(let id, let url, let episode):
            with(id) { player, tracker in
                guard player.track.url == url else { return }
                player.episode = episode
                tracker.beginSession(id, &player, at: now)
            }
        case .opened(let episode):
            guard opened.insert(episode).inserted else { break }
            for id in players.keys {
                with(id) { player, tracker in
                    if player.episode == episode { tracker.beginSession(id, &player, at: now) }
                }
            }
        case .answered(let id, let session, let resume):
            with(id) { player, _ in
                guard let resume, player.session?.number == session, player.canSeek else { return }
                player.session?.resume = Resume(target: resume, until: now + Self.resumeTimeout)
                player.nextReading = now + Self.resumeInterval
            }
        case .disconnected:
            for id in players.keys { with(id) { player, tracker in tracker.endSession(id, &player, at: now) } }
            (players, opened) = ([:], [])
        case .tick: tick(at: now)
        }
        return exchange(&effects, with: [])
    }

    private mutating func with(_ id: PlayerID, _ body: (inout Player, inout PlayerTracker) -> Void) {
        guard var player = players[id] else { return }
        body(&player, &self)
        players[id] = player
    }

    private mutating func tick(at now: Instant) {
        for id in players.keys {
            with(id) { player, tracker in
                if let until = player.budget.until, until <= now {
                    // Signals of the player have been dropped, so its present state has to be read.
                    player.budget.recover(at: now)
                    tracker.effects.append(.read(id))
                }
                if let due = player.nextReading, due <= now {
                    player.nextReading = player.status == .playing ? now + Self.readInterval : nil
                    tracker.effects.append(.readPosition(id))
                }
                if let due = player.session?.seekDue, due <= now {
                    player.session?.seekDue = nil
                    player.session?.lastSeek = now
                    tracker.report(.seeked, player.estimate(at: now), id, &player, at: now)
                }
            }
        }
    }

    // MARK: Sessions

    /// Begins a session if there is none, and the player plays an episode that was opened in this mount, or has paused
    /// it. If the position is not known, only requests it; the reply begins the session.
    mutating func beginSession(_ id: PlayerID, _ player: inout Player, at now: Instant) {
        guard player.session == nil, player.status != .stopped, let episode = player.episode, opened.contains(episode)
        else { return }
        guard player.position != nil else { return effects.append(.readPosition(id)) }
        lastSession += 1
        player.session = Session(number: lastSession, episode: episode)
        let position = player.estimate(at: now)
        report(.started, position, id, &player, at: now)
        if player.status == .paused { pause(id, &player, at: now) }
        player.nextReading = now + Self.startInterval
    }

    mutating func endSession(_ id: PlayerID, _ player: inout Player, at now: Instant) {
        if player.session != nil { report(.stopped, player.estimate(at: now), id, &player, at: now) }
        player.session = nil
        player.nextReading = nil
    }

    mutating func pause(_ id: PlayerID, _ player: inout Player, at now: Instant) {
        report(.paused, player.estimate(at: now), id, &player, at: now)
        player.session?.isPaused = true
    }

    mutating func report(
        _ phase: ListeningReport.Phase, _ position: Double, _ id: PlayerID, _ player: inout Player, at now: Instant
    ) {
        guard let session = player.session else { return }
        let report = ListeningReport(
            episode: session.episode, process: player.process, player: player.name, phase: phase, position: position,
            duration: player.track.length, rate: player.rate)
        effects.append(.report(id, session: session.number, report))
        if ListeningRules.isWritten(phase, after: session.lastWriteDue, at: now) { player.session?.lastWriteDue = now }
    }
}

/// Returns a position or length from a player, with a negative value raised to 0; `nil` if it is not finite, or beyond
/// `ListeningRules.longest` in either direction.
private func validPosition(_ position: Double) -> Double? {
    position.isFinite && abs(position) <= ListeningRules.longest ? max(0, position) : nil
}

/// The identity of a player on the session bus: its unique name, such as `:1.42`.
package struct PlayerID: Sendable, Hashable {
    package let name: String

    package init(_ name: String) { self.name = name }
}

/// The track that a player has loaded.
package struct PlayerTrack: Sendable, Equatable {
    /// `xesam:url`
    package var url: String?
    /// `mpris:trackid`, an object path.
    package var id: String?
    /// `mpris:length` in seconds.
    package var length: Double?

    /// Whether both are the same track. Players announce a track again when they know more about it, so ids are
    /// compared only if both announcements have one.
    func isSame(as other: PlayerTrack) -> Bool { url == other.url && (id == other.id || id == nil || other.id == nil) }
}

/// The MPRIS property `PlaybackStatus`.
package enum PlayerStatus: String, Sendable {
    case playing = "Playing"
    case paused = "Paused"
    case stopped = "Stopped"
}

/// The properties of `org.mpris.MediaPlayer2.Player` in a message; `nil` for those that it does not contain.
package struct PlayerProperties: Sendable, Equatable {
    package var track: PlayerTrack?
    package var status: PlayerStatus?
    package var rate: Double?
    /// Seconds.
    package var position: Double?
    package var canSeek: Bool?
}

/// A rate limit on the signals of one player: bursts of `capacity`, and `perSecond` in the long run.
struct SignalBudget: Sendable {
    private static let capacity: Double = 50
    private static let perSecond: Double = 5
    /// The budget that an exhausted player must regain before its signals are processed again.
    private static let recovery: Double = 10

    private var left = capacity
    private var updated = Instant.start
    /// The time at which the owner must call `recover(at:)`; `nil` unless the budget is exhausted. Signals are dropped
    /// until that call.
    private(set) var until: Instant?

    /// Counts a signal, and returns whether it may be processed.
    mutating func spend(at now: Instant) -> Bool {
        if until != nil { return false }
        left = min(Self.capacity, left + max(0, seconds(now - updated)) * Self.perSecond) - 1
        updated = now
        guard left < 0 else { return true }
        until = now + .seconds(Self.recovery / Self.perSecond)
        return false
    }

    /// Ends the pause of an exhausted player: its signals are processed again, with a budget of `recovery`.
    mutating func recover(at now: Instant) { (left, updated, until) = (Self.recovery, now, nil) }
}

func seconds(_ duration: Duration) -> Double { Double(duration / .milliseconds(1)) / 1_000 }
