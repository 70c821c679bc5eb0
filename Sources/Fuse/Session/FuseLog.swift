internal import CFuse
import Glibc
import Synchronization

/// The log of libfuse.
///
/// libfuse's log function is global to the process and has no session or context argument. It is installed when the
/// first `Session` is created. The corresponding C function is `fuse_set_log_func`.
package enum FuseLog {
    private struct State {
        var handler: @Sendable (String) -> Void
        /// The messages of each thread that is inside `capturing`.
        var captured: [pthread_t: String] = [:]
    }

    private static let state = Mutex(State(handler: { line in writeToStandardError(line + "\n") }))

    private static let installed: Void = {
        fuse_set_log_func { _, format, arguments in
            guard let format, let arguments else { return }
            // libfuse's longest messages contain one path: 4,096 bytes (PATH_MAX) and some words. Longer ones are cut.
            let line = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 5_000) { buffer -> String in
                guard let base = buffer.baseAddress, vsnprintf(base, buffer.count, format, arguments) >= 0 else {
                    return ""
                }
                return String(cString: base)
            }
            FuseLog.log(line)
        }
    }()

    /// Sends all further messages, each one line without a line feed, to `handler`; until then they go to standard
    /// error.
    ///
    /// The handler is called on any thread, also during a request.
    package static func use(_ handler: @escaping @Sendable (String) -> Void) {
        state.withLock { $0.handler = handler }
    }

    static func install() {
        _ = installed
    }

    static func log(_ text: String) {
        var line = text[...]
        while line.last == "\n" { line.removeLast() }
        guard !line.isEmpty else { return }
        let handler = state.withLock { state -> (@Sendable (String) -> Void)? in
            guard state.captured[pthread_self()] != nil else { return state.handler }
            // Appended unmodified, because libfuse composes some lines from several messages.
            state.captured[pthread_self()]?.append(text)
            return nil
        }
        handler?(String(line))
    }

    /// Runs `body`, and returns its result and the lines that libfuse logs on this thread during the call. These lines
    /// do not reach the handler.
    static func capturing<Result>(_ body: () -> Result) -> (Result, [String]) {
        state.withLock { $0.captured[pthread_self()] = "" }
        let result = body()
        let text = state.withLock { $0.captured.removeValue(forKey: pthread_self()) } ?? ""
        return (result, text.split(separator: "\n").map(String.init))
    }

    /// Runs `body`, and returns its result and the text written to standard error during the call.
    ///
    /// libfuse starts fusermount3, which inherits standard error and reports errors only there ("user has no write
    /// access to mountpoint"). If fusermount3 is missing, libfuse reports that only there, too. Descriptor 2 belongs to
    /// the whole process: the text includes what other threads write in this short time. So a caller that does not
    /// report the text has to pass it on with `writeToStandardError`. If descriptor 2 is closed, nothing is captured.
    static func capturingStandardError<Result>(_ body: () -> Result) -> (Result, String) {
        let original = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)
        let capture = cfuse_memory_file("fuse-messages")
        defer {
            if original >= 0 { close(original) }
            if capture >= 0 { close(capture) }
        }
        guard original >= 0, capture >= 0, dup2(capture, STDERR_FILENO) >= 0 else { return (body(), "") }
        let result = body()
        dup2(original, STDERR_FILENO)
        var text: [UInt8] = []
        withUnsafeTemporaryAllocation(byteCount: 4_096, alignment: 1) { buffer in
            var offset: off_t = 0
            while true {
                let count = pread(capture, buffer.baseAddress, buffer.count, offset)
                guard count > 0 else { return }
                text.append(contentsOf: buffer[..<count])
                offset += off_t(count)
            }
        }
        return (result, String(decoding: text, as: UTF8.self))
    }

    static func writeToStandardError(_ text: String) {
        var text = text
        text.withUTF8 { bytes in
            _ = write(STDERR_FILENO, bytes.baseAddress, bytes.count)
        }
    }
}
