import Platform
import PodcastProtocol

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

extension Installation {
    /// Connects to the daemon and subscribes to its events, calls `begin`, and then `next` with each event, until one
    /// of them returns a value. If the daemon exits or is killed, does the same with the next one.
    func follow<Value>(
        begin: (DaemonConnection) async throws -> Value?, next: (Event) throws -> Value?
    ) async throws -> Value {
        var reconnection = Reconnection()
        while true {
            let (events, inbox) = AsyncStream<Event>.makeStream()
            let daemon = try daemon(onEvent: { inbox.yield($0) }, onClose: { inbox.finish() })
            defer { daemon.close() }
            do {
                // Subscribe to events first, so that none is missed.
                _ = try await daemon.perform(.watch)
                if let value = try await begin(daemon) { return value }
                for await event in events {
                    reconnection.succeeded()
                    if let value = try next(event) { return value }
                }
                throw ClientError.disconnected
            } catch let error as ClientError where error.code == .disconnected {
                try await reconnection.wait(after: error)
            }
        }
    }
}
