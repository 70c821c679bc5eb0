import Platform

/// The pauses of a command that reconnects when its daemon has exited or was killed.
struct Reconnection {
    /// The maximum number of consecutive reconnections without an event.
    private static let maximumFailures = 6

    private var failures = 0

    /// Records that the daemon works, since it has sent an event.
    mutating func succeeded() { failures = 0 }

    /// Returns the time to wait before the next connection, doubled after each daemon that has sent no event; `nil` if
    /// there were too many.
    mutating func next() -> Duration? {
        guard failures < Self.maximumFailures else { return nil }
        defer { failures += 1 }
        return .milliseconds(100 << failures)
    }

    /// Waits before the next connection. After too many daemons without an event, throws `error`.
    mutating func wait(after error: any Error) async throws {
        guard let pause = next() else { throw error }
        await Timers.sleep(for: pause)
        try Task.checkCancellation()
    }
}
