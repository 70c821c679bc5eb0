import PodcastLibrary
import PodcastPages
import PodcastProtocol
import PodcastService
import Transfers

/// A value of an episode that `podfs set` changes: `played=true`, `position=1:02:30`, `pinned=true`.
enum EpisodeSetting: Equatable, CustomStringConvertible {
    case played(Bool)
    /// Whether the episode is exempt from eviction.
    case pinned(Bool)
    /// The playback position in seconds.
    case position(Double)

    /// Parses `KEY=VALUE`.
    ///
    /// - Throws: `CommandError` with the allowed values.
    init(_ assignment: String) throws {
        let parts = assignment.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let value = parts.count > 1 ? parts[1] : ""
        switch parts[0] {
        case "played": self = .played(try Self.flag(assignment, value))
        case "pinned": self = .pinned(try Self.flag(assignment, value))
        case "position":
            guard let seconds = Self.seconds(value) else {
                throw Self.refused(assignment, "give seconds or H:MM:SS, such as position=1:02:30")
            }
            self = .position(seconds)
        case let key:
            let keys = ["played", "position", "pinned"]
            let near = LikelyName.nearest(to: key, in: keys).map { "; did you mean '\($0)'?" } ?? ""
            throw Self.refused(assignment, "an episode has played, pinned (true or false) and position=H:MM:SS" + near)
        }
    }

    private static func flag(_ assignment: String, _ value: String) throws -> Bool {
        switch value.lowercased() {
        case "0", "no", "false": return false
        case "1", "yes", "true": return true
        default: throw refused(assignment, "give true or false")
        }
    }

    private static func refused(_ assignment: String, _ advice: String) -> CommandError {
        CommandError(.usage, "'\(assignment)' cannot be set for an episode: \(advice)")
    }

    /// Parses `3750`, `3750.5`, `62:30` or `1:02:30`; numbers after a colon are below 60. `nil` if `text` is malformed.
    static func seconds(_ text: String) -> Double? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard (1...3).contains(parts.count) else { return nil }
        var total = 0.0
        for (index, part) in parts.enumerated() {
            guard part.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }),
                let value = Double(part), index == 0 || value < 60,
                index == parts.count - 1 || !part.contains(".")
            else { return nil }
            total = total * 60 + value
        }
        // JSON has no infinity, so an overflow becomes the largest finite number. The daemon refuses it with a message
        // that states the limit.
        return min(total, .greatestFiniteMagnitude)
    }

    func command(for episode: EpisodeID) -> Command {
        switch self {
        case .played(let value): .setPlayed(episode: episode, value)
        case .pinned(let value): .act(value ? .pin : .unpin, episodes: [episode])
        case .position(let seconds): .setPosition(episode: episode, seconds: seconds)
        }
    }

    var description: String {
        switch self {
        case .played(let value): "played=\(value)"
        case .pinned(let value): "pinned=\(value)"
        case .position(let seconds): "position=\(TimeText.clock(seconds))"
        }
    }

    /// Returns an episode's values as `KEY=VALUE`.
    static func values(of episode: Episode) -> [String] {
        [EpisodeSetting.played(episode.played), .position(episode.position ?? 0), .pinned(episode.pinned)]
            .map(\.description)
    }
}
