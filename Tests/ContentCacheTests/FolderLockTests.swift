import SystemPackage
import TestSupport
import Testing
import Transfers

@Suite struct FolderLockTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    @Test func aLockHasOneHolder() throws {
        let path = FilePath(folder.file("lock"))
        var first = try FolderLock(file: path)
        #expect(first != nil)
        #expect(try FolderLock(file: path) == nil)
        first = nil
        #expect(try FolderLock(file: path) != nil)
        withExtendedLifetime(first) {}
    }

    /// Until a new process executes its program, it has a copy of the lock's descriptor. While the copy is open, the
    /// lock is not released by a mere close of the original.
    @Test func aLockIsReleasedWhileAProcessIsBeingStarted() async throws {
        let path = FilePath(folder.file("lock"))
        var lock = try FolderLock(file: path)
        #expect(lock != nil)
        let process = try await UnfinishedSpawn()
        lock = nil
        #expect(try FolderLock(file: path) != nil)
        #expect(await process.finish() == 0)
        withExtendedLifetime(lock) {}
    }

    @Test func aLockInAFolderThatIsMissingIsAnError() {
        #expect(throws: Errno.noSuchFileOrDirectory) { try FolderLock(file: FilePath(folder.file("none/lock"))) }
    }
}
