import CLinux
import Foundation
import Glibc
import Platform
import TestSupport
import Testing

struct DescriptorIOTests {
    @Test func onlyAnInterruptedCallIsRepeated() {
        var results: [Int32] = [-1, -1, 7]
        let result = retryingInterrupts {
            errno = EINTR
            return results.removeFirst()
        }
        #expect(result == 7 && results.isEmpty)
        results = [-1, 1]
        let failed = retryingInterrupts {
            errno = EAGAIN
            return results.removeFirst()
        }
        #expect(failed == -1 && results == [1])
    }

    @Test func writtenBytesAreReadBack() throws {
        let folder = try TemporaryDirectory()
        let descriptor = open(folder.path + "/file", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        let bytes = (0..<40_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        #expect(writeAll(bytes, to: descriptor))
        lseek(descriptor, 0, SEEK_SET)
        #expect(readAll(descriptor) == bytes)
        lseek(descriptor, 0, SEEK_SET)
        let start = try #require(readAll(descriptor, limit: 100))
        #expect(start.count > 100 && start.count < bytes.count && bytes.starts(with: start))
    }

    @Test func aFailureIsReported() {
        // Each line reads errno directly after the call: the expansion of `#expect` may change it between two operands.
        let (isWritten, writeError) = (writeAll([1], to: -1), errno)
        #expect(!isWritten && writeError == EBADF)
        let (content, readError) = (readAll(-1), errno)
        #expect(content == nil && readError == EBADF)
    }

    @Test func aFullSocketAcceptsAPart() throws {
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        try #require(socketpair(AF_UNIX, kind, 0, &ends) == 0)
        defer { close(ends[0]) }
        let bytes = [UInt8](repeating: 1, count: 4 << 20)
        let (sent, error) = (bytes.withUnsafeBytes { sendAll($0, to: ends[0]) }, errno)
        #expect(error == EAGAIN && sent > 0 && sent < bytes.count)
        close(ends[1])
        // A send to a closed peer fails with EPIPE, and raises no SIGPIPE.
        let (sentToNobody, closedError) = (bytes.withUnsafeBytes { sendAll($0, to: ends[0]) }, errno)
        #expect(sentToNobody == 0 && closedError == EPIPE)
    }

    @Test func aOneShotDeliversItsFirstValue() {
        let answer = OneShot<Int>()
        #expect(answer.wait(seconds: 0) == nil)
        startThread("one-shot") {
            answer.deliver(1)
            answer.deliver(2)
        }
        #expect(answer.wait(seconds: 60) == 1)
    }
}
