internal import Platform

/// The identity of a player on the session bus: its unique name, such as `:1.42`.
package struct PlayerID: Sendable, Hashable, CustomStringConvertible {
    package let name: String

    package init(_ name: String) { self.name = name }

    package var description: String { name }
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
