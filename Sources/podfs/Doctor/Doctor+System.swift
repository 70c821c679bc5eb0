import Foundation
import Glibc
import Platform
import PodcastFilesystem
import PodcastLibrary
import PodcastProtocol
import PodcastService
import Transfers

// Checks of the system.
extension Doctor {
    /// Checks whether the kernel supports FUSE.
    func kernel() -> Finding {
        var name = utsname()
        uname(&name)
        let release = withUnsafeBytes(of: name.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        // /proc/filesystems lists FUSE only while its module is loaded. An unloaded module is not a problem if the
        // device exists, because opening the device loads the module.
        let known = SystemFile.contents("/proc/filesystems") ?? ""
        let isLoaded = known.split(separator: "\n").contains { $0.split(separator: "\t").last == "fuse" }
        guard isLoaded || access("/dev/fuse", F_OK) == 0 else {
            return .problem("kernel", "Linux \(release) has no FUSE", remedy: "load it: modprobe fuse")
        }
        return .ok("kernel", "Linux \(release), FUSE is \(isLoaded ? "loaded" : "loaded at the first mount")")
    }

    func device() -> Finding {
        let descriptor = open("/dev/fuse", O_RDWR | O_CLOEXEC)
        if descriptor >= 0 {
            close(descriptor)
            return .ok("/dev/fuse", "can be opened")
        }
        let code = errno
        switch code {
        case ENOENT:
            return .problem(
                "/dev/fuse", "is missing",
                remedy: "load the kernel module (modprobe fuse), or pass the device to the container")
        // fusermount3 opens the device with the calling user's permissions, not as root.
        case EACCES where geteuid() != 0:
            return .problem(
                "/dev/fuse", "you have no permission to open it, so you cannot mount",
                remedy: "as root: chmod 666 /dev/fuse")
        case EPERM:
            return .problem(
                "/dev/fuse", "may not be opened",
                remedy: "pass the device to the container (docker run --device /dev/fuse)")
        default:
            return .problem(
                "/dev/fuse", "cannot be opened: \(errnoText(code))",
                remedy: "it must be a character device 10:229 that users may read and write (chmod 666 /dev/fuse)")
        }
    }

    /// Checks fusermount3, which mounts on behalf of users.
    func helper() -> Finding {
        let isRoot = geteuid() == 0
        let need = isRoot ? "root mounts without it, users do not" : "without it you cannot mount"
        func defect(_ message: String, remedy: String) -> Finding {
            Finding(check: "fusermount3", status: isRoot ? .warning : .problem, message: message, remedy: remedy)
        }
        var status = stat()
        guard let path = Self.program("fusermount3"), stat(path, &status) == 0 else {
            return defect("is not in PATH: \(need)", remedy: "install the package fuse3")
        }
        guard status.st_mode & S_ISUID != 0, status.st_uid == 0 else {
            return defect(
                "\(path) is not set-user-id root: \(need)", remedy: "chown root \(path) && chmod u+s \(path)")
        }
        return .ok("fusermount3", path)
    }

    /// Reports whether users may mount with `allow_other` (mount.fuse3(8)).
    func otherUsers() -> Finding {
        let path = "/etc/fuse.conf"
        let lines = (SystemFile.contents(path) ?? "").split(whereSeparator: \.isNewline)
        let isSet = lines.contains { $0.trimmingCharacters(in: .whitespaces) == "user_allow_other" }
        return .ok(
            path,
            isSet
                ? "user_allow_other is set: mount --allow-other works"
                : "user_allow_other is not set; only mount --allow-other needs it, unless root mounts")
    }

    // MARK: Mounts

    func mounts() -> [Finding] {
        let mounts = MountEntry.own()
        if mounts.isEmpty { return [.ok("mounts", "none; podfs mount DIR")] }
        return mounts.map { mount -> Finding in
            let path = ShellQuoting.quoted(mount.path)
            return switch mount.answer() {
            case .process, .refused: .ok("mounts", mount.path)
            case .timeout:
                .problem(
                    "mounts", "\(mount.path) does not answer",
                    remedy: "its process hangs or is stopped; to detach it: podfs unmount --force \(path)")
            case .dead:
                .problem(
                    "mounts", "\(mount.path) is a dead mount: its process has died",
                    remedy: "mount it again (podfs mount \(path)), or unmount it: podfs unmount \(path)")
            }
        }
    }
}

// The check of the D-Bus session bus, on which the daemon watches media players (MPRIS).
extension Doctor {
    private static let remedy = "mpv reports without it: podfs player mpv --install"

    /// Checks whether the session bus answers, and lists the players on it.
    func players() -> Finding {
        guard (try? installation.configuration().mpris) ?? true else {
            return .ok("players", "listening.mpris is false: players on the session bus are not watched")
        }
        guard let address = SessionBus.address(ProcessInfo.processInfo.environment) else {
            return .ok("players", "there is no session bus, so players are not watched; \(Self.remedy)")
        }
        guard let names = PlayerList.names(at: address) else {
            return .warning(
                "players", "the session bus \(PlainText.oneLine(address)) does not answer", remedy: Self.remedy)
        }
        let seen =
            names.isEmpty
            ? "no player is on it now" : "on it now: " + names.map(PlainText.oneLine).joined(separator: ", ")
        return .ok("players", "the session bus answers; \(seen)")
    }
}

// Checks of the daemon, its systemd units, and its access to servers.
extension Doctor {
    /// Checks the socket and the daemon that listens on it. Sends only the hello: unlike other commands, it does not
    /// make an older daemon exit.
    func daemon() -> Finding {
        let paths = installation.paths
        var status = stat()
        if stat(paths.socket, &status) == 0, status.st_mode & S_IFMT != S_IFSOCK {
            return .problem(
                "socket", "\(paths.socket) is not a socket",
                remedy: "remove it: rm \(ShellQuoting.quoted(paths.socket))")
        }
        let connection: DaemonConnection
        do {
            guard let found = try DaemonConnection.connect(to: paths.socket) else {
                return .ok("daemon", "not running; commands and mounts start it on demand")
            }
            connection = found
        } catch {
            return .problem("socket", "\(error)", remedy: "check XDG_RUNTIME_DIR")
        }
        defer { connection.close() }
        guard let welcome = try? installation.launcher.greet(connection, as: .command) else {
            let pid = SystemFile.contents(paths.pidFile)?.trimmingCharacters(in: .whitespacesAndNewlines)
            return .problem(
                "daemon", "\(pid.map { "process \($0)" } ?? "it") does not answer at \(paths.socket)",
                remedy: "kill it (kill -9 \(pid ?? "PID")); no data is lost, and the next command starts a new one")
        }
        let name = "process \(welcome.pid), version \(welcome.version)"
        if welcome.library != paths.library || welcome.cache != paths.cache {
            return .problem(
                "daemon", "\(name), serves \(welcome.library) and \(welcome.cache)",
                remedy: "give each environment its own XDG_RUNTIME_DIR")
        }
        if welcome.protocolVersion > protocolVersion || welcome.schema > Library.schemaVersion {
            return .problem("daemon", "\(name), is newer than this program", remedy: "use the newer program")
        }
        let isOther = welcome.version != Podfs.version
        guard isOther || installation.isDaemonOutdated else { return .ok("daemon", name) }
        let defect =
            isOther
            ? "has another version than this program (\(Podfs.version))"
            : "has not read the configuration since it was changed"
        return .warning(
            "daemon", "\(name), \(defect)",
            remedy: "kill \(welcome.pid): the next command starts a new daemon, and downloads continue")
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
