import CLinux
import Dispatch
import Foundation
import Glibc

/// A mount served by another process, accessed by system calls.
///
/// The calls run on a thread in this process, since starting a program for each would cost many times as much. If a
/// call hangs, the mount's guard aborts the FUSE connection at its deadline, which makes the call fail.
package final class ModelMount: ModelSubject {
    package let home: PodfsHome
    private let mount: MountGuard
    private let queue = DispatchQueue(label: "podfs.model.calls")

    package init(home: PodfsHome, mount: MountGuard) {
        self.home = home
        self.mount = mount
    }

    package var owner: UInt32 { getuid() }
    package var readsAhead: Bool { true }

    private func call<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try body() }) }
        }
    }

    private func at(_ path: [String]) -> String { ([mount.mountPoint] + path).joined(separator: "/") }

    @discardableResult
    private static func check<Number: SignedInteger>(_ result: Number) throws -> Number {
        if result < 0 { throw ModelErrno(errno) }
        return result
    }

    // MARK: Nodes

    package func status(_ path: [String]) async throws -> ModelStatus {
        let path = at(path)
        return try await call {
            var status = stat()
            try Self.check(lstat(path, &status))
            return Self.status(status)
        }
    }

    package func status(of file: Int32) async throws -> ModelStatus {
        try await call {
            var status = stat()
            try Self.check(fstat(file, &status))
            return Self.status(status)
        }
    }

    private static func status(_ status: stat) -> ModelStatus {
        let kind: ModelNode.Kind =
            switch status.st_mode & S_IFMT {
            case S_IFDIR: .folder
            case S_IFLNK: .link
            default: .file
            }
        return ModelStatus(
            inode: UInt64(status.st_ino), kind: kind, permissions: status.st_mode & 0o7777,
            links: UInt32(status.st_nlink), size: Int64(status.st_size), blocks: Int64(status.st_blocks),
            modified: Int64(status.st_mtim.tv_sec), changed: Int64(status.st_ctim.tv_sec), uid: status.st_uid)
    }

    package func target(_ path: [String]) async throws -> String {
        let path = at(path)
        return try await call {
            var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
            let count = try Self.check(readlink(path, &buffer, buffer.count))
            return String(decoding: buffer[..<count], as: UTF8.self)
        }
    }

    package func statistics() async throws -> ModelStatistics {
        let path = at([])
        return try await call {
            var found = statvfs()
            try Self.check(statvfs(path, &found))
            return ModelStatistics(
                blocks: Int64(found.f_blocks), free: Int64(found.f_bfree), longestName: Int64(found.f_namemax))
        }
    }

    // MARK: Files

    package func open(_ path: [String]) async throws -> Int32 {
        let path = at(path)
        return try await call { try Self.check(Glibc.open(path, O_RDONLY | O_CLOEXEC)) }
    }

    package func read(_ file: Int32, offset: Int64, count: Int) async throws -> [UInt8] {
        try await call {
            var buffer = [UInt8](repeating: 0, count: count)
            var done = 0
            // A short read does not imply the end of the file.
            while done < count {
                let place = off_t(offset) + off_t(done)
                let got = try buffer.withUnsafeMutableBytes { bytes in
                    try Self.check(pread(file, bytes.baseAddress?.advanced(by: done), count - done, place))
                }
                if got == 0 { break }
                done += got
            }
            return Array(buffer[..<done])
        }
    }

    package func close(_ file: Int32) async throws { _ = try await call { try Self.check(Glibc.close(file)) } }

    // MARK: Folders

    package func openFolder(_ path: [String]) async throws -> Int32 {
        let path = at(path)
        return try await call { try Self.check(Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) }
    }

    package func closeFolder(_ folder: Int32) async throws { try await close(folder) }

    package func list(_ folder: Int32, from offset: Int64, size: Int, plus: Bool) async throws -> [ModelListed] {
        try await call {
            // `plus` has no effect: the kernel decides whether it requests attributes.
            try Self.check(lseek(folder, off_t(offset), SEEK_SET))
            var base: off_t = 0
            var buffer = [CChar](repeating: 0, count: size)
            let count = try Self.check(getdirentries(folder, &buffer, size, &base))
            return buffer.withUnsafeBytes { Self.entries(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        }
    }

    /// Decodes the records of getdents64(2): inode, offset, length, type, name.
    private static func entries(_ bytes: UnsafeRawBufferPointer) -> [ModelListed] {
        var entries: [ModelListed] = []
        var start = 0
        while start + 19 <= bytes.count {
            let length = Int(bytes.loadUnaligned(fromByteOffset: start + 16, as: UInt16.self))
            let kind: ModelNode.Kind =
                switch Int(bytes[start + 18]) {
                case Int(DT_DIR): .folder
                case Int(DT_LNK): .link
                default: .file
                }
            let name = bytes[(start + 19)..<(start + length)].prefix { $0 != 0 }
            entries.append(
                ModelListed(
                    entry: ModelName(
                        name: String(decoding: name, as: UTF8.self),
                        inode: bytes.loadUnaligned(fromByteOffset: start, as: UInt64.self), kind: kind),
                    next: bytes.loadUnaligned(fromByteOffset: start + 8, as: Int64.self)))
            start += length
        }
        return entries
    }

    // MARK: Extended attributes

    package func attribute(_ name: String, _ path: [String]) async throws -> String {
        let path = at(path)
        return try await call {
            var buffer = [UInt8](repeating: 0, count: 65_536)
            let count = try Self.check(lgetxattr(path, name, &buffer, buffer.count))
            return String(decoding: buffer[..<count], as: UTF8.self)
        }
    }

    package func attributeNames(_ path: [String]) async throws -> [String] {
        let path = at(path)
        return try await call {
            var buffer = [CChar](repeating: 0, count: 65_536)
            let count = try Self.check(llistxattr(path, &buffer, buffer.count))
            return buffer[..<count].split(separator: 0).map { name in
                String(decoding: name.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            }
        }
    }

    package func setAttribute(_ name: String, _ value: String, _ path: [String]) async throws {
        let path = at(path)
        _ = try await call {
            let bytes = Array(value.utf8)
            return try Self.check(lsetxattr(path, name, bytes, bytes.count, 0))
        }
    }

    // MARK: Changes

    package func modify(_ modification: ModelModification, _ path: [String]) async throws -> ModelErrno? {
        let isFolder = try await status(path).kind == .folder
        let folder = at(path.dropLast())
        let path = at(path)
        return try await call {
            // The name begins with a dot, so that it does not exist even in `.search`, where all others are folders.
            let fresh = (isFolder ? path : folder) + "/.nothing of that name"
            // The new name is in the same folder. The move of a folder into itself, or of a file out of the mount,
            // would fail for other reasons.
            let beside = folder + "/.nothing of that name"
            let result: Int32
            switch modification {
            case .create: result = Glibc.open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
            case .makeFolder: result = mkdir(fresh, 0o755)
            case .makeNode: result = mknod(fresh, S_IFIFO | 0o644, 0)
            case .makeLink: result = symlink("/dev/null", fresh)
            case .makeHardLink: result = link(path, fresh)
            case .remove: result = isFolder ? unlinkat(AT_FDCWD, path, AT_REMOVEDIR) : unlink(path)
            case .removeFolder: result = isFolder ? rmdir(path) : unlink(path)
            case .rename: result = Glibc.rename(path, beside)
            case .truncate:
                // The kernel itself refuses to truncate a folder, or to open it for writing (EISDIR).
                if isFolder { return nil }
                result = truncate(path, 0)
            case .openForWriting:
                if isFolder { return nil }
                result = Glibc.open(path, O_RDWR | O_CLOEXEC)
            case .changeMode: result = chmod(path, 0o600)
            case .changeOwner: result = lchown(path, 1, 1)
            case .changeTimes: result = utimensat(AT_FDCWD, path, nil, AT_SYMLINK_NOFOLLOW)
            case .removeAttribute: result = lremovexattr(path, "user.podfs.played")
            }
            return result < 0 ? ModelErrno(errno) : ModelErrno(0)
        }
    }

    // MARK: The mount

    package func mountAgain() async throws {
        let mounted = try await home.run("mount", mount.mountPoint)
        if mounted.exitCode != 0 { throw DeadlineError("the folder is mounted: \(mounted.error)") }
    }

    package func remount() async throws {
        try await end()
        try await mountAgain()
    }

    package func end() async throws {
        // A child that another test has just started may hold a descriptor of the mount until its exec.
        try await waitUntil(deadline: .seconds(60), description: "the folder is unmounted") {
            try await home.run("unmount", mount.mountPoint).exitCode == 0
        }
    }
}
