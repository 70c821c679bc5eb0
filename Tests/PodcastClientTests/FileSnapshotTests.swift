import CLinux
import Foundation
import Glibc
import TestSupport
import Testing

@testable import PodcastProtocol

/// `FileSnapshot`, the copy that the client makes of a file to publish.
struct FileSnapshotTests {
    private let directory: TemporaryDirectory
    private let folder: String

    init() throws {
        directory = try TemporaryDirectory()
        folder = try directory.makeDirectory("uploads")
    }

    private var copies: [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] }

    private func problem(_ file: String) -> String? {
        do {
            _ = try FileSnapshot.make(of: file, in: folder)
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test func aCopyIsCompleteAndPrivate() throws {
        let content = TestContent(seed: 1, size: 3_000_001)
        let file = try directory.write("a.mp4", content.bytes)
        let snapshot = try FileSnapshot.make(of: file, in: folder)
        try directory.write("a.mp4", text: "something else")
        let path = "\(folder)/\(snapshot.name)"
        #expect(UUID(uuidString: snapshot.name) != nil)
        #expect(content.matches(try #require(FileManager.default.contents(atPath: path))))
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        snapshot.handOver()
    }

    @Test func aCopyIsLockedUntilTheDaemonOwnsItAndRemovedIfItDoesNot() throws {
        let file = try directory.write("a.mp4", text: "bytes")
        var snapshot: FileSnapshot? = try FileSnapshot.make(of: file, in: folder)
        #expect(snapshot != nil && copies.count == 1)
        snapshot = nil
        #expect(copies.isEmpty)
        snapshot = try FileSnapshot.make(of: file, in: folder)
        let path = "\(folder)/\(snapshot?.name ?? "")"
        let other = open(path, O_RDWR | O_CLOEXEC)
        let (status, error) = (clinux_ofd_lock(other, Int16(F_WRLCK)), errno)
        #expect(status == -1 && error == EAGAIN)
        snapshot?.handOver()
        snapshot = nil
        #expect(clinux_ofd_lock(other, Int16(F_WRLCK)) == 0)
        close(other)
        #expect(copies.count == 1)
    }

    /// A starting daemon locks and removes each copy that it does not know.
    @Test(arguments: [false, true])
    func aCopyThatADaemonRemovesBeforeItIsLockedIsReplaced(isStillLocked: Bool) throws {
        var removed: [String] = []
        var daemon: Int32 = -1
        let copy = try FileSnapshot.createLocked(in: folder) { path in
            guard removed.isEmpty else { return }
            removed.append(path)
            daemon = open(path, O_RDWR | O_CLOEXEC)
            #expect(clinux_ofd_lock(daemon, Int16(F_WRLCK)) == 0)
            #expect(unlink(path) == 0)
            if !isStillLocked { close(daemon) }
        }
        if isStillLocked { close(daemon) }
        defer { withExtendedLifetime(copy) {} }
        #expect(removed.count == 1 && copies == [copy.name])
        let other = open(copy.path, O_RDWR | O_CLOEXEC)
        defer { close(other) }
        #expect(other >= 0 && clinux_ofd_lock(other, Int16(F_WRLCK)) == -1)
    }

    @Test func anUnreadableFileIsReportedAndLeavesNoCopy() throws {
        #expect(problem(directory.file("none"))?.contains("No such file or directory") ?? false)
        #expect(problem(directory.path)?.hasSuffix("is a folder: name a file") ?? false)
        #expect(problem(try directory.write("empty", text: ""))?.contains("is empty") ?? false)
        let pipe = directory.file("pipe")
        mkfifo(pipe, 0o600)
        #expect(problem(pipe)?.contains("not a regular file") ?? false)
        #expect(problem("/dev/zero")?.contains("not a regular file") ?? false)
        // The reported size of files in /proc is 0, whatever their content.
        #expect(problem("/proc/self/status")?.contains("is empty") ?? false)
        #expect(copies.isEmpty)
    }

    @Test(.enabled(if: TemporaryFilesystem.isPossible)) func aFullDiskIsReportedAndLeavesNoCopy() async throws {
        let disk = try await TemporaryFilesystem(mebibytes: 1, at: folder)
        let file = try directory.write("a.mp4", TestContent(seed: 1, size: 3_000_000).bytes)
        #expect(problem(file)?.contains("there is no space for a copy") ?? false, "\(problem(file) ?? "none")")
        #expect(copies.isEmpty)
        withExtendedLifetime(disk) {}
    }
}
