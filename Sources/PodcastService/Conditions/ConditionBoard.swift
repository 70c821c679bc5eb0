internal import Synchronization

/// The conditions as last posted, and those who want to hear of changes. Safe from any thread.
final class ConditionBoard: Sendable {
    private struct State {
        var conditions: LinkConditions?
        var isClosed = false
        var lastListener: UInt64 = 0
        var listeners: [UInt64: AsyncStream<LinkConditions>.Continuation] = [:]
    }

    private let state = Mutex(State())

    deinit { close() }

    var current: LinkConditions? { state.withLock { $0.conditions } }

    /// Tells the listeners, unless nothing has changed.
    func post(_ conditions: LinkConditions) {
        state.withLock { state in
            guard state.conditions != conditions else { return }
            state.conditions = conditions
            // Under the lock, so that two posts reach a listener in their order. `yield` only stores the value and
            // makes a task ready; with this buffering it calls nobody back.
            for listener in state.listeners.values { listener.yield(conditions) }
        }
    }

    func changes() -> AsyncStream<LinkConditions> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: LinkConditions.self, bufferingPolicy: .bufferingNewest(1))
        let isClosed = state.withLock { state in
            if let conditions = state.conditions { continuation.yield(conditions) }
            guard !state.isClosed else { return true }
            state.lastListener += 1
            let number = state.lastListener
            continuation.onTermination = { [weak self] _ in self?.remove(number) }
            state.listeners[number] = continuation
            return false
        }
        if isClosed { continuation.finish() }
        return stream
    }

    /// Ends all streams.
    func close() {
        let listeners = state.withLock { state in
            state.isClosed = true
            defer { state.listeners = [:] }
            return state.listeners
        }
        // Outside the lock: `finish` calls `onTermination`, which takes it.
        for listener in listeners.values { listener.finish() }
    }

    private func remove(_ number: UInt64) {
        // The continuation must not go under the lock: its end may call back.
        _ = state.withLock { $0.listeners.removeValue(forKey: number) }
    }
}
