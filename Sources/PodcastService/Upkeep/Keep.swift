internal import Foundation
package import PodcastLibrary
package import PodcastProtocol

/// The setting `keep`, which selects the episodes of a show that stay in the library.
package enum Keep: Sendable, Equatable, CustomStringConvertible {
    case all
    /// The newest episodes, up to this number.
    case episodes(Int)
    /// The episodes published within this number of days.
    case days(Int)
    /// The episodes that the feed lists.
    case listed

    /// The accepted values, for messages.
    package static let forms =
        "\"all\", \"listed\", or a number of episodes or days, such as \"20 episodes\" or \"30 days\""

    /// The maximum number of episodes or days. A larger number has no use: the parser reads at most this many items of
    /// a feed (`FeedLimits.items`), and 100,000 days are 270 years.
    private static let largest = 100_000

    /// Parses one of `forms`, ignoring case; `nil` for everything else.
    package init?(_ text: String) {
        switch text.trimmingCharacters(in: .whitespaces).lowercased() {
        case "all": self = .all
        case "listed": self = .listed
        default:
            guard let (number, unit) = SettingText.numberAndUnit(text), let count = Int(exactly: number),
                (1...Self.largest).contains(count)
            else { return nil }
            switch unit {
            case "episode", "episodes": self = .episodes(count)
            case "day", "days": self = .days(count)
            default: return nil
            }
        }
    }

    /// Returns whether `other` retains everything that this retains, for any feed and date.
    package func isWithin(_ other: Keep) -> Bool {
        switch (self, other) {
        case (_, .all), (.listed, .listed): true
        case (.episodes(let count), .episodes(let most)): count <= most
        case (.days(let count), .days(let most)): count <= most
        default: false
        }
    }

    /// The spelling used in settings.
    package var description: String {
        switch self {
        case .all: "all"
        case .listed: "listed"
        case .episodes(let count): count == 1 ? "1 episode" : "\(count) episodes"
        case .days(let count): count == 1 ? "1 day" : "\(count) days"
        }
    }

    /// Returns the episodes to remove from the library, in listing order: those that this excludes, and those that can
    /// no longer be read.
    ///
    /// An episode can no longer be read if it has left the feed, the server answers 404 or 410 for its media, and the
    /// cache has no complete copy. A complete copy in the cache may be the only one left anywhere, so such an episode
    /// is removed only if `keep` excludes it.
    ///
    /// Protected episodes are not removed, but `keep = "N episodes"` counts them among the N newest. `now` is in
    /// seconds since 1970.
    package func removals(from episodes: [RetainedEpisode], now: Int64) -> [EpisodeID] {
        // A feed without any episode is usually a temporary mistake of the publisher, so `keep = listed` removes none.
        let isEmptied = !episodes.contains(where: \.listed)
        return episodes.sorted(by: RetainedEpisode.isNewer).enumerated().filter { rank, episode in
            guard !episode.isProtected else { return false }
            if !episode.listed, episode.isMediaGone, !episode.complete { return true }
            return switch self {
            case .all: false
            case .listed: !episode.listed && !isEmptied
            case .episodes(let count): rank >= count
            case .days(let days): episode.moment < now - Int64(days) * 86_400
            }
        }.map(\.element.id)
    }
}
