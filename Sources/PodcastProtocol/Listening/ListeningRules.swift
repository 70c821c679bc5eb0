package import Platform

/// The rules that decide when an episode counts as in progress or played, and where playback resumes. All numbers are
/// in seconds.
package enum ListeningRules {
    /// The position from which an episode that is not played counts as in progress. The condition of
    /// the library's index `episode_begun` contains the same number.
    package static let inProgress: Double = 30
    /// A start below this position is a start from the beginning.
    package static let beginning: Double = 5
    /// The listening time after which a played episode, started again from the beginning, is marked as not played.
    package static let relisten: Double = 60
    /// The listening time for which a start from the beginning leaves the stored position unchanged. After it, the new
    /// position replaces the stored one.
    package static let committed: Double = 10
    /// The distance before the stored position at which playback resumes.
    package static let overlap: Double = 3
    /// The interval between two writes while a player plays.
    package static let writeInterval: Duration = .seconds(10)
    /// The maximum position: ten years. A larger value is a mistake of the player.
    package static let longest: Double = 315_360_000

    /// Whether it is time to write the position of a report; the caller checks whether the position may be stored.
    /// During playback a position is written once every `writeInterval`, or up to 5% earlier, since timers may be
    /// early. `PlayerTracker` sends the reports. It calls this function too, so that it sends its next report when the
    /// next write is due. During steady playback the stored position is therefore about one interval old at most.
    ///
    /// - Parameter lastWriteDue: The time at which a write was last due, as the caller recorded it; `nil` if the next
    ///   report during playback is to be written at once.
    package static func isWritten(_ phase: ListeningReport.Phase, after lastWriteDue: Instant?, at now: Instant) -> Bool
    {
        switch phase {
        case .started: false
        case .playing: lastWriteDue.map { now - $0 >= writeInterval * 0.95 } ?? true
        case .seeked, .paused, .stopped: true
        }
    }

    /// Returns the length of an episode's tail: the credits and advertisements at its end, which are usually not
    /// listened to.
    package static func tail(of duration: Double) -> Double { min(max(30, duration * 0.02), duration * 0.25) }

    /// Whether listening has begun and is not finished.
    package static func isInProgress(played: Bool, position: Double?) -> Bool {
        !played && (position ?? 0) >= inProgress
    }

    /// Returns the position to which a player that has started from the beginning should seek; `nil` if it should play
    /// on, for example because the stored position is in the tail.
    package static func resume(_ stored: StoredListening, duration: Double?) -> Double? {
        guard isInProgress(played: stored.played, position: stored.position), let position = stored.position else {
            return nil
        }
        if let duration, position >= duration - tail(of: duration) { return nil }
        return position - overlap
    }
}

/// The progress of listening to an episode: its played mark and its position, as in the library or in an event.
package struct StoredListening: Sendable, Codable, Equatable {
    package var played: Bool
    /// The position in seconds.
    package var position: Double?
    /// The duration in seconds. A value read from the library has the duration that the feed states. A value broadcast
    /// in an `Event.listening` has the duration that the player has reported; if the player has reported none, it has
    /// the duration that the feed states.
    package var duration: Double?

    package init(played: Bool = false, position: Double? = nil, duration: Double? = nil) {
        self.played = played
        self.position = position
        self.duration = duration
    }
}
