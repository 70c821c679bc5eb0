import ArgumentParser
import Foundation
import PodcastClient
import PodcastProtocol
import PodcastService

struct DaemonCommand: PodfsCommand {
    static let configuration = CommandConfiguration(
        commandName: "daemon",
        abstract: "Run the daemon that carries the downloads; other commands start it by themselves.",
        discussion: """
            Without --foreground it goes into the background and the command returns when it answers. It leaves by itself \
            when nobody has needed it for a while (daemon.idle_exit), and at SIGTERM.

            Example:
              podfs daemon --foreground
            """)

    @Flag(help: "Stay in the foreground and log to standard error.")
    var foreground = false

    @Option(help: .hidden)
    var readyDescriptor: Int32?

    func perform() async throws {
        let installation = try Installation()
        if !foreground {
            _ = try installation.configuration()
            try installation.launcher.makeFolders()
            try SpawnedSelf.start(
                ["daemon", "--foreground", "--ready-descriptor", "\(SpawnedSelf.readyDescriptor)"],
                log: installation.places.log)
            return
        }
        ProcessLog.begin(file: LogFile(path: installation.places.log))
        if let readyDescriptor { SpawnedSelf.keep(readyDescriptor) }
        do {
            // Otherwise the daemon would keep its start folder's file system busy.
            chdir("/")
            try await Daemon.run(try installation.serviceConfiguration()) {
                if let readyDescriptor { SpawnedSelf.report("ok", to: readyDescriptor) }
                ProgramPages.releaseStart()
            }
        } catch {
            if let readyDescriptor { SpawnedSelf.report("\(CommandError(error))", to: readyDescriptor) }
            throw error
        }
    }
}
