import ArgumentParser
import PodcastLibrary
import PodcastPages
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
        // Thousands of orders take the daemon seconds.
        if missing.count >= 100 { report.print("ordering \(missing.count) episodes") }
        let problems =
            try await wait
            ? DownloadWait(installation: installation, library: library).run(missing)
            : installation.perform(.act(.download, episodes: missing), \.acted).problems
        let count = ReportText.count(missing.count - problems.count, "episode")
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

/// A command's wait for downloads, which continue when the command is interrupted. If the daemon exits or is killed,
/// the command goes on with the next one.
struct DownloadWait {
    let installation: Installation
    let library: Library

    /// Downloads the episodes, and returns when each has finished or failed, was cancelled, or waits for space. The
    /// daemon continues the waiting downloads later, once there is space.
    ///
    /// - Returns: A line for each episode that is not complete.
    func run(_ episodes: [EpisodeID]) async throws -> [String] {
        let progress = ProgressLine()
        defer { progress.finish() }
        var board = TaskBoard()
        var remaining = episodes
        var problems: [String] = []
        /// The remaining episodes that wait for space, by the events so far.
        var waiting: Set<EpisodeID> = []
        var isOrdered = false
        /// The retry reason printed last for each episode, without a progress line.
        var printed: [EpisodeID: String] = [:]
        /// Removes the episodes whose downloads have ended, and returns all problems if no other download is going on.
        func settle(_ daemon: DaemonConnection) async throws -> [String]? {
            // An open that waits for a failing server is no task.
            let all = try await daemon.perform(.tasks, \.tasks).filter { $0.id != 0 }
            let tasks = Dictionary(all.compactMap { task in task.episode.map { ($0, task) } }) { first, _ in first }
            var waits: [String] = []
            remaining = try remaining.filter { episode in
                let task = tasks[episode]
                if let task, task.state != .failed {
                    if task.waitsForSpace { waits.append("\(task.path): waits: \(task.error ?? "")") }
                    return true
                }
                if try library.entry(id: episode)?.complete != true {
                    let path = try task?.path ?? library.path(of: episode) ?? "episode \(episode)"
                    problems.append("\(path): \(task?.error ?? "the download was cancelled")")
                }
                return false
            }
            return waits.count == remaining.count ? problems + waits : nil
        }
        return try await installation.follow(
            begin: { daemon in
                if !isOrdered {
                    problems = try await daemon.perform(.act(.download, episodes: episodes), \.acted).problems
                    // The daemon refuses streams only.
                    if !problems.isEmpty {
                        remaining = try remaining.filter { try library.episode(id: $0)?.isStream == false }
                    }
                    isOrdered = true
                }
                return try await settle(daemon)
            },
            next: { event, daemon in
                board.apply(event)
                guard let task = event.task, let episode = task.episode, remaining.contains(episode) else { return nil }
                if event.kind == .completed { remaining.removeAll { $0 == episode } }
                if !progress.isShown, !event.endsTask, let error = task.error,
                    printed.updateValue(error, forKey: episode) != error
                {
                    let reason = StatusReport.Task(task, now: event.time).reason ?? ""
                    Terminal.error("\(task.path): \(reason)")
                }
                progress.show(
                    ProgressText.downloads(board, done: episodes.count - remaining.count, of: episodes.count))
                if task.waitsForSpace { waiting.insert(episode) } else { waiting.remove(episode) }
                let isOver = event.endsTask && event.kind != .completed
                return isOver || remaining.allSatisfy(waiting.contains) ? try await settle(daemon) : nil
            })
    }
}
