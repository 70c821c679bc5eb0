internal import CFuse
internal import Dispatch
import Glibc
internal import Platform

/// The messages of libfuse, which it writes to standard error.
enum FuseLog {
    /// The lock of `capturingStandardError`.
    private static let lock = DispatchSemaphore(value: 1)

    /// Writes a line to standard error.
    static func log(_ line: String) { writeToStandardError(line + "\n") }

    /// Runs `body`, and returns its result and the text written to standard error during the call.
    ///
    /// libfuse starts fusermount3, which inherits standard error and reports errors only there ("user has no write
    /// access to mountpoint"). If fusermount3 is missing, libfuse reports that only there, too. Descriptor 2 belongs to
    /// the whole process: the text includes what other threads write in this short time. So a caller that does not
    /// report the text has to pass it on with `writeToStandardError`. If descriptor 2 is closed, nothing is captured.
    static func capturingStandardError<Result>(_ body: () -> Result) -> (Result, String) {
        lock.wait()
        defer { lock.signal() }
        let original = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)
        let capture = cfuse_memory_file("fuse-messages")
        defer {
            if original >= 0 { close(original) }
            if capture >= 0 { close(capture) }
        }
        guard original >= 0, capture >= 0, dup2(capture, STDERR_FILENO) >= 0 else { return (body(), "") }
        let result = body()
        dup2(original, STDERR_FILENO)
        lseek(capture, 0, SEEK_SET)
        return (result, String(decoding: readAll(capture) ?? [], as: UTF8.self))
    }

    static func writeToStandardError(_ text: String) { _ = writeAll(Array(text.utf8), to: STDERR_FILENO) }
}
