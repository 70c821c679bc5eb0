import Foundation
import Glibc
import TestSupport
import Testing

/// A cache on a disk that is too small. The test needs root to mount the disk.
@Suite(.timeLimit(.minutes(5)), .enabled(if: TemporaryFilesystem.isPossible)) struct FullDiskTests {
    private static let size = 6_000_000
    private static let content = MountedShow.content(1, size: size)

    @Test func aFullDiskIsReportedAndTheTaskContinuesWhenThereIsSpaceAgain() async throws {
        var disk: TemporaryFilesystem?
        let show = try await MountedShow(
            episodes: 2, size: Self.size, length: Self.size,
            // podfs itself keeps no space free, so that the disk becomes full.
            configuration: "[cache]\nkeep_free = \"0 B\"\n"
        ) { disk = try await TemporaryFilesystem(mebibytes: 3, at: $0.directory.file("cache")) }
        let result = try await show.read(show.path(1))
        #expect(result.says(ENOSPC), "\(result.error)")
        #expect(result.standardOutput.count > 2_000_000)
        #expect(Self.content.matches(result.standardOutput))
        try await show.waitForState("suspended", of: show.path(1))
        let error = try await show.attribute("error", of: show.path(1))
        #expect(error?.contains("no space left in the cache") ?? false, "\(error ?? "none")")
        let status = try await show.status()
        #expect(status.hasPrefix("0 running, 0 queued, 1 suspended, 0 failed"), "\(status)")
        #expect(status.contains(error ?? "no reason"), "\(status)")
        // Cached bytes stay readable, without a request to the server.
        let count = show.requests(1).count
        let part = try await show.read(show.path(1), 100_000..<200_000)
        #expect(part.standardOutput.count == 100_000 && Self.content.matches(part.standardOutput, at: 100_000))
        #expect(show.requests(1).count == count)
        // Another file has no space either.
        #expect(try await show.read(show.path(2)).says(ENOSPC))
        let received = try #require(Int(try await show.attribute("bytes_received", of: show.path(1)) ?? ""))
        #expect(received > 2_000_000)
        try await disk?.grow(to: 32)
        // The task resumes by itself.
        try await show.waitForState("cached", of: show.path(1))
        #expect(try await show.attribute("error", of: show.path(1)) == nil)
        #expect(show.requests(1).last?.range?.firstByte ?? 0 >= received - 1_000_000)
        try await show.expectWhole(1, Self.content)
        withExtendedLifetime(disk) {}
    }
}
