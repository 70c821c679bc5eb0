internal import Foundation

/// The setting `keep`, which selects the episodes of a show that stay in the library.
package enum Keep: Sendable, Equatable {
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
}

extension Keep {
    /// Returns whether `other` retains everything that this retains, for any feed and date.
    package func isWithin(_ other: Keep) -> Bool {
        switch (self, other) {
        case (_, .all), (.listed, .listed): true
        case (.episodes(let count), .episodes(let most)): count <= most
        case (.days(let count), .days(let most)): count <= most
        default: false
        }
    }
}

extension Keep {
    /// A number unique to the value, stored to detect a change.
    var code: Int64 {
        switch self {
        case .all: -1
        case .listed: -2
        case .episodes(let count): Int64(count) * 2
        case .days(let count): Int64(count) * 2 + 1
        }
    }
}

extension Keep: CustomStringConvertible {
    /// The spelling used in settings.
    package var description: String {
        switch self {
        case .all: "all"
        case .listed: "listed"
        case .episodes(let count): count == 1 ? "1 episode" : "\(count) episodes"
        case .days(let count): count == 1 ? "1 day" : "\(count) days"
        }
    }
}
