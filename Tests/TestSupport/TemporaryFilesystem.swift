import Glibc

/// A small file system in memory, for what happens when it is full. Needs root.
package final class TemporaryFilesystem: Sendable {
    package static let isPossible = getuid() == 0

    /// Kept until the end, unless the place is another's.
    private let folder: TemporaryDirectory?
    package let path: String

    /// In a folder of its own.
    package init(mebibytes: Int) async throws {
        let folder = try TemporaryDirectory()
        self.folder = folder
        path = folder.path
        try await Self.mount("size=\(mebibytes)m", path)
    }

    /// Over a folder that is there.
    package init(mebibytes: Int, at path: String) async throws {
        folder = nil
        self.path = path
        try await Self.mount("size=\(mebibytes)m,mode=0700", path)
    }

    deinit { umount2(path, Int32(MNT_DETACH)) }

    /// Leaves no byte free.
    ///
    /// - Returns: the file that takes all the space.
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
