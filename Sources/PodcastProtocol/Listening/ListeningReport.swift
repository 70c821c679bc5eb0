internal import Transfers

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
