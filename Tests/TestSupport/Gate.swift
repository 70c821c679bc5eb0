import Synchronization

/// A pause of responses at a byte position, controlled by the test.
///
/// One gate may pause several responses at the same position. Opening the gate continues all of them. Thread-safe.
package final class Gate: Sendable {
    private struct State {
        /// The number of bytes of each response that may pass, or `nil` for all.
        var limit: Int?
        /// Responses that are paused at the limit.
        var waiting: [Waker] = []
        /// The highest limit at which a response was paused.
        var reached: Int?
    }

    private let state: Mutex<State>

    /// Creates a gate that lets the first `position` bytes of each response pass.
    package init(heldAt position: Int) {
        state = Mutex(State(limit: position))
    }

    /// Lets all bytes pass from now on.
    package func open() { change(to: nil) }

    /// Lets bytes pass up to `position`, counted from the start of the response.
    package func advance(to position: Int) { change(to: position) }

    /// Waits until a response is paused at the gate, or until the gate is open and a response was paused before.
    package func waitUntilReached(deadline: Duration = .seconds(60)) async throws {
        try await waitUntil(deadline: deadline, description: "a response reaches the gate") {
            state.withLock { !$0.waiting.isEmpty || ($0.limit == nil && $0.reached != nil) }
        }
    }

    private func change(to limit: Int?) {
        let waiting = state.withLock { state in
            state.limit = limit
            defer { state.waiting = [] }
            return state.waiting
        }
        for waker in waiting { waker.wake() }
    }

    /// Returns the number of bytes that may pass after `position`. If it is 0, `waker` is woken when the gate is
    /// next opened or advanced.
    func allowance(after position: Int, waking waker: Waker) -> Int {
        state.withLock { state in
            guard let limit = state.limit else { return .max }
            if position < limit { return limit - position }
            state.reached = max(state.reached ?? 0, limit)
            if !state.waiting.contains(where: { $0 === waker }) { state.waiting.append(waker) }
            return 0
        }
    }

    /// Unregisters a response that no longer waits at the gate.
    func leave(_ waker: Waker) {
        state.withLock { $0.waiting.removeAll { $0 === waker } }
    }
}
