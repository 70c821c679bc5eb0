import ArgumentParser
import Foundation
import Glibc
import Platform
import PodcastProtocol

struct ServiceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "service", abstract: "Let systemd start the daemon and mount folders at login; optional.",
        discussion: """
            Optional: without the service, commands and mounts start the daemon. With it, systemd starts the daemon \
            when a client connects to its socket. With --mount, a folder is also mounted at login.

            Examples:
              podfs service install --mount ~/Podcasts
            """,
        subcommands: [ServiceInstallCommand.self, ServiceUninstallCommand.self])
}

struct ServiceInstallCommand: PodfsCommand {
    static let configuration = CommandConfiguration(
        commandName: "install", abstract: "Write the units and enable them.",
        discussion: """
            The units are podfs.socket, podfs.service and podfs-mount@.service, in $XDG_CONFIG_HOME/systemd/user.

            Examples:
              podfs service install
              podfs service install --mount ~/Podcasts
            """)

    @Option(
        help: ArgumentHelp("Also mount podfs on this folder at login.", valueName: "dir"), completion: .directory)
    var mount: String?

    @Option(
        help: ArgumentHelp(
            "Write the units of a package, for /usr/bin/podfs, below this folder. Enable nothing.", valueName: "root"),
        completion: .directory)
    var package: String?

    func perform() async throws {
        if let package { return try Service.writePackagedUnits(root: package) }
        let service = Service(installation: try Installation())
        let folder = mount.map(MountPoint.absolute)
        if let error = service.units.validationError { throw CommandError(.failed, "\(error); nothing was installed") }
        guard service.manager != nil else {
            Terminal.print(service.autostart(mounting: folder ?? NSHomeDirectory() + "/Podcasts"))
            throw CommandError(
                .failed,
                "systemctl is not in PATH, so nothing was installed; to mount at login without systemd, save the entry "
                    + "printed above as ~/.config/autostart/podfs.desktop")
        }
        try service.write()
        for unit in service.units.all { Terminal.print("written: \(service.path(unit.name))") }
        let names = [Units.socketName] + (folder.map { [Units.mountName(of: $0)] } ?? [])
        guard service.reload() else {
            Terminal.print("the systemd user manager is not running; once it is, run:")
            Terminal.print("  systemctl --user daemon-reload")
            for name in names { Terminal.print("  systemctl --user enable --now '\(name)'") }
            return
        }
        try service.stopDaemon()
        for name in names {
            let result = service.control("enable", "--now", name)
            guard result.status == 0 else {
                throw CommandError(
                    .failed, "systemctl --user enable --now '\(name)': \(Self.reason(result.errors, result.status))")
            }
            Terminal.print("enabled: \(name)")
        }
    }

    /// Returns the messages of systemctl, or its exit code if there are none.
    static func reason(_ errors: String, _ status: Int32) -> String {
        let messages = errors.trimmingCharacters(in: .whitespacesAndNewlines)
        return messages.isEmpty ? "exit code \(status); see journalctl --user -e" : messages
    }
}

struct ServiceUninstallCommand: PodfsCommand {
    static let configuration = CommandConfiguration(
        commandName: "uninstall", abstract: "Disable the units and remove them; subscriptions and media stay.",
        discussion: """
            This unmounts the units' folders and stops the daemon. The next command starts a daemon, which continues \
            the downloads.

            Example:
              podfs service uninstall
            """)

    func perform() async throws {
        let service = Service(installation: try Installation())
        guard service.isInstalled else {
            throw CommandError(.failed, "there are no units of podfs in \(service.folder)")
        }
        for name in service.mounts + [Units.socketName, Units.serviceName] { service.control("disable", "--now", name) }
        for name in try service.remove() { Terminal.print("removed: \(service.path(name))") }
        // systemctl removes these links only if the user manager is running.
        for name in service.mounts { unlink("\(service.folder)/default.target.wants/\(name)") }
        unlink("\(service.folder)/sockets.target.wants/\(Units.socketName)")
        _ = service.reload()
    }
}
