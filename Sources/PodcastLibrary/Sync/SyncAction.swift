internal import PodcastProtocol

/// An action on one episode on one device, such as playback, as exchanged with servers of the gPodder API.
package struct SyncAction: Sendable, Equatable {
    /// The kind of an action.
    package enum Kind: String, Sendable {
        case play, download, delete, new
    }

    /// The feed's address.
    package var podcast: String
    /// The media's address, by which the API identifies the episode.
    package var episode: String
    /// The item's guid, if the server stores guids; unlike the media's address, it does not change.
    package var guid: String?
    package var kind: Kind
    package var device: String?
    /// Seconds since 1970 UTC, by the acting device's clock.
    package var timestamp: Int64
    /// The position in seconds at which this stretch of playback began.
    package var started: Int?
    /// The position in seconds that this stretch of playback has reached.
    package var position: Int?
    /// The duration of the episode in seconds.
    package var total: Int?

    package init(
        podcast: String, episode: String, guid: String? = nil, kind: Kind, device: String? = nil, timestamp: Int64,
        started: Int? = nil, position: Int? = nil, total: Int? = nil
    ) {
        self.podcast = podcast
        self.episode = episode
        self.guid = guid
        self.kind = kind
        self.device = device
        self.timestamp = timestamp
        self.started = started
        self.position = position
        self.total = total
    }
}

/// The synchronized playback state of an episode.
///
/// The state is one value rather than a played flag and a position, because some servers (Nextcloud's gpoddersync)
/// store only the last action of an episode, which expresses either the flag or the position. If two states have the
/// same second, the later case of this enumeration wins, or the greater position, so that no progress is lost.
package enum SyncedState: Sendable, Equatable, Comparable {
    case new
    /// The position in seconds, at least 1.
    case begun(Int)
    case played

    /// - Parameters:
    ///   - position: Seconds; `nil` or less than a second means the beginning.
    ///   - total: The duration of the episode in seconds; a position at the end means played. Less than a second means
    ///     unknown.
    package init(played: Bool, position: Double?, total: Double?) {
        // Clamped to the longest plausible episode, which also fits an integer.
        let seconds = position.map { $0.isFinite ? Int(max(0, min($0, Double(Self.longest)))) : 0 } ?? 0
        let end = total.map { $0.isFinite ? Int(max(0, min($0, Double(Self.longest)))) : 0 } ?? 0
        if played || end > 0 && seconds >= end {
            self = .played
        } else {
            self = seconds > 0 ? .begun(seconds) : .new
        }
    }

    /// Returns the state in an action; `nil` for an action without one, such as a download.
    package init?(_ action: SyncAction) {
        switch action.kind {
        case .new: self = .new
        case .download, .delete: return nil
        case .play:
            guard let position = action.position else { return nil }
            self.init(played: false, position: Double(position), total: action.total.map(Double.init))
        }
    }

    /// The maximum position: ten years in seconds, as for `user.podfs.position`. A greater one can only be a mistake.
    package static let longest = Int(ListeningRules.longest)

    /// Returns the action that expresses the state.
    ///
    /// - Parameters:
    ///   - started: Where the last stretch of listening began, in seconds; `nil` if the state does not come from a
    ///     player's report.
    ///   - total: The episode's duration in seconds, if known.
    package func action(
        podcast: String, episode: String, guid: String?, device: String?, timestamp: Int64, started: Double? = nil,
        total: Double?
    ) -> SyncAction {
        let end = SyncedState.begun(0).seconds(total)
        var action = SyncAction(
            podcast: podcast, episode: episode, guid: guid, kind: .play, device: device, timestamp: timestamp)
        switch self {
        case .new: action.kind = .new
        case .begun(let seconds):
            action.started = Self.start(started, upTo: seconds)
            action.position = seconds
            // A duration that is not greater than the position is omitted, because the action would otherwise mean that
            // the episode was played to the end.
            action.total = end.flatMap { $0 > seconds ? $0 : nil }
        case .played:
            let seconds = end ?? 1
            action.started = Self.start(started, upTo: seconds)
            action.position = seconds
            action.total = seconds
        }
        return action
    }

    /// Returns the start position in seconds. If it is unknown, returns the end position: the API has no value for an
    /// unknown start.
    private static func start(_ started: Double?, upTo end: Int) -> Int {
        guard let started, started >= 0, started < Double(end) else { return end }
        return Int(started)
    }

    /// Returns a duration in whole seconds; `nil` if it is unknown or implausible.
    private func seconds(_ total: Double?) -> Int? {
        guard let total, total.isFinite, total >= 1, total <= Double(Self.longest) else { return nil }
        return Int(total)
    }

    package var isPlayed: Bool { self == .played }

    /// The position in seconds of a started episode.
    package var position: Double? {
        if case .begun(let seconds) = self { Double(seconds) } else { nil }
    }
}

/// A state with its time. The greater value wins: the later state or, if two states have the same second, the one
/// further along.
///
/// The device's name does not decide between two states of the same second. Some servers do not store it, so devices
/// could see different names and reach different results. All devices see the same state.
package struct SyncedMoment: Sendable, Equatable, Comparable {
    /// Seconds since 1970 UTC, by the server's clock.
    package var time: Int64
    package var state: SyncedState

    /// Returns the time of this state by the local clock, in seconds since 1970, and no later than `now`.
    ///
    /// - Parameter skew: The seconds to add to a local time to get the server's time.
    func localTime(skew: Int64, now: Int64) -> Int64 {
        min(max(0, SyncTimeRange.bounded(time) - SyncTimeRange.bounded(skew)), max(0, now))
    }

    package static func < (one: Self, other: Self) -> Bool {
        one.time != other.time ? one.time < other.time : one.state < other.state
    }
}
