import CLinux
import Foundation
import Glibc

/// Changes that another program may make to a file.
package enum Tampering: String, CaseIterable, Sendable {
    case truncated, emptied, extended
    /// A part was replaced by a hole, or by allocated zeros; the mtime was restored.
    case punched, zeroed
    /// One byte in the middle was overwritten; with `forged` the mtime was restored.
    case overwritten, forged
    /// The file was replaced by one with other content and the same size.
    case replaced
    /// The file was replaced: by a symbolic link to the moved file, by a folder, or by a pipe without a writer.
    case linked, folder, pipe
    case removed
    /// The file was replaced by a copy, as when a backup is restored.
    case copied
    /// Only the mtime was changed.
    case touched
    /// The file got a second hard link.
    case named

    /// Whether a regular file with the same content remains at the path.
    package var isHarmless: Bool { [.copied, .touched, .named].contains(self) }

    /// Applies the change to the file at `path`, which must have at least 100,000 bytes.
    package func apply(to path: String) async throws {
        let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
        switch self {
        case .truncated: try check(truncate(path, off_t(size - 1)))
        case .emptied: try check(truncate(path, 0))
        case .extended: try check(truncate(path, off_t(size + 1)))
        case .punched: try await allocate("--punch-hole", path)
        case .zeroed: try await allocate("--zero-range", path)
        case .overwritten: try flipByte(size / 2, of: path)
        case .forged: try await keepingTime(of: path) { try flipByte(size / 2, of: path) }
        case .replaced:
            try put(Data(repeating: 7, count: size), inPlaceOf: path)
        case .linked:
            try FileManager.default.moveItem(atPath: path, toPath: path + ".copy")
            try check(symlink(path + ".copy", path))
        case .folder:
            try check(unlink(path))
            try check(mkdir(path, 0o700))
        case .pipe:
            try check(unlink(path))
            try check(mkfifo(path, 0o600))
        case .removed: try check(unlink(path))
        case .copied: try put(try Data(contentsOf: URL(fileURLWithPath: path)), inPlaceOf: path)
        case .touched: try check(utimensat(AT_FDCWD, path, [timespec(), timespec()], 0))
        case .named: try check(link(path, path + ".name"))
        }
    }

    private func flipByte(_ offset: Int, of path: String) throws {
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        bytes[offset] ^= 1
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try file.write(contentsOf: bytes)
        try file.close()
    }

    private func put(_ bytes: Data, inPlaceOf path: String) throws {
        try bytes.write(to: URL(fileURLWithPath: path + ".copy"))
        try check(rename(path + ".copy", path))
    }

    /// Changes the allocation of some blocks in the middle, and restores the mtime.
    private func allocate(_ option: String, _ path: String) async throws {
        try await keepingTime(of: path) {
            let result = try await ChildProcess.run("fallocate", [option, "--offset=32768", "--length=32768", path])
            guard result.exitCode == 0 else { throw SystemCallError("fallocate", code: EOPNOTSUPP) }
        }
    }

    private func keepingTime(of path: String, _ change: () async throws -> Void) async throws {
        var status = stat()
        try check(stat(path, &status))
        try await change()
        try check(utimensat(AT_FDCWD, path, [status.st_atim, status.st_mtim], 0))
    }

    private func check(_ result: Int32) throws {
        guard result == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    }
}
