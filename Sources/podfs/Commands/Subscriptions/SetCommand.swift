import ArgumentParser
import Foundation
import PodcastClient
import PodcastLibrary
import PodcastPages
import PodcastProtocol
import TransferCore

struct SetCommand: PodfsCommand {
    static let configuration = CommandConfiguration(
        commandName: "set", abstract: "Set options of a show, or the playback state of an episode.",
        discussion: """
            A show: auto_download and auto_download_order, _title, _min_duration, _max_duration, _types; keep, \
            names.template, tags, transfers.rate_limit, user_agent; see podfs.conf(5). KEY= removes the show's own value. \
            Without KEY=VALUE the show's own values are printed.
            prefer=ENCODING chooses among the encodings of new episodes: audio/opus, video, '<=96k'.
            A narrower keep removes episodes at once and prints their number; it needs --yes if any of them is cached or played. \
            With a wider keep the episodes that the feed lists return under their previous names.
            played=all marks all episodes of the show as played, played=none as not played.
            An episode: played=0 or 1, position=SECONDS or H:MM:SS. Without KEY=VALUE its values are printed.

            Examples:
              podfs set 'Example Show' auto_download=3 keep='30 episodes'
              podfs set 'Example Show' played=all
              podfs set 'Example Show/2026-11-20 Pilot.mp3' played=1
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
        switch try PathResolver(library: library).resolve(path) {
        case .show(let id):
            if assignments.isEmpty { return Self.print(try library.shownSettings(of: id)) }
            let marks = try assignments.compactMap(Self.mark)
            let settings = assignments.filter { !$0.hasPrefix(Self.playedKey) }
            let daemon = try installation.daemon()
            defer { daemon.close() }
            if !settings.isEmpty {
                let reply = try await daemon.perform(.set(podcast: id, assignments: settings, confirmed: yes))
                report.print("\(try library.folder(id: id)?.name ?? path): \(Self.changes(settings))")
                if case .settings(_, let change?) = reply { printChange(change) }
            }
            for played in marks {
                let reply = try await daemon.perform(.setShowPlayed(podcast: id, played))
                guard case .acted(let count, _) = reply else { continue }
                let noun = count == 1 ? "episode is" : "episodes are"
                report.print("\(count) \(noun) now marked as \(played ? "played" : "not played")")
            }
        case .episode(let id):
            guard let episode = try library.episode(id: id) else { return }
            if assignments.isEmpty { return EpisodeSetting.values(of: episode).forEach { Terminal.print($0) } }
            let settings = try assignments.map { try EpisodeSetting($0) }
            let daemon = try installation.daemon()
            defer { daemon.close() }
            for setting in settings { _ = try await daemon.perform(setting.command(for: id)) }
            report.print("\(episode.name): \(settings.map(\.description).joined(separator: ", "))")
        }
    }

    private static let playedKey = "played="

    /// Returns `true` for `played=all` and `false` for `played=none`; `nil` for an assignment to another key.
    private static func mark(_ assignment: String) throws -> Bool? {
        guard assignment.hasPrefix(playedKey) else { return nil }
        switch assignment.dropFirst(playedKey.count) {
        case "all": return true
        case "none": return false
        default: throw CommandError(.usage, "'\(assignment)' cannot be set for a show: give played=all or played=none")
        }
    }

    /// Returns the text that reports the assignments. A removed value is shown as `KEY as in the configuration`.
    private static func changes(_ assignments: [String]) -> String {
        assignments.map { $0.hasSuffix("=") ? "\($0.dropLast()) as in the configuration" : $0 }.joined(separator: ", ")
    }

    private static func print(_ settings: [String: String]) {
        if settings.isEmpty, Terminal.isInteractive { Terminal.print("no settings of its own; see podfs.conf(5)") }
        for (key, value) in settings.sorted(by: { $0.key < $1.key }) { Terminal.print("\(key)=\(value)") }
    }

    private func printChange(_ change: KeepChange) {
        if change.removed > 0 {
            report.print(
                "removed \(change.removed) of \(change.total) episodes, \(ByteText.size(change.bytes)) freed")
        }
        if change.returned > 0 {
            report.print("\(change.returned) \(change.returned == 1 ? "episode is" : "episodes are") back")
        }
    }
}
