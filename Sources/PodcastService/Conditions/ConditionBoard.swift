internal import Synchronization

/// The most recent conditions and the subscribers to their changes. Thread-safe.
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

    /// Notifies the subscribers if the conditions have changed.
    func post(_ conditions: LinkConditions) {
        state.withLock { state in
            guard state.conditions != conditions else { return }
            state.conditions = conditions
            // Under the lock, so that two posts reach a subscriber in order. `yield` only stores the value and
            // schedules a task; with this buffering policy it calls nothing back.
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

    /// Finishes all streams.
    func close() {
        let listeners = state.withLock { state in
            state.isClosed = true
            defer { state.listeners = [:] }
            return state.listeners
        }
        // Outside the lock: `finish` calls `onTermination`, which acquires it.
        for listener in listeners.values { listener.finish() }
    }

    private func remove(_ number: UInt64) {
        // Do not release the continuation under the lock: its deinitialisation may call back.
        _ = state.withLock { $0.listeners.removeValue(forKey: number) }
    }
}
