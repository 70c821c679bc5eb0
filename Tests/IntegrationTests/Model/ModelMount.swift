import CLinux
import Dispatch
import Foundation
import Glibc
import TestSupport

/// The mount that is compared with the model (`ModelTree`, the expected tree). Another process serves it, and it is
/// accessed by system calls.
///
/// A path is the list of names below the mount's root. All calls throw `ModelErrno` for errors of the filesystem, and
/// other errors when the run itself fails.
///
/// The calls run on a thread in this process, since starting a program for each would cost many times as much. If a
/// call hangs, the mount's guard aborts the FUSE connection at its deadline, which makes the call fail.
struct ModelMount: Sendable {
    let home: PodfsHome
    let mount: MountGuard
    private let queue = DispatchQueue(label: "podfs.model.calls")

    var owner: UInt32 { getuid() }

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

    func status(_ path: [String]) async throws -> ModelStatus {
        let path = at(path)
        return try await call {
            var status = stat()
            try Self.check(lstat(path, &status))
            return Self.status(status)
        }
    }

    func status(of file: Int32) async throws -> ModelStatus {
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

    func target(_ path: [String]) async throws -> String {
        let path = at(path)
        return try await call {
            var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
            let count = try Self.check(readlink(path, &buffer, buffer.count))
            return String(decoding: buffer[..<count], as: UTF8.self)
        }
    }

    func statistics() async throws -> ModelStatistics {
        let path = at([])
        return try await call {
            var found = statvfs()
            try Self.check(statvfs(path, &found))
            return ModelStatistics(
                blocks: Int64(found.f_blocks), free: Int64(found.f_bfree), longestName: Int64(found.f_namemax))
        }
    }

    // MARK: Files

    func open(_ path: [String]) async throws -> Int32 {
        let path = at(path)
        return try await call { try Self.check(Glibc.open(path, O_RDONLY | O_CLOEXEC)) }
    }

    func read(_ file: Int32, offset: Int64, count: Int) async throws -> [UInt8] {
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

    func close(_ file: Int32) async throws { _ = try await call { try Self.check(Glibc.close(file)) } }

    // MARK: Folders

    func openFolder(_ path: [String]) async throws -> Int32 {
        let path = at(path)
        return try await call { try Self.check(Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) }
    }

    func closeFolder(_ folder: Int32) async throws { try await close(folder) }

    func list(_ folder: Int32, from offset: Int64, size: Int) async throws -> [ModelListed] {
        try await call {
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

    func attribute(_ name: String, _ path: [String]) async throws -> String {
        let path = at(path)
        return try await call {
            var buffer = [UInt8](repeating: 0, count: 65_536)
            let count = try Self.check(lgetxattr(path, name, &buffer, buffer.count))
            return String(decoding: buffer[..<count], as: UTF8.self)
        }
    }

    func attributeNames(_ path: [String]) async throws -> [String] {
        let path = at(path)
        return try await call {
            var buffer = [CChar](repeating: 0, count: 65_536)
            let count = try Self.check(llistxattr(path, &buffer, buffer.count))
            return buffer[..<count].split(separator: 0).map { name in
                String(decoding: name.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            }
        }
    }

    func setAttribute(_ name: String, _ value: String, _ path: [String]) async throws {
        let path = at(path)
        _ = try await call {
            let bytes = Array(value.utf8)
            return try Self.check(lsetxattr(path, name, bytes, bytes.count, 0))
        }
    }

    // MARK: The mount

    func mountAgain() async throws {
        let mounted = try await home.run("mount", mount.mountPoint)
        if mounted.exitCode != 0 { throw DeadlineError("the folder is mounted: \(mounted.error)") }
    }

    func remount() async throws {
        try await end()
        try await mountAgain()
    }

    func end() async throws {
        // A child that another test has just started may hold a descriptor of the mount until its exec.
        try await waitUntil(deadline: .seconds(60), description: "the folder is unmounted") {
            try await home.run("unmount", mount.mountPoint).exitCode == 0
        }
    }
}

/// The result of stat(2).
struct ModelStatus: Sendable, Equatable {
    var inode: UInt64
    var kind: ModelNode.Kind
    var permissions: UInt32
    var links: UInt32
    var size: Int64
    var blocks: Int64
    var modified: Int64
    var changed: Int64
    var uid: UInt32
}

/// A name returned by readdir.
struct ModelListed: Sendable, Equatable {
    var entry: ModelName
    /// The offset of the next name.
    var next: Int64
}

/// The result of statfs(2). Sizes are in blocks of 4 KiB.
struct ModelStatistics: Sendable, Equatable {
    var blocks: Int64
    var free: Int64
    var longestName: Int64
}

/// An errno as an error.
struct ModelErrno: Error, Equatable, CustomStringConvertible {
    var code: Int32

    init(_ code: Int32) { self.code = code }

    var description: String { code == 0 ? "success" : String(cString: strerror(code)) }
}
