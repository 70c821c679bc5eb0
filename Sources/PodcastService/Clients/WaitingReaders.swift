internal import Platform
internal import Synchronization

/// The number of opens and reads of clients that wait for the daemon. Work on the disk that nobody waits for yields to
/// them. Thread-safe.
final class WaitingReaders: Sendable {
    private struct State {
        var count = 0
        var waits: [OneShot<Void>] = []
    }

    private let state = Mutex(State())

    func change(by difference: Int) {
        let ended = state.withLock { state -> [OneShot<Void>] in
            state.count += difference
            guard state.count == 0 else { return [] }
            defer { state.waits = [] }
            return state.waits
        }
        for wait in ended { wait.deliver(()) }
    }

    /// Blocks until no reader waits, but not longer than `limit`.
    func waitUntilNone(atMost limit: Duration) {
        let wait = OneShot<Void>()
        let mustWait = state.withLock { state in
            if state.count > 0 { state.waits.append(wait) }
            return state.count > 0
        }
        if mustWait { _ = wait.wait(seconds: limit / .seconds(1)) }
    }
}
