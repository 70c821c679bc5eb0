import Foundation
import Glibc
import Platform
import PodcastClient
import PodcastLibrary
import PodcastProtocol
import PodcastService

/// podfs as a systemd service of the user.
struct Service {
    let units: Units
    /// `$XDG_CONFIG_HOME/systemd/user`.
    let folder: String
    private let places: InstallationPaths
    private let environment: [String: String]

    init(installation: Installation) {
        places = installation.places
        environment = ProcessInfo.processInfo.environment
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? "podfs"
        units = Units(executable: own, places: places, environment: environment)
        folder = URL(fileURLWithPath: places.config).deletingLastPathComponent().path + "/systemd/user"
    }

    func path(_ unit: String) -> String { "\(folder)/\(unit)" }

    var isInstalled: Bool { units.all.contains { access(path($0.name), F_OK) == 0 } }

    /// The path of a unit that is missing, was edited, or was written by another version of podfs.
    var staleUnit: String? {
        units.all.first {
            FileManager.default.contents(atPath: path($0.name)).map { [UInt8]($0) } != Array($0.text.utf8)
        }
        .map { path($0.name) }
    }

    /// The mounts that start at login, from the links that `systemctl enable` creates.
    var mounts: [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder + "/default.target.wants")) ?? []
        return names.filter { $0.hasPrefix("podfs-mount@") }.sorted()
    }

    // MARK: Files

    func write() throws { try Self.write(units, to: folder) }

    /// Writes the units of a package.
    ///
    /// - Parameter root: The folder that becomes `/`.
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
            throw CommandError(.failed, problem.description)
        } catch {
            throw CommandError(.failed, "\(folder) cannot be created: \(error.localizedDescription)")
        }
    }

    /// Removes the units.
    ///
    /// - Returns: The removed units.
    func remove() throws -> [String] {
        var removed: [String] = []
        for unit in units.all where access(path(unit.name), F_OK) == 0 {
            guard unlink(path(unit.name)) == 0 else {
                throw CommandError(.failed, "\(path(unit.name)): \(String(cString: strerror(errno)))")
            }
            removed.append(unit.name)
        }
        return removed
    }

    // MARK: Service manager

    var manager: String? { Doctor.program("systemctl") }

    /// Runs `systemctl --user`; its messages are in the result.
    @discardableResult
    func control(_ arguments: String...) -> ChildProgram.Result {
        guard let manager else { return ChildProgram.Result(status: 127, errors: "there is no systemctl") }
        return ChildProgram.run(
            manager, ["systemctl", "--user", "--no-ask-password"] + arguments, environment: environment)
    }

    /// Reloads the units, which is required before they can be enabled. Returns whether the user's manager runs.
    func reload() -> Bool { control("daemon-reload").status == 0 }

    /// Makes a daemon that a command has started exit, since it holds the library's lock and the socket that the
    /// service needs.
    func replaceDaemon() async throws {
        guard let daemon = try DaemonLauncher(places: places, schema: Library.schemaVersion).connect(role: .command)
        else { return }
        _ = try? await daemon.perform(.leave)
        daemon.close()
    }

    /// Returns an autostart entry for a desktop without systemd (Desktop Application Autostart Specification).
    func autostart(mounting folder: String) -> String {
        """
        [Desktop Entry]
        Type=Application
        Name=podfs
        Exec="\(units.executable)" mount "\(folder)"

        """
    }
}
