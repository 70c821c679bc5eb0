import ArgumentParser
import Foundation
import PodcastProtocol
import PodcastService

struct DaemonCommand: PodfsCommand {
    static let configuration = CommandConfiguration(
        commandName: "daemon",
        abstract: "Run the daemon, which performs all downloads; mounts and commands start it by themselves.",
        discussion: """
            Without --foreground it moves to the background, and the command returns when it answers. It exits by itself \
            when it has been idle for daemon.idle_exit, and at SIGTERM.

            Example:
              podfs daemon --foreground
            """)

    @Flag(help: "Stay in the foreground and log to standard error.")
    var foreground = false

    /// The descriptor of a pipe to the process that has started this one, for `SpawnedSelf.report`.
    @Option(help: .hidden)
    var readyDescriptor: Int32?

    func perform() async throws {
        let installation = try Installation()
        if !foreground {
            _ = try installation.configuration()
            try installation.launcher.makeFolders()
            return try SpawnedSelf.start("daemon", log: installation.paths.log)
        }
        ProcessLog.begin(file: LogFile(path: installation.paths.log))
        try await SpawnedSelf.report(to: readyDescriptor) { ready in
            // Leave the current folder, whose file system the daemon would otherwise keep busy.
            chdir("/")
            try await Daemon.run(try installation.serviceConfiguration()) {
                ready()
                ProgramPages.releaseStart()
            }
        }
    }
}
