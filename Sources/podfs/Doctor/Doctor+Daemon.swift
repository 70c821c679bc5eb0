import CLinux
import Foundation
import Glibc
import Platform
import PodcastLibrary
import PodcastProtocol
import PodcastService
import Transfers

// Checks of the daemon, its systemd units, and its access to servers.
extension Doctor {
    /// The maximum time for a daemon to answer the hello.
    private static let helloTimeout = Duration.seconds(10)

    /// Checks the socket and the daemon that listens on it. Sends only the hello: unlike other commands, it does not
    /// make an older daemon exit.
    func daemon() async -> [Finding] {
        let paths = installation.paths
        var status = stat()
        if stat(paths.socket, &status) == 0, status.st_mode & S_IFMT != S_IFSOCK {
            return [
                .problem(
                    "socket", "\(paths.socket) is not a socket",
                    remedy: "remove it: rm \(ShellQuoting.quoted(paths.socket))")
            ]
        }
        let connection: DaemonConnection
        do {
            guard let found = try DaemonConnection.connect(to: paths.socket) else {
                return [.ok("daemon", "not running; commands and mounts start it on demand")]
            }
            connection = found
        } catch {
            return [.problem("socket", "\(error)", remedy: "check XDG_RUNTIME_DIR")]
        }
        defer { connection.close() }
        let hello = Hello(
            protocolVersion: protocolVersion, schema: Library.schemaVersion, library: paths.library,
            cache: paths.cache, role: .command, pid: getpid())
        let deadline = Task(executorPreference: WorkerPool.shared) {
            await Timers.sleep(for: Self.helloTimeout)
            if !Task.isCancelled { connection.close() }
        }
        defer { deadline.cancel() }
        let pid = (try? String(contentsOfFile: paths.pidFile, encoding: .utf8))?
            .trimmingCharacters(in: .whitespacesAndNewlines)
        guard let frame = try? await connection.exchange(.hello, WireJSON.encode(hello)), frame.kind == .welcome,
            let welcome = WireJSON.decode(Welcome.self, frame.payload)
        else {
            return [
                .problem(
                    "daemon", "\(pid.map { "process \($0)" } ?? "it") does not answer at \(paths.socket)",
                    remedy: "kill it (kill -9 \(pid ?? "PID")); no data is lost, and the next command starts a new one")
            ]
        }
        return [finding(for: welcome, paths)]
    }

    private func finding(for welcome: Welcome, _ paths: InstallationPaths) -> Finding {
        let name = "process \(welcome.pid), version \(welcome.version)"
        if welcome.library != paths.library || welcome.cache != paths.cache {
            return .problem(
                "daemon", "\(name), serves \(welcome.library) and \(welcome.cache)",
                remedy: "give each environment its own XDG_RUNTIME_DIR")
        }
        if welcome.protocolVersion > protocolVersion || welcome.schema > Library.schemaVersion {
            return .problem("daemon", "\(name), is newer than this program", remedy: "use the newer program")
        }
        if welcome.version != Podfs.version {
            return .warning(
                "daemon", "\(name), has another version than this program (\(Podfs.version))",
                remedy: "kill \(welcome.pid): the next command starts this version, and downloads continue")
        }
        if installation.isDaemonOutdated {
            return .warning(
                "daemon", "\(name), has not read the configuration since it was changed",
                remedy: "kill \(welcome.pid): the next command starts a daemon that does, and downloads continue")
        }
        return .ok("daemon", name)
    }

    /// Reports unattended work that is skipped for a day because two daemons in a row crashed during it.
    func skippedWork() -> [Finding] {
        WorkJournal.skipped(installation.paths, now: Int64(time(nil))).map { entry in
            .warning(
                "work", entry.explanation,
                remedy: "\(installation.paths.log) has the errors, before its last start message")
        }
    }

    /// Checks the user's unit files, as written by `podfs service install`.
    func services() -> Finding {
        let service = Service(installation: installation)
        guard service.isInstalled else {
            return .ok(
                "systemd",
                "no podfs units are installed, which is optional; after podfs service install, systemd starts the daemon on demand"
            )
        }
        if let stale = service.staleUnit {
            return .warning(
                "systemd", "\(stale) is missing or differs from this version's unit",
                remedy: "restore it: podfs service install")
        }
        return .ok("systemd", "units in \(service.folder)")
    }

    /// Checks whether the certificates of https servers can be verified.
    func certificates() -> Finding {
        let authorities = Authorities.inUse
        let place = authorities.bundle ?? authorities.folder ?? "nowhere"
        guard authorities.isPresent else {
            return .problem(
                "certificates", "the system has no certificate authorities (\(place)): no https server is trusted",
                remedy: "install the package ca-certificates")
        }
        return .ok("certificates", place)
    }

    /// Checks whether the catalogues answer, if `online`. Starts a daemon to send the request if none runs.
    func catalogue(online: Bool) async -> Finding {
        guard online else { return .ok("catalogue", "not checked; to check: podfs doctor --online") }
        let remedy = "check the network, and search.itunes.url in podfs.conf(5)"
        do {
            let (shows, problems) = try await installation.perform(.search(term: "podcast", limit: 1), \.found)
            if let problem = problems.first { return .problem("catalogue", problem, remedy: remedy) }
            return .ok("catalogue", shows.isEmpty ? "answers without results" : "answers")
        } catch {
            return .problem("catalogue", "\(CommandError(error))", remedy: remedy)
        }
    }
}
