import CLinux
import Foundation
import Glibc
import SystemPackage
import TestSupport
import Testing
import Transfers

struct FileCopyTests {
    private let directory: TemporaryDirectory
    /// More than two steps of a copy.
    private static let size = 20_000_000
    private let content = TestContent(seed: 3, size: Self.size)

    init() throws { directory = try TemporaryDirectory() }

    private func open(_ path: String, _ flags: Int32) throws -> FileDescriptor {
        let descriptor = clinux_open(path, flags | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SystemCallError("open") }
        return FileDescriptor(rawValue: descriptor)
    }

    /// Copies `size` bytes to a new file.
    private func copy(
        size: Int64, begin: () -> Void = {}, progress: (Int64) -> Void = { _ in }
    ) throws -> (path: String, sha256: String) {
        let source = try open(directory.write("source", content.bytes), O_RDONLY)
        defer { try? source.close() }
        let path = directory.file("copy")
        let destination = try open(path, O_RDWR | O_CREAT | O_EXCL)
        defer { try? destination.close() }
        return (path, try FileCopy.copy(source, size: size, to: destination, begin: begin, progress: progress))
    }

    @Test func aCopyHasTheBytesAndTheDigestOfTheSource() throws {
        var (steps, copied) = (0, Int64(0))
        let (path, sha256) = try copy(size: Int64(Self.size), begin: { steps += 1 }, progress: { copied += $0 })
        #expect(content.matches(try Data(contentsOf: URL(fileURLWithPath: path))))
        let file = try open(path, O_RDONLY)
        defer { try? file.close() }
        #expect(try FileDigest.digest(.sha256, of: file, size: Int64(Self.size)) == sha256)
        #expect(copied == Int64(Self.size))
        #expect(steps == 3)
    }

    @Test func aSourceThatIsTooShortIsAnError() throws {
        #expect(throws: Errno.ioError) { try copy(size: Int64(Self.size) + 1) }
    }
}
