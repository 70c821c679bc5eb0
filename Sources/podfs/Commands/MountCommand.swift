import ArgumentParser
import Foundation
import Glibc
import PodcastClient
import PodcastProtocol

struct MountCommand: PodfsCommand {
    static let configuration = CommandConfiguration(
        commandName: "mount",
        abstract: "Show the subscriptions as a folder.",
        discussion: """
            Returns when the folder answers. DIR must exist and be empty; what a killed mount has left there is cleaned.

            Examples:
              podfs mount ~/Podcasts
              podfs mount --foreground ~/Podcasts
            """)

    @Argument(help: ArgumentHelp("The folder to mount on.", valueName: "dir"), completion: .directory)
    var folder: String

    @Flag(help: "Stay in the foreground until unmounted; Ctrl-C unmounts.")
    var foreground = false

    @Flag(help: "Let other users read; needs user_allow_other in /etc/fuse.conf unless root mounts.")
    var allowOther = false

    @Option(
        name: .customShort("o"), help: ArgumentHelp("Further mount options, separated by commas.", valueName: "options")
    )
    var options: [String] = []

    @Option(help: .hidden)
    var readyDescriptor: Int32?

    func perform() async throws {
        let installation = try Installation()
        let configuration = try installation.configuration()
        if let readyDescriptor {
            SpawnedSelf.keep(readyDescriptor)
            do {
                try serve(installation, configuration) { SpawnedSelf.report("ok", to: readyDescriptor) }
            } catch {
                SpawnedSelf.report("\(CommandError(error))", to: readyDescriptor)
                throw error
            }
            return
        }
        let point = try MountPoint.prepare(folder)
        if foreground {
            try serve(installation, configuration) {}
            return
        }
        try installation.launcher.makeFolders()
        var arguments = ["mount", "--foreground", "--ready-descriptor", "\(SpawnedSelf.readyDescriptor)"]
        if allowOther { arguments.append("--allow-other") }
        for option in options { arguments += ["-o", option] }
        try SpawnedSelf.start(arguments + ["--", point], log: installation.places.state + "/mount.log")
    }

    private func serve(
        _ installation: Installation, _ configuration: Configuration, ready: @escaping @Sendable () -> Void
    ) throws {
        let point = try MountPoint.prepare(folder)
        let extra = options.flatMap { $0.split(separator: ",").map(String.init) }
        let mount = try Mount(installation, configuration, at: point, allowOther: allowOther, options: extra)
        // The process must not keep a folder busy, its own mount point least of all.
        chdir("/")
        try mount.run(ready: ready)
    }
}
