import ArgumentParser
import Platform

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
              podfs mount ~/Podcasts
              mpv ~/Podcasts/Show/*.mp3
              podfs unmount ~/Podcasts
            """,
        version: version,
        subcommands: [
            MountCommand.self, UnmountCommand.self, SubscribeCommand.self, UnsubscribeCommand.self, ListCommand.self,
            ImportCommand.self, ExportCommand.self, RefreshCommand.self, SearchCommand.self, RenameCommand.self,
            DownloadCommand.self, PublishCommand.self,
            ResumeCommand.self, SuspendCommand.self,
            CancelCommand.self, EvictCommand.self, StatusCommand.self,
            EventsCommand.self, SetCommand.self, ViewCommand.self, SyncCommand.self, PlayerCommand.self,
            InspectCommand.self,
            DoctorCommand.self,
            ServiceCommand.self, DemoCommand.self, DaemonCommand.self,
        ])

    static func main() {
        HeapTrimmer.begin()
        let names = configuration.subcommands.compactMap { $0.configuration.commandName }
        let arguments =
            MountHelper.translate(CommandLine.arguments, subcommands: Set(names + ["help"]))
            ?? Array(CommandLine.arguments.dropFirst())
        WorkerPool.run { await perform(arguments) }
    }

    private static func perform(_ arguments: [String]) async {
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
