internal import Platform

/// The rules by which an episode counts as in progress or played, and playback resumes. All numbers are in seconds.
package enum ListeningRules {
    /// The position from which an episode that is not played counts as in progress. A change of the value requires a
    /// migration of the library: the condition of its index `episode_begun` contains the same number.
    package static let inProgress: Double = 30
    /// A start below this position is a start from the beginning.
    package static let beginning: Double = 5
    /// The listening time after which a played episode, started again from the beginning, is marked as not played.
    package static let relisten: Double = 60
    /// The listening time after which a start from the beginning replaces a stored position.
    package static let committed: Double = 10
    /// The distance before the stored position at which playback resumes.
    package static let overlap: Double = 3
    /// The interval between two writes while a player plays.
    package static let writeInterval: Duration = .seconds(10)
    /// The maximum position: ten years; more is a mistake.
    package static let longest: Double = 315_360_000

    /// Whether it is time to write the position of a report; the caller checks whether the position may be stored.
    /// During playback a position is written once an interval, with a tolerance for early timers. `PlayerTracker` sends
    /// the reports, and times them by this function too: so the stored position is never older than the interval.
    ///
    /// - Parameter lastWriteDue: The time of the last report for which this function returned true; `nil` if none.
    static func isWritten(_ phase: ListeningReport.Phase, after lastWriteDue: Instant?, at now: Instant) -> Bool {
        switch phase {
        case .started: false
        case .playing: lastWriteDue.map { now - $0 >= writeInterval * 0.95 } ?? true
        case .seeked, .paused, .stopped: true
        }
    }

    /// Returns the length of the tail, which is usually not listened to: credits and advertisements.
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

/// The listening of an episode, as stored in the library.
package struct StoredListening: Sendable, Codable, Equatable {
    package var played: Bool
    /// The position in seconds.
    package var position: Double?
    /// The duration in seconds: the feed's in the library, the player's in an event if the player has reported one.
    package var duration: Double?

    package init(played: Bool = false, position: Double? = nil, duration: Double? = nil) {
        self.played = played
        self.position = position
        self.duration = duration
    }
}
