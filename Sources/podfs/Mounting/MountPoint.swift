import CLinux
import Foundation
import Fuse
import Glibc
import Platform

/// A folder to mount on.
enum MountPoint {
    /// Checks that the folder can be mounted on, and detaches a dead mount of podfs there.
    ///
    /// - Returns: The folder's absolute path.
    static func prepare(_ folder: String) throws -> String {
        // After a mount's process has died, the kernel answers stat(2) from its cache for a while. The mount table is
        // therefore checked first.
        if let mounted = MountEntry.at(absolute(folder)), mounted.isPodfs {
            guard mounted.answer() == .dead else {
                throw CommandError(
                    .failed,
                    "\(folder) is mounted already; to unmount it: podfs unmount \(ShellQuoting.quoted(folder))")
            }
            try Unmount.perform(mounted.path, detach: true)
        }
        var status = stat()
        if stat(folder, &status) != 0 {
            let (code, quoted) = (errno, ShellQuoting.quoted(folder))
            let reason =
                switch code {
                case ENOENT: " does not exist; create it first: mkdir -p \(quoted)"
                // A dead mount of another FUSE program is not detached.
                case ENOTCONN: " is a dead mount of another program; detach it first: fusermount3 -uz \(quoted)"
                default: ": \(errnoText(code))"
                }
            throw CommandError(.failed, folder + reason)
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
        if let name = names.first {
            throw CommandError(.failed, "\(folder) is not empty (it has '\(name)'): mount on an empty folder")
        }
        guard access("/dev/fuse", F_OK) == 0 else {
            throw CommandError(
                .failed,
                "there is no /dev/fuse: load the kernel module (modprobe fuse), or pass the device to the container")
        }
        return path
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
