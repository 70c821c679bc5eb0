import ArgumentParser
import CLinux
import Fuse
import Platform
import PodcastLibrary
import Transfers

/// The root command, which prints its help if no subcommand is given.
@main
struct Podfs: AsyncParsableCommand {
    /// The version, also sent in User-Agent.
    static let version = "1.0.0"

    static let configuration = CommandConfiguration(
        commandName: "podfs",
        abstract: "A podcast filesystem: shows are folders, episodes are files, and any player plays them.",
        discussion: """
            The first read of an episode starts its download; the read is served while the bytes arrive.

            Examples:
              podfs subscribe https://example.com/feed.xml
              mkdir -p ~/Podcasts && podfs mount ~/Podcasts
              mpv ~/Podcasts/Show/*.mp3
              podfs unmount ~/Podcasts
            """,
        version: version,
        groupedSubcommands: [
            CommandGroup(
                name: "Shows",
                subcommands: [
                    SubscribeCommand.self, SearchCommand.self, ListCommand.self, FindCommand.self, RefreshCommand.self,
                    SetCommand.self, RenameCommand.self, UnsubscribeCommand.self, InspectCommand.self,
                ]),
            CommandGroup(
                name: "Folder", subcommands: [MountCommand.self, UnmountCommand.self, ViewCommand.self]),
            CommandGroup(
                name: "Downloads",
                subcommands: [
                    DownloadCommand.self, StatusCommand.self, SuspendCommand.self, ResumeCommand.self,
                    CancelCommand.self, EvictCommand.self, AdoptCommand.self, EventsCommand.self, PublishCommand.self,
                ]),
            CommandGroup(
                name: "Players and other devices",
                subcommands: [PlayerCommand.self, SyncCommand.self, ImportCommand.self, ExportCommand.self]),
            CommandGroup(
                name: "Podfs itself",
                subcommands: [DoctorCommand.self, DemoCommand.self, ServiceCommand.self, DaemonCommand.self]),
        ])

    /// The output of `--version`: the version, the commit if it was known at build time, and the libraries that run.
    private static var versionText: String {
        let commit = String(cString: clinux_commit())
        let sqlite = (try? Library.databaseVersion()) ?? "unknown"
        return version + (commit.isEmpty ? "" : " (\(commit))")
            + "\nlibcurl \(curlVersion()), libfuse \(Session.libraryVersion), SQLite \(sqlite)"
    }

    static func main() {
        HeapTrimmer.begin()
        let names = configuration.subcommands.compactMap { $0.configuration.commandName }
        let arguments =
            MountHelper.translate(CommandLine.arguments, subcommands: Set(names + ["help"]))
            ?? Array(CommandLine.arguments.dropFirst())
        WorkerPool.run { await perform(arguments) }
    }

    private static func perform(_ arguments: [String]) async {
        if arguments == ["--version"] { return Terminal.print(versionText) }
        do {
            var command = try await asyncParseAsRoot(arguments)
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            let code = exitCode(for: error)
            // Help, version and completion scripts are not errors. A command that throws an `ExitCode` has already
            // reported its error.
            if code == .success || error is ExitCode { exit(withError: error) }
            let mistake = UsageMistake(
                arguments, root: self, message: message(for: error), full: fullMessage(for: error))
            for line in mistake.lines { Terminal.error(line) }
            exit(withError: code)
        }
    }
}
