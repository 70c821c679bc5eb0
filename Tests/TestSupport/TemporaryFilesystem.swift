import Glibc

/// A small file system in memory, for tests of a full disk. Needs root.
package final class TemporaryFilesystem: Sendable {
    package static let isPossible = getuid() == 0

    /// The new folder that is the mount point; `nil` if the mount point belongs to the caller.
    private let folder: TemporaryDirectory?
    package let path: String

    /// Mounts on a new folder.
    package init(mebibytes: Int) async throws {
        let folder = try TemporaryDirectory()
        self.folder = folder
        path = folder.path
        try await Self.mount("size=\(mebibytes)m", path)
    }

    /// Mounts over an existing folder.
    package init(mebibytes: Int, at path: String) async throws {
        folder = nil
        self.path = path
        try await Self.mount("size=\(mebibytes)m,mode=0700", path)
    }

    deinit { umount2(path, Int32(MNT_DETACH)) }

    /// Fills the file system completely.
    ///
    /// - Returns: The file that uses all the space.
    package func fill() throws -> String {
        let ballast = path + "/ballast"
        let descriptor = open(ballast, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SystemCallError("open") }
        defer { close(descriptor) }
        let zeros = [UInt8](repeating: 0, count: 4_096)
        while write(descriptor, zeros, zeros.count) > 0 {}
        return ballast
    }

    package func grow(to mebibytes: Int) async throws { try await Self.mount("remount,size=\(mebibytes)m", path) }

    private static func mount(_ options: String, _ path: String) async throws {
        let result = try await ChildProcess.run("mount", ["-t", "tmpfs", "-o", options, "tmpfs", path])
        guard result.exitCode == 0 else { throw DeadlineError("a file system is mounted: \(result.error)") }
    }
}
