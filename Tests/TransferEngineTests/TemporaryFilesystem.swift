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

    func grow(to mebibytes: Int) async throws { try await Self.mount("remount,size=\(mebibytes)m", folder.path) }

    private static func mount(_ options: String, _ path: String) async throws {
        let result = try await ChildProcess.run("mount", ["-t", "tmpfs", "-o", options, "tmpfs", path])
        guard result.exitCode == 0 else { throw DeadlineError("a file system is mounted: \(result.error)") }
    }
}
