import Foundation
import Glibc
import TestSupport

/// A small file system in memory, for what happens when it is full. Needs root.
final class TemporaryFilesystem: Sendable {
    static let isPossible = getuid() == 0

    private let folder: TemporaryDirectory
    var path: String { folder.path }

    init(mebibytes: Int) async throws {
        folder = try TemporaryDirectory()
        try await Self.mount("size=\(mebibytes)m", folder.path)
    }

    deinit { umount2(folder.path, Int32(MNT_DETACH)) }

    /// Leaves no byte free.
    ///
    /// - Returns: the file that takes all the space.
    func fill() throws -> String {
        let path = folder.file("ballast")
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SystemCallError("open") }
        defer { close(descriptor) }
        let zeros = [UInt8](repeating: 0, count: 4_096)
        while write(descriptor, zeros, zeros.count) > 0 {}
        return path
    }

    func grow(to mebibytes: Int) async throws { try await Self.mount("remount,size=\(mebibytes)m", folder.path) }

    private static func mount(_ options: String, _ path: String) async throws {
        let result = try await ChildProcess.run("mount", ["-t", "tmpfs", "-o", options, "tmpfs", path])
        guard result.exitCode == 0 else { throw DeadlineError("a file system is mounted: \(result.error)") }
    }
}
