import CLinux
import Foundation
import Glibc
import PodcastFilesystem

/// The folder that is mounted on.
enum MountPoint {
    /// Checks the folder, and cleans it of a mount whose process has died.
    ///
    /// - Returns: its absolute path.
    static func prepare(_ folder: String) throws -> String {
        // The kernel answers stat(2) from its cache for a while after the process behind a mount has died, so that the list
        // of mounts says more than the folder.
        if let mounted = MountedFolder.at(absolute(folder)), mounted.isPodfs {
            guard mounted.isDead else {
                throw CommandError(.failed, "\(folder) is mounted already; to end it: podfs unmount \(folder)")
            }
            try detach(mounted.path)
        }
        var status = stat()
        if stat(folder, &status) != 0 {
            let code = errno
            // A dead mount of another FUSE program is not podfs's to clean.
            if code == ENOTCONN {
                throw CommandError(
                    .failed, "\(folder) is a mount whose program has died; first: fusermount3 -uz \(folder)")
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
                "there is no /dev/fuse: load the kernel module (modprobe fuse), or give the container the device")
        }
        return path
    }

    private static func problem(_ folder: String, _ code: Int32) -> CommandError {
        if code == ENOENT {
            return CommandError(.failed, "\(folder) does not exist; make it first: mkdir -p \(folder)")
        }
        return CommandError(.failed, "\(folder): \(String(cString: strerror(code)))")
    }

    /// The path from the root, also where the last component does not answer.
    static func absolute(_ folder: String) -> String {
        if let path = realpath(folder, nil) {
            defer { free(path) }
            return String(cString: path)
        }
        let text = folder.hasPrefix("/") ? folder : FileManager.default.currentDirectoryPath + "/" + folder
        return URL(fileURLWithPath: text).standardizedFileURL.path
    }

    /// Takes away a mount, busy or not. The corresponding C function is `umount2` with MNT_DETACH; without privileges
    /// fusermount3 does it.
    static func detach(_ path: String) throws { try unmount(path, detaching: true) }

    static func unmount(_ path: String, detaching: Bool) throws {
        if umount2(path, detaching ? Int32(MNT_DETACH) : 0) == 0 { return }
        let code = errno
        if code == EBUSY { throw Busy() }
        guard code == EPERM else {
            throw CommandError(.failed, "cannot unmount \(path): \(String(cString: strerror(code)))")
        }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["fusermount3", "-u", "-q"] + (detaching ? ["-z"] : []) + ["--", path]
        process.standardInput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        do {
            try process.run()
        } catch {
            throw CommandError(
                .failed, "fusermount3 does not start (\(error.localizedDescription)); it comes with fuse3")
        }
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            if detaching { throw CommandError(.failed, "fusermount3 cannot unmount \(path)") }
            throw Busy()
        }
    }

    /// Somebody uses the mount.
    struct Busy: Error {}
}

/// A line of the kernel's list of mounts.
struct MountedFolder: Equatable {
    var path: String
    var type: String

    var isPodfs: Bool { type == "fuse.podfs" }

    /// Whether the process behind a mount of podfs has gone. Extended attributes are never cached: they have to ask it.
    var isDead: Bool {
        getxattr(path, PodcastFilesystem.processAttribute, nil, 0) < 0 && (errno == ENOTCONN || errno == ECONNABORTED)
    }

    /// The uppermost mount at a path.
    static func at(_ path: String) -> MountedFolder? { all().last { $0.path == path } }

    static func all() -> [MountedFolder] {
        guard let text = try? String(contentsOfFile: "/proc/self/mounts", encoding: .utf8) else { return [] }
        return text.split(separator: "\n").compactMap { line in
            let fields = line.split(separator: " ")
            guard fields.count > 2 else { return nil }
            return MountedFolder(path: unescaped(fields[1]), type: String(fields[2]))
        }
    }

    /// Space, tab, newline and backslash stand there as a backslash and three octal digits (fstab(5)).
    private static func unescaped(_ field: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = Array(field.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\\"), rest.count >= 3,
                let code = UInt8(String(decoding: rest.prefix(3), as: UTF8.self), radix: 8)
            {
                bytes.append(code)
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
