import CLinux
import Foundation
import Fuse
import Glibc
import Platform
import PodcastFilesystem

/// A folder to mount on, or the descriptor of a filesystem that is mounted already but not yet served.
enum MountPoint: Equatable {
    case folder(String)
    /// A descriptor of /dev/fuse, with which another program has mounted the filesystem.
    case descriptor(Int32)

    /// - Parameter argument: A folder, or `/dev/fd/N`.
    init(_ argument: String) throws {
        if argument.hasPrefix(Self.descriptorPrefix) {
            guard let number = Int32(argument.dropFirst(Self.descriptorPrefix.count)), fcntl(number, F_GETFD) >= 0
            else {
                throw CommandError(
                    .failed, "\(argument) is not open: it must be the /dev/fuse with which the folder was mounted")
            }
            // A daemon that is started before the descriptor is used must not inherit it.
            SpawnedSelf.setCloseOnExec(number)
            self = .descriptor(number)
        } else {
            self = .folder(try Self.prepare(argument))
        }
    }

    private static let descriptorPrefix = "/dev/fd/"

    /// Checks that the folder can be mounted on, and detaches a dead mount of podfs there.
    ///
    /// - Returns: The folder's absolute path.
    static func prepare(_ folder: String) throws -> String {
        // After a mount's process has died, the kernel answers stat(2) from its cache for a while. The mount table is
        // therefore checked first.
        if let mounted = MountedFolder.at(absolute(folder)), mounted.isPodfs {
            guard mounted.isDead else {
                throw CommandError(
                    .failed,
                    "\(folder) is mounted already; to unmount it: podfs unmount \(ShellQuoting.quoted(folder))")
            }
            try Unmount.perform(mounted.path, detach: true)
        }
        var status = stat()
        if stat(folder, &status) != 0 {
            let code = errno
            // A dead mount of another FUSE program is not detached.
            if code == ENOTCONN {
                throw CommandError(
                    .failed,
                    "\(folder) is a dead mount of another program; detach it first: fusermount3 -uz "
                        + ShellQuoting.quoted(folder))
            }
            throw problem(folder, code)
        }
        guard clinux_is_directory(status.st_mode) != 0 else {
            throw CommandError(.failed, "\(folder) is not a folder: podfs mounts on an empty folder")
        }
        let path = absolute(folder)
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: path)
        } catch {
            throw CommandError(.failed, "\(folder) cannot be read: \(error.localizedDescription)")
        }
        guard names.isEmpty else {
            throw CommandError(
                .failed,
                "\(folder) is not empty (\(names.count) names, '\(names[0])' among them): mount on an empty folder")
        }
        guard access("/dev/fuse", F_OK) == 0 else {
            throw CommandError(
                .failed,
                "there is no /dev/fuse: load the kernel module (modprobe fuse), or pass the device to the container")
        }
        return path
    }

    private static func problem(_ folder: String, _ code: Int32) -> CommandError {
        if code == ENOENT {
            return CommandError(
                .failed, "\(folder) does not exist; create it first: mkdir -p \(ShellQuoting.quoted(folder))")
        }
        return CommandError(.failed, "\(folder): \(String(cString: strerror(code)))")
    }

    /// Returns the absolute path. Symbolic links are resolved, unless a component cannot be accessed because it is
    /// missing or is a dead mount.
    static func absolute(_ folder: String) -> String {
        // With a slash at the end, realpath(3) checks that the path is a folder, which blocks if the process of a mount
        // there hangs.
        var folder = folder
        while folder.count > 1, folder.hasSuffix("/") { folder.removeLast() }
        if let path = realpath(folder, nil) {
            defer { free(path) }
            return String(cString: path)
        }
        let text = folder.hasPrefix("/") ? folder : FileManager.default.currentDirectoryPath + "/" + folder
        return URL(fileURLWithPath: text).standardizedFileURL.path
    }
}

/// An entry of the kernel's mount table.
struct MountedFolder: Equatable {
    var path: String
    /// The filesystem type, `fuse.podfs` by default.
    var type: String

    /// The answer of a mount to the request for its process id.
    enum Answer: Equatable, Sendable {
        /// The id of the process of a podfs mount.
        case process(pid_t)
        /// The mount's process has died.
        case dead
        /// Another error: the mount belongs to another program, or this user has no access to it. Even root has no
        /// access to a user's mount without `allow_other`.
        case refused
        /// There was no answer in time: the mount's process hangs or is stopped.
        case timeout
    }

    /// The maximum time for a mount to answer a getxattr, in seconds. A mount of podfs answers without asking the
    /// daemon, so a daemon that hangs does not delay the answer.
    private static let answerTimeout = 5.0

    /// Requests the process id from the mount. The kernel does not cache extended attributes, so getxattr(2) reaches
    /// the mount's process. The call blocks while that process hangs, so it runs on a thread of its own.
    func answer() -> Answer {
        let answer = OneShot<Answer>()
        startThread("podfs-attribute") { [path] in answer.deliver(Self.requestProcess(of: path)) }
        return answer.wait(seconds: Self.answerTimeout) ?? .timeout
    }

    private static func requestProcess(of path: String) -> Answer {
        var digits = [UInt8](repeating: 0, count: 32)
        let count = getxattr(path, PodcastFilesystem.processAttribute, &digits, digits.count)
        let code = errno
        if count < 0 { return code == ENOTCONN || code == ECONNABORTED ? .dead : .refused }
        return pid_t(String(decoding: digits.prefix(count), as: UTF8.self)).map(Answer.process) ?? .refused
    }

    /// Whether this is a mount of podfs. The mount option `subtype` may have changed the type. In that case, the mount
    /// is asked for podfs's extended attribute, and a mount that does not answer counts as one of another program.
    var isPodfs: Bool {
        if type == "fuse.podfs" { return true }
        guard type.hasPrefix("fuse."), case .process = answer() else { return false }
        return true
    }

    /// Whether the process of this mount, of podfs or of another FUSE program, has died.
    var isDead: Bool { answer() == .dead }

    /// Returns the topmost mount at a path; `nil` if nothing is mounted there.
    static func at(_ path: String) -> MountedFolder? { all().last { $0.path == path } }

    static func all() -> [MountedFolder] {
        guard let text = SystemFile.contents("/proc/self/mounts") else { return [] }
        return text.split(separator: "\n").compactMap { line in
            let fields = line.split(separator: " ")
            guard fields.count > 2 else { return nil }
            return MountedFolder(
                path: String(decoding: MountInfo.unescaped(fields[1]), as: UTF8.self), type: String(fields[2]))
        }
    }
}
