import Foundation
import SystemPackage
import TestSupport
import Testing
import Transfers

struct DiskSpaceTests {
    @Test func spaceIsWhatTheFileSystemReports() async throws {
        // A file system in memory, to which few other programs write. If one writes between the two measurements, they
        // are repeated.
        let path = "/dev/shm"
        try await waitUntil(description: "both measurements are equal") {
            let space = try DiskSpace(at: FilePath(path))
            let facts = try FileManager.default.attributesOfFileSystem(forPath: path)
            return space.total == facts[.systemSize] as? Int64 && space.free == facts[.systemFreeSize] as? Int64
        }
    }

    @Test func aMissingFolderIsAnError() {
        #expect(throws: Errno.noSuchFileOrDirectory) { try DiskSpace(at: "/nowhere/at all") }
    }
}
