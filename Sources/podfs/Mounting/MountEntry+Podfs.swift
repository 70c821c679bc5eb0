import CLinux
import Foundation
import Platform
import PodcastFilesystem

extension MountEntry {
    /// The answer of a mount to the request for its process id.
    enum Answer: Equatable, Sendable {
        /// The id of the process of a podfs mount, as the mount states it.
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
        guard isFuse, case .process = answer() else { return false }
        return true
    }

    /// Whether this is a mount of a library, made by this user or by root. Any other mount may state the same.
    func shows(_ library: String) -> Bool {
        guard let owner, owner == geteuid() || owner == 0,
            let stated = PathResolver.attribute(PodcastFilesystem.libraryAttribute, of: path)
        else { return false }
        return MountPoint.absolute(stated) == MountPoint.absolute(library)
    }

    /// Returns the mount that contains a file, whose path is absolute and without links.
    static func containing(_ file: String) -> MountEntry? {
        all().last { file == $0.path || file.hasPrefix($0.path == "/" ? "/" : $0.path + "/") }
    }

    /// Returns this user's mounts of type `fuse.podfs`. Asks no mount: one of another program may hang.
    static func own() -> [MountEntry] { all().filter { $0.type == "fuse.podfs" && $0.owner == getuid() } }

    /// Returns the process that the mount names, if it belongs to the mount's owner and has the mount's /dev/fuse open.
    /// A hostile mount may name any process, and a mount served from a container names one of the container.
    func process(_ id: pid_t) -> ProcessHandle? {
        guard id > 1, let process = ProcessHandle(id) else { return nil }
        var status = stat()
        guard stat("/proc/\(id)", &status) == 0, status.st_uid == owner else { return nil }
        let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(id)/fd")) ?? []
        return descriptors.contains { isOwnDevice("/proc/\(id)", $0) } ? process : nil
    }

    /// Returns whether a descriptor is the mount's /dev/fuse. Kernels before 6.16 do not report the connection, and any
    /// /dev/fuse counts there.
    private func isOwnDevice(_ process: String, _ descriptor: String) -> Bool {
        let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(process)/fd/\(descriptor)")
        guard target == "/dev/fuse" else { return false }
        let facts = SystemFile.contents("\(process)/fdinfo/\(descriptor)") ?? ""
        guard let line = facts.split(separator: "\n").first(where: { $0.hasPrefix("fuse_connection:") }) else {
            return true
        }
        return line.split(whereSeparator: \.isWhitespace).last.flatMap { UInt32($0) } == device.minor
    }
}
