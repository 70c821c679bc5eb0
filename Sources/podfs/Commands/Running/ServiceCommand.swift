import ArgumentParser
import Foundation
import Glibc
import PodcastClient

struct ServiceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "service", abstract: "Run podfs as a service of your session, by systemd.",
        discussion: """
            Optional: commands and mounts start the daemon on demand. As a service it is started by its socket, and a \
            folder is mounted at login.

            Examples:
              podfs service install --mount ~/Podcasts
              podfs service status
            """,
        subcommands: [ServiceInstallCommand.self, ServiceUninstallCommand.self, ServiceStatusCommand.self])
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
        help: ArgumentHelp("Mount on this folder at login.", valueName: "dir"), completion: .directory)
    var mount: String?

    @Option(
        help: ArgumentHelp(
            "Write the units for /usr/bin/podfs into the root of a package, and enable nothing.", valueName: "root"),
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
                "there is no systemd (no systemctl in PATH), so nothing was installed; for a desktop's autostart save "
                    + "the entry printed above as ~/.config/autostart/podfs.desktop")
        }
        try service.write()
        for unit in service.units.all { Terminal.print("written: \(service.path(unit.name))") }
        let names = [Units.socketName] + (folder.map { [Units.mountName(of: $0)] } ?? [])
        guard service.reload() else {
            Terminal.print("the systemd manager of this user does not run; once it does, run:")
            Terminal.print("  systemctl --user daemon-reload")
            for name in names { Terminal.print("  systemctl --user enable --now '\(name)'") }
            return
        }
        try await service.replaceDaemon()
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
            Folders mounted by the units are unmounted. Downloads continue with the next command.

            Example:
              podfs service uninstall
            """)

    func perform() async throws {
        let service = Service(installation: try Installation())
        guard service.isInstalled else {
            throw CommandError(.failed, "there are no units of podfs in \(service.folder)")
        }
        for name in service.mounts + [Units.socketName, Units.serviceName] {
            service.control("disable", "--now", name)
        }
        for name in try service.remove() { Terminal.print("removed: \(service.path(name))") }
        // Without a running service manager systemctl does not remove the links.
        for name in service.mounts { unlink("\(service.folder)/default.target.wants/\(name)") }
        unlink("\(service.folder)/sockets.target.wants/\(Units.socketName)")
        _ = service.reload()
    }
}

struct ServiceStatusCommand: PodfsCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show which units are installed, enabled and active.",
        discussion: """
            The exit code is 1 if nothing is installed.

            Example:
              podfs service status
            """)

    func perform() async throws {
        let service = Service(installation: try Installation())
        guard service.isInstalled else {
            throw CommandError(.failed, "not installed; podfs service install")
        }
        let isManaged = service.reload()
        for name in [Units.socketName, Units.serviceName] + service.mounts {
            var words: [String] = []
            if isManaged {
                words.append(service.control("is-enabled", "--quiet", name).status == 0 ? "enabled" : "not enabled")
                words.append(service.control("is-active", "--quiet", name).status == 0 ? "active" : "not active")
            } else {
                words.append("written; the systemd manager of this user does not run")
            }
            Terminal.print("\(name): \(words.joined(separator: ", "))")
        }
        if let stale = service.staleUnit {
            Terminal.print("\(stale) is not from this version of podfs; to update it: podfs service install")
        }
    }
}
