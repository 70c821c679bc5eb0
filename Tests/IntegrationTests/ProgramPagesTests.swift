import CLinux
import Foundation
import Glibc
import Testing

@testable import podfs

/// Tests that pages of the program's code and constants are released after the start.
@Suite(.serialized) struct ProgramPagesTests {
    /// Returns the number of resident bytes of the files that this process has mapped (RssFile in proc(5)).
    private func residentFiles() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("RssFile:") })
        return try #require(line.split(separator: " ").dropFirst().first.flatMap { Int($0) }) * 1_024
    }

    /// Reads a byte of each page of all code and constants.
    private func touchAll() {
        clinux_each_segment { _, address, size, flags in
            guard flags & UInt32(PF_W) == 0, let start = UnsafeRawPointer(bitPattern: UInt(address)) else { return }
            var sum: UInt8 = 0
            for offset in stride(from: 0, to: size, by: 4_096) {
                sum &+= start.load(fromByteOffset: offset, as: UInt8.self)
            }
            withExtendedLifetime(sum) {}
        }
    }

    @Test func pagesUsedOnlyAtStartAreReleased() throws {
        touchAll()
        let before = try residentFiles()
        ProgramPages.releaseStart()
        let after = try residentFiles()
        #expect(before > 20 << 20)
        #expect(after < before / 2)
        // All pages are still accessible.
        touchAll()
        #expect(try residentFiles() > before / 2)
    }
}
