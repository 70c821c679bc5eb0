import ArgumentParser
import Foundation
import PodcastLibrary
import PodcastProtocol
import Transfers

struct DownloadCommand: PodfsCommand {
    static let configuration = CommandConfiguration(
        commandName: "download", abstract: "Fetch episodes in the background.",
        discussion: """
            Examples:
              podfs download 'Example Show/2026-11-20 Pilot.mp3'
              podfs download 'Example Show' --latest 3 --wait
            """)

    @Argument(help: pathHelp, completion: NameCompletion.paths)
    var paths: [String]

    @Option(help: "Only this many of the newest episodes of each show.")
    var latest: Int?

    @Flag(help: "Wait until each episode is complete, has failed or waits for space.")
    var wait = false

    @OptionGroup var report: Reporting

    func validate() throws {
        if let latest, latest < 1 { throw ValidationError("--latest needs a number, 1 or more") }
        if paths.isEmpty { throw ValidationError("name episodes or shows") }
    }

    func perform() async throws {
        let installation = try Installation()
        let library = try installation.existingLibrary()
        let episodes = try episodes(PathResolver(library: library))
        // Of an episode whose archived file is missing or changed, the daemon archives the cached copy.
        let defective = try Set(library.defectiveArchivedFiles().compactMap(\.episode))
        let missing = try episodes.filter { try defective.contains($0) || library.entry(id: $0)?.complete != true }
        if missing.isEmpty {
            let all = episodes.count == 1 ? "the episode is" : "all \(episodes.count) episodes are"
            return report.print(episodes.isEmpty ? "there is no episode to download" : "\(all) downloaded already")
        }
        report.begin("ordering", missing.count)
        let archived = missing.filter(defective.contains)
        // The wait creates tasks of a session, which do not give up the former file.
        if wait, !archived.isEmpty { _ = try await installation.perform(.act(.download, episodes: archived), \.acted) }
        let problems =
            try await wait
            ? DownloadWait(installation: installation, episodes: episodes).run()
            : installation.perform(.act(.download, episodes: episodes), \.acted).problems
        let count = ReportText.count(max(0, missing.count - problems.count), "episode")
        if problems.count < missing.count {
            report.print(wait ? "\(count) downloaded" : "downloading \(count); to watch: podfs status --watch")
        }
        for problem in problems { Terminal.error(problem) }
        try ExitCode.check(failures: problems.count, of: episodes.count)
    }

    /// Returns the episodes to download, each once. Some may be complete already.
    private func episodes(_ resolver: PathResolver) throws -> [EpisodeID] {
        guard let latest else { return try resolver.episodes(paths, for: .download, matching: .part) }
        let episodes = try paths.flatMap { path -> [EpisodeID] in
            guard case .show(let show) = try resolver.resolve(path, matching: .part) else {
                throw CommandError(.failed, "'\(path)' is an episode: --latest applies to shows")
            }
            return try resolver.library.entries(of: show).prefix(latest).map(\.id)
        }
        return PathResolver.distinct(episodes)
    }
}
