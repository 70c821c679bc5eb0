package import Platform

/// A player's report about an episode.
package struct ListeningReport: Sendable, Codable, Equatable {
    /// The player's action that a report describes.
    package enum Phase: String, Sendable, Codable, CaseIterable {
        /// It opened the episode, at `position`.
        case started
        /// It has played up to `position`, and continues.
        case playing
        /// It sought to `position`.
        case seeked
        /// It has played up to `position`, and paused there.
        case paused
        /// It has played up to `position`, and closed the episode or exited.
        case stopped
    }

    /// The origin of a report.
    package enum Source: String, Sendable, Codable {
        /// The player's MPRIS interface on the session bus.
        case mpris
        /// A script in the player. It knows more than the bus, so the bus's reports about its process are ignored.
        case script
    }

    package var episode: EpisodeID
    package var source: Source
    /// The player's process, if known.
    package var process: Int32?
    /// The player's own name, which groups its reports: `vlc`, `mpv.instance42`.
    package var player: String
    package var phase: Phase
    /// Seconds from the beginning of the episode.
    package var position: Double
    /// The duration in seconds according to the player; `nil` if it does not know.
    package var duration: Double?
    /// The speed of playback; 1 is normal.
    package var rate: Double

    package init(
        episode: EpisodeID, source: Source = .mpris, process: Int32? = nil, player: String, phase: Phase,
        position: Double, duration: Double? = nil, rate: Double = 1
    ) {
        self.episode = episode
        self.source = source
        self.process = process
        self.player = player
        self.phase = phase
        self.position = position
        self.duration = duration
        self.rate = rate
    }

    /// The maximum length of a player's name in bytes.
    package static let longestName = 255

    /// Returns the report with a plausible duration, rate and position; `nil` if its position or player is invalid.
    ///
    /// - Parameter known: The duration according to the feed. It bounds the position if the player reports no valid
    ///   duration.
    package func validated(within known: Double?) -> ListeningReport? {
        guard position.isFinite, position <= ListeningRules.longest, !player.isEmpty,
            player.utf8.count <= Self.longestName
        else { return nil }
        var report = self
        if let given = duration, !given.isFinite || given <= 0 || given > ListeningRules.longest {
            report.duration = nil
        }
        // Rounded to milliseconds, so that a stored position is a short text.
        let milliseconds = (max(0, position) * 1_000).rounded() / 1_000
        report.position = min(milliseconds, report.duration ?? known ?? ListeningRules.longest)
        if !rate.isFinite || rate < 0 || rate > 100 { report.rate = 1 }
        return report
    }
}

/// The change that a report makes to an episode.
package struct ListeningChange: Sendable, Equatable {
    package var played: Bool
    /// The position in seconds; `nil` removes the stored one.
    package var position: Double?
    /// The position at which this stretch of listening began, in seconds.
    package var started: Double
    /// The duration in seconds according to the player.
    package var total: Double?

    package init(played: Bool, position: Double?, started: Double, total: Double?) {
        self.played = played
        self.position = position
        self.started = started
        self.total = total
    }
}

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
