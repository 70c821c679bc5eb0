import Foundation
import Glibc
import TestSupport
import Testing

@testable import podfs

/// Tests that `HeapTrimmer` returns free memory to the system once no work was recorded for a pause.
@Suite(.serialized) struct HeapTrimmerTests {
    /// Returns the private resident bytes of this process; proc_pid_statm(5).
    private static func residentOwn() throws -> Int {
        let words = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
        let (resident, shared) = (try #require(Int(words[1])), try #require(Int(words[2])))
        return (resident - shared) * 4_096
    }

    /// Runs in a separate process, since other tests allocate and free memory meanwhile.
    @Test func fragmentsBetweenUsedBlocksAreReturned() async throws {
        await #expect(processExitsWith: .success) {
            // 100 MB in small blocks. One in 1,000 stays in use, so that the heap cannot shrink at its end.
            let size = 2_000
            let before = try Self.residentOwn()
            var blocks: [UnsafeMutableRawPointer] = []
            for _ in 0..<50_000 {
                let block = try #require(malloc(size))
                memset(block, 1, size)
                blocks.append(block)
            }
            try #require(try Self.residentOwn() > before + 90_000_000)
            for (index, block) in blocks.enumerated() where index % 1_000 != 0 { free(block) }
            let trimmer = HeapTrimmer(pause: .milliseconds(10))
            trimmer.recordWork()
            try await waitUntil(description: "memory is trimmed") { try Self.residentOwn() < before + 20_000_000 }
        }
    }
}
