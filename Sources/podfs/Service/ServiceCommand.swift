import ArgumentParser
import Foundation
import Platform
import PodcastProtocol
import PodcastService

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
        if let package {
            guard let units = Units.packaged else { throw CommandError(.failed, "there are no paths for the units") }
            return try Service.write(units, to: package + "/usr/lib/systemd/user")
        }
        let installation = try Installation()
        let service = Service(installation: installation)
        let folder = mount.map(MountPoint.absolute)
        if let error = service.units.validationError { throw CommandError(.failed, "\(error); nothing was installed") }
        guard service.manager != nil else {
            Terminal.print(service.autostart(mounting: folder ?? NSHomeDirectory() + "/Podcasts"))
            throw CommandError(
                .failed,
                "systemctl is not in PATH, so nothing was installed; to mount at login without systemd, save the entry "
                    + "printed above as ~/.config/autostart/podfs.desktop")
        }
        try Service.write(service.units, to: service.folder)
        for unit in service.units.all { Terminal.print("written: \(service.path(unit.name))") }
        let names = [Units.socketName] + (folder.map { [Units.mountName(of: $0)] } ?? [])
        guard service.reload() else {
            Terminal.print("the systemd user manager is not running; once it is, run:")
            Terminal.print("  systemctl --user daemon-reload")
            for name in names { Terminal.print("  systemctl --user enable --now '\(name)'") }
            return
        }
        // The service needs the library's lock and the socket, which a running daemon holds until it has exited.
        try installation.launcher.stopDaemon()
        for name in names {
            let result = service.control("enable", "--now", name)
            guard result.status == 0 else {
                let messages = result.errors.trimmingCharacters(in: .whitespacesAndNewlines)
                let reason = messages.isEmpty ? "exit code \(result.status); see journalctl --user -e" : messages
                throw CommandError(.failed, "systemctl --user enable --now '\(name)': \(reason)")
            }
            Terminal.print("enabled: \(name)")
        }
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
        for path in service.units.all.map({ service.path($0.name) }) where access(path, F_OK) == 0 {
            guard unlink(path) == 0 else { throw CommandError(.failed, "\(path): \(errnoText())") }
            Terminal.print("removed: \(path)")
        }
        // systemctl removes these links only if the user manager is running.
        for name in service.mounts { unlink("\(service.folder)/default.target.wants/\(name)") }
        unlink("\(service.folder)/sockets.target.wants/\(Units.socketName)")
        _ = service.reload()
    }
}

/// The installation of podfs as a systemd user service.
struct Service {
    let units: Units
    /// The folder of the unit files, `$XDG_CONFIG_HOME/systemd/user`.
    let folder: String
    private let environment: [String: String]

    init(installation: Installation) {
        let paths = installation.paths
        environment = ProcessInfo.processInfo.environment
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? "podfs"
        units = Units(executable: own, paths: paths, environment: environment)
        folder = URL(fileURLWithPath: paths.config).deletingLastPathComponent().path + "/systemd/user"
    }

    func path(_ unit: String) -> String { "\(folder)/\(unit)" }

    var isInstalled: Bool { units.all.contains { access(path($0.name), F_OK) == 0 } }

    /// The path of the first unit file that is missing, or differs from the one that `write` would write now. A file
    /// differs if it was edited, or if another version of podfs wrote it, or if it was written in another environment.
    var staleUnit: String? {
        units.all.first {
            FileManager.default.contents(atPath: path($0.name)).map { [UInt8]($0) } != Array($0.text.utf8)
        }
        .map { path($0.name) }
    }

    /// The names of the enabled units that mount folders at login, read from the links that `systemctl enable` creates.
    var mounts: [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder + "/default.target.wants")) ?? []
        return names.filter { $0.hasPrefix("podfs-mount@") }.sorted()
    }

    // MARK: Files

    static func write(_ units: Units, to folder: String) throws {
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            for unit in units.all {
                try AtomicFile.write(Array(unit.text.utf8), to: "\(folder)/\(unit.name)", mode: 0o644)
            }
        } catch let problem as AtomicFile.Problem {
            throw problem
        } catch {
            throw CommandError(.failed, "\(folder) cannot be created: \(error.localizedDescription)")
        }
    }

    // MARK: Service manager

    /// The path of systemctl; `nil` if it is not in PATH.
    var manager: String? { Doctor.program("systemctl") }

    /// Runs `systemctl --user` and returns its exit status and messages.
    @discardableResult
    func control(_ arguments: String...) -> ChildProgram.Result {
        guard let manager else { return ChildProgram.Result(status: 127, errors: "there is no systemctl") }
        return ChildProgram.run(
            manager, ["systemctl", "--user", "--no-ask-password"] + arguments, environment: environment)
    }

    /// Makes systemd reload the unit files, which is required before the units can be enabled. Returns whether it did;
    /// it cannot if there is no systemctl or no systemd user manager is running.
    func reload() -> Bool { control("daemon-reload").status == 0 }

    /// Returns an autostart entry for a desktop without systemd (Desktop Application Autostart Specification).
    func autostart(mounting folder: String) -> String {
        """
        [Desktop Entry]
        Type=Application
        Name=podfs
        Exec=\(Self.execArgument(units.executable)) mount \(Self.execArgument(folder))

        """
    }

    /// Returns an argument of `Exec`: quoted, then escaped as a string value, because a desktop removes the escaping
    /// before the quoting (Desktop Entry Specification, "The Exec key").
    static func execArgument(_ text: String) -> String {
        "\"\(text.unicodeScalars.map { escapes[$0] ?? "\($0)" }.joined())\""
    }

    /// A single `%` would start a field code.
    private static let escapes: [Unicode.Scalar: String] = [
        "\"": #"\\""#, "`": #"\\`"#, "$": #"\\$"#, "\\": #"\\\\"#, "%": "%%", "\n": #"\n"#, "\t": #"\t"#, "\r": #"\r"#,
    ]
}
