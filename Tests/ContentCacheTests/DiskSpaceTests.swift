import Foundation
import SystemPackage
import TestSupport
import Testing
import Transfers

struct DiskSpaceTests {
    @Test func freeSpaceIsWhatTheFileSystemReports() throws {
        let folder = try TemporaryDirectory()
        let space = try DiskSpace(at: FilePath(folder.path))
        let attributes = try FileManager.default.attributesOfFileSystem(forPath: folder.path)
        #expect(space.total == attributes[.systemSize] as? Int64)
        #expect((0...space.total).contains(space.free))
    }

    @Test func writtenBytesAreNoLongerFree() async throws {
        // A file system in memory, to which few other programs write.
        let folder = try TemporaryDirectory(in: "/dev/shm")
        let path = FilePath(folder.path)
        let size: Int64 = 1 << 20
        // Another program may write between the two measurements. The attempt then fails and is repeated.
        try await waitUntil(description: "free space falls by the bytes written") {
            let before = try DiskSpace(at: path)
            try folder.write("block", repeatElement(UInt8(1), count: Int(size)))
            let after = try DiskSpace(at: path)
            try FileManager.default.removeItem(atPath: folder.file("block"))
            return after.total == before.total && before.free - after.free == size
        }
    }

    @Test func aMissingFolderIsAnError() {
        #expect(throws: Errno.noSuchFileOrDirectory) { try DiskSpace(at: "/nowhere/at all") }
    }
}
