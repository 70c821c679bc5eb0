import Foundation
import Glibc
import Platform
import PodcastLibrary
import PodcastProtocol
import PodcastService

/// The installation of podfs as a systemd user service.
struct Service {
    let units: Units
    /// The folder of the unit files, `$XDG_CONFIG_HOME/systemd/user`.
    let folder: String
    private let paths: InstallationPaths
    private let environment: [String: String]

    init(installation: Installation) {
        paths = installation.paths
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

    func write() throws { try Self.write(units, to: folder) }

    /// Writes the unit files that a distribution's package installs.
    ///
    /// - Parameter root: The folder that represents `/`.
    static func writePackagedUnits(root: String) throws {
        guard let units = Units.packaged else { throw CommandError(.failed, "there are no paths for the units") }
        try write(units, to: root + "/usr/lib/systemd/user")
    }

    private static func write(_ units: Units, to folder: String) throws {
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

    /// Removes the unit files.
    ///
    /// - Returns: The names of the removed units.
    func remove() throws -> [String] {
        var removed: [String] = []
        for unit in units.all where access(path(unit.name), F_OK) == 0 {
            guard unlink(path(unit.name)) == 0 else {
                throw CommandError(.failed, "\(path(unit.name)): \(errnoText())")
            }
            removed.append(unit.name)
        }
        return removed
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

    /// Asks the running daemon, if there is one, to exit, and blocks until it has exited, because the service needs the
    /// library's lock and the socket, which the daemon holds until then.
    func stopDaemon() throws { try DaemonLauncher(paths: paths, schema: Library.schemaVersion).stopDaemon() }

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
        var quoted = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "`", "$", "\\": quoted += "\\\\"
            // A single `%` starts a field code.
            case "%": quoted += "%"
            default: break
            }
            switch scalar {
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            case "\t": quoted += "\\t"
            case "\r": quoted += "\\r"
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return "\"\(quoted)\""
    }
}
