import CLinux
import Dispatch
import Foundation
import Glibc
import Platform
import PodcastFilesystem
import PodcastPages
import PodcastProtocol

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

    /// Whether fusermount3 is set-user-id root.
    private static var helperIsPrivileged: Bool {
        var status = stat()
        guard let path = program("fusermount3"), stat(path, &status) == 0 else { return false }
        return status.st_mode & S_ISUID != 0 && status.st_uid == 0
    }

    /// Checks fusermount3, which mounts on behalf of users.
    func helper() -> Finding {
        let isRoot = geteuid() == 0
        let status: Finding.Status = isRoot ? .warning : .problem
        let need = isRoot ? "root mounts without it, users do not" : "without it you cannot mount"
        guard let path = Self.program("fusermount3") else {
            return Finding(
                check: "fusermount3", status: status, message: "is not in PATH: \(need)",
                remedy: "install the package fuse3")
        }
        guard Self.helperIsPrivileged else {
            return Finding(
                check: "fusermount3", status: status, message: "\(path) is not set-user-id root: \(need)",
                remedy: "chown root \(path) && chmod u+s \(path)")
        }
        return .ok("fusermount3", path)
    }

    /// Reports whether users may mount with `allow_other` (mount.fuse3(8)).
    func otherUsers() -> Finding {
        let path = "/etc/fuse.conf"
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        let lines = text.split(whereSeparator: \.isNewline)
        let isSet = lines.contains { $0.trimmingCharacters(in: .whitespaces) == "user_allow_other" }
        if isSet { return .ok(path, "user_allow_other is set: mount --allow-other works") }
        return .ok(
            path, "user_allow_other is not set; only mount --allow-other needs it, unless root mounts")
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
