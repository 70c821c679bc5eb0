/// What somebody did with one episode on one device, as servers of the gPodder API hand it from device to device.
package struct SyncAction: Sendable, Equatable {
    package enum Kind: String, Sendable {
        case play, download, delete, new
    }

    /// The feed's address.
    package var podcast: String
    /// The media's address, which is all that the API has to tell episodes apart by.
    package var episode: String
    /// The item's guid, where the server keeps it: it stays when the address changes.
    package var guid: String?
    package var kind: Kind
    package var device: String?
    /// Seconds since 1970 UTC, by the clock of the device that did it.
    package var timestamp: Int64
    /// Seconds into the episode.
    package var started: Int?
    package var position: Int?
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

/// How far an episode has been heard: all that is kept alike on several devices.
///
/// One value and not two, a mark and a position: some servers keep the last action of an episode alone (Nextcloud's
/// gpoddersync), and an action is either of the two. The order is that in which two states of the same second outrank
/// each other: nothing that was heard is lost.
package enum SyncedState: Sendable, Equatable, Comparable {
    case new
    /// Seconds, at least 1.
    case begun(Int)
    case played

    /// - Parameters:
    ///   - position: seconds; `nil` and less than a second are the beginning.
    ///   - total: of the episode; from there on it has been played. Less than a second tells nothing.
    package init(played: Bool, position: Double?, total: Double?) {
        // Out of range is what no episode lasts, and what does not fit an integer.
        let seconds = position.map { $0.isFinite ? Int(max(0, min($0, Double(Self.longest)))) : 0 } ?? 0
        let end = total.map { $0.isFinite ? Int(max(0, min($0, Double(Self.longest)))) : 0 } ?? 0
        if played || end > 0 && seconds >= end {
            self = .played
        } else {
            self = seconds > 0 ? .begun(seconds) : .new
        }
    }

    /// What an action says of it; `nil` for one that says nothing: a download on another device.
    package init?(_ action: SyncAction) {
        switch action.kind {
        case .new: self = .new
        case .download, .delete: return nil
        case .play:
            guard let position = action.position else { return nil }
            self.init(played: false, position: Double(position), total: action.total.map(Double.init))
        }
    }

    /// Ten years in seconds, as `.position` allows: what is longer is a mistake.
    package static let longest = 315_360_000

    /// The action that tells it.
    ///
    /// - Parameter total: the episode's length in seconds, if it is known.
    package func action(
        podcast: String, episode: String, guid: String?, device: String?, timestamp: Int64, total: Double?
    ) -> SyncAction {
        let end = SyncedState.begun(0).seconds(total)
        var action = SyncAction(
            podcast: podcast, episode: episode, guid: guid, kind: .play, device: device, timestamp: timestamp)
        switch self {
        case .new: action.kind = .new
        case .begun(let seconds):
            action.started = seconds
            action.position = seconds
            // One that is no longer than the position would say that it has been played.
            action.total = end.flatMap { $0 > seconds ? $0 : nil }
        case .played:
            let seconds = end ?? 1
            action.started = seconds
            action.position = seconds
            action.total = seconds
        }
        return action
    }

    private func seconds(_ total: Double?) -> Int? {
        guard let total, total.isFinite, total >= 1, total <= Double(Self.longest) else { return nil }
        return Int(total)
    }

    package var isPlayed: Bool { self == .played }

    package var position: Double? {
        if case .begun(let seconds) = self { Double(seconds) } else { nil }
    }
}

/// A state and when it came about. The greater one is that which holds: the later, and of one second the farther.
///
/// Not the name of the device decides between two of one second, as one might think: some servers do not keep it, and two
/// devices that see different names would come to different ends. The state itself is what all of them see.
package struct SyncedMoment: Sendable, Equatable, Comparable {
    /// Seconds since 1970 UTC, by the server's clock.
    package var time: Int64
    package var state: SyncedState

    package init(time: Int64, state: SyncedState) {
        self.time = time
        self.state = state
    }

    package static func < (one: Self, other: Self) -> Bool {
        one.time != other.time ? one.time < other.time : one.state < other.state
    }
}
