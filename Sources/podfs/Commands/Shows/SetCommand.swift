import ArgumentParser
import Platform
import PodcastLibrary
import PodcastPages
import PodcastProtocol
import PodcastService
import Transfers

struct SetCommand: PodfsCommand {
    static let configuration = CommandConfiguration(
        commandName: "set", abstract: "Set options of a show, or the playback state of an episode.",
        discussion: """
            A show: auto_download and auto_download_order, _title, _min_duration, _max_duration, _types; keep, \
            names.template, tags, transfers.rate_limit, user_agent, archive; see podfs.conf(5). KEY= removes the show's \
            own value. \
            Without KEY=VALUE all values are printed, with (default) where the show has none of its own.
            prefer=ENCODING chooses among the encodings of new episodes: audio/opus, video, '<=96k'.
            A narrower keep removes episodes at once and prints their number; it needs --yes if any of them is cached or played. \
            With a wider keep the episodes that the feed lists return under their previous names.
            played=all marks all episodes of the show as played, played=none as not played; pinned=all and pinned=none \
            pin and unpin them: pinned episodes are not evicted.
            An episode: played and pinned=true or false, position=SECONDS or H:MM:SS. Without KEY=VALUE its values are \
            printed.

            Examples:
              podfs set 'Example Show' auto_download=3 keep='30 episodes'
              podfs set 'Example Show' played=all
              podfs set 'Example Show/2026-11-20 Pilot.mp3' played=true
            """)

    @Argument(
        help: "A show, or an episode as SHOW/EPISODE or by its path in a mount.", completion: NameCompletion.paths)
    var path: String

    @Argument(help: ArgumentHelp("What to set.", valueName: "key=value"))
    var assignments: [String] = []

    @Flag(help: "Allow keep to remove episodes that are cached or played.")
    var yes = false

    @OptionGroup var report: Reporting

    func perform() async throws {
        let installation = try Installation()
        let library = try installation.existingLibrary()
        // A part of a name suffices to look, not to change.
        switch try PathResolver(library: library).resolve(path, matching: assignments.isEmpty ? .part : .whole) {
        case .show(let id):
            if assignments.isEmpty {
                let own = try library.shownSettings(of: id)
                return ShowSettingList.lines(own, try installation.configuration()).forEach { Terminal.print($0) }
            }
            let marks = try assignments.compactMap { try Mark($0) }
            let settings = assignments.filter { assignment in !Mark.Key.allCases.contains { $0.starts(assignment) } }
            if !settings.isEmpty {
                let command = Command.set(podcast: id, assignments: settings, confirmed: yes)
                let change = try await installation.perform(command, \.settings).kept
                report.print("\(try library.folder(id: id)?.name ?? path): \(Self.changes(settings))")
                if let change, change.removed > 0 {
                    let freed = ByteText.size(change.bytes)
                    report.print("removed \(change.removed) of \(change.total) episodes, \(freed) freed")
                }
                if let returned = change?.returned, returned > 0 {
                    report.print("\(ReportText.are(returned, "episode")) back")
                }
                if settings.contains("archive=true") {
                    if try installation.configuration().archiveFolder == nil {
                        report.print("nothing is archived before archive.folder is set; see podfs-archive(7)")
                    } else if installation.isDaemonOutdated {
                        report.print("the daemon has not read the changed configuration yet; see podfs doctor")
                    }
                }
            }
            for mark in marks {
                let count = try await installation.perform(mark.command(for: id, in: library), \.acted).count
                report.print("\(ReportText.are(count, "episode")) now \(mark.participle)")
            }
        case .episode(let id):
            guard let episode = try library.episode(id: id) else { return }
            if assignments.isEmpty { return EpisodeSetting.values(of: episode).forEach { Terminal.print($0) } }
            let settings = try assignments.map { try EpisodeSetting($0) }
            for setting in settings {
                // Only pinning is answered by `acted`.
                let problem = try await installation.perform(setting.command(for: id)) {
                    .some($0.acted?.problems.first)
                }
                if let problem { throw CommandError(.failed, problem) }
            }
            report.print("\(episode.name): \(settings.map(\.description).joined(separator: ", "))")
        }
    }

    /// Returns the text that reports the assignments. A removed value is shown as `KEY as in the configuration`.
    private static func changes(_ assignments: [String]) -> String {
        assignments.map { $0.hasSuffix("=") ? "\($0.dropLast()) as in the configuration" : $0 }.joined(separator: ", ")
    }
}

/// An assignment for all episodes of a show: `played=all`, `pinned=none`.
private struct Mark {
    enum Key: String, CaseIterable {
        case played, pinned

        func starts(_ assignment: String) -> Bool { assignment.hasPrefix(rawValue + "=") }
    }

    let key: Key
    let value: Bool

    /// Returns `nil` for an assignment to another key.
    init?(_ assignment: String) throws {
        guard let key = Key.allCases.first(where: { $0.starts(assignment) }) else { return nil }
        switch assignment.dropFirst(key.rawValue.count + 1) {
        case "all": value = true
        case "none": value = false
        default:
            let advice = "give \(key.rawValue)=all or \(key.rawValue)=none"
            throw CommandError(.usage, "'\(assignment)' cannot be set for a show: \(advice)")
        }
        self.key = key
    }

    func command(for show: ShowID, in library: Library) throws -> Command {
        switch key {
        case .played: .setShowPlayed(podcast: show, value)
        case .pinned:
            .act(value ? .pin : .unpin, episodes: try library.episodes(of: show, for: value ? .pin : .unpin))
        }
    }

    var participle: String {
        switch key {
        case .played: value ? "marked as played" : "marked as not played"
        case .pinned: value ? "pinned" : "not pinned"
        }
    }
}

/// The lines of `podfs set SHOW`: all settings of a show, with the values that apply.
enum ShowSettingList {
    /// Returns a line `KEY=VALUE` for each key, with ` (default)` where the show has no value of its own.
    ///
    /// - Parameter own: The show's own values.
    static func lines(_ own: [String: String], _ configuration: Configuration) -> [String] {
        ShowSettingKey.allCases.sorted { $0.rawValue < $1.rawValue }.map { key in
            own[key.rawValue].map { "\(key.rawValue)=\($0)" }
                ?? "\(key.rawValue)=\(general(key, configuration)) (default)"
        }
    }

    /// Returns the value that applies to shows without a value of their own; empty for none.
    private static func general(_ key: ShowSettingKey, _ configuration: Configuration) -> String {
        let rules = configuration.autoDownloadRules
        return switch key {
        case .rateLimit:
            configuration.transfers.rateLimit > 0 ? ByteText.rate(Double(configuration.transfers.rateLimit)) : "none"
        case .nameTemplate: configuration.nameTemplate.text
        case .autoDownload: String(configuration.autoDownload)
        case .autoDownloadOrder: (rules.order ?? .newest).rawValue
        case .autoDownloadTitle: rules.title?.text ?? ""
        case .autoDownloadMinDuration: duration(rules.minDuration)
        case .autoDownloadMaxDuration: duration(rules.maxDuration)
        case .autoDownloadTypes: (rules.types ?? [.full]).map(\.rawValue).sorted().joined(separator: ",")
        case .keep: "\(configuration.keep)"
        case .userAgent: configuration.transfers.userAgent
        case .share: "false"
        case .archive: String(configuration.archivesAll)
        case .tags, .prefer: ""
        }
    }

    private static func duration(_ seconds: Int64?) -> String { seconds.map(DurationText.text) ?? "" }
}

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
