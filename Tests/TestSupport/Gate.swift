import Synchronization

/// Holds a response at a byte position until the test lets it go on.
///
/// One gate may hold several responses: its position is the same for all of them, and opening it frees all. Safe to use
/// from any thread.
package final class Gate: Sendable {
    private struct State {
        /// Bytes that may pass, or `nil` when all may.
        var limit: Int?
        /// Responses that have come to the limit and wait there.
        var waiting: [Waker] = []
        /// The furthest limit at which a response has waited.
        var reached: Int?
    }

    private let state: Mutex<State>

    /// A gate that lets `position` bytes through and no more.
    package init(heldAt position: Int) {
        state = Mutex(State(limit: position))
    }

    /// Lets everything through, now and later.
    package func open() { change(to: nil) }

    /// Lets bytes through up to `position`, counted from the start of the response.
    package func advance(to position: Int) { change(to: position) }

    /// Returns once a response has sent all that the gate lets through and waits at it.
    package func waitUntilReached(deadline: Duration = .seconds(60)) async throws {
        try await waitUntil(deadline: deadline, description: "a response comes to the gate") {
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

    /// How many bytes may follow after `position`. When none may, `waker` is woken at the next change.
    func allowance(after position: Int, waking waker: Waker) -> Int {
        state.withLock { state in
            guard let limit = state.limit else { return .max }
            if position < limit { return limit - position }
            state.reached = max(state.reached ?? 0, limit)
            if !state.waiting.contains(where: { $0 === waker }) { state.waiting.append(waker) }
            return 0
        }
    }

    /// Forgets a response that waited here and has ended.
    func leave(_ waker: Waker) {
        state.withLock { $0.waiting.removeAll { $0 === waker } }
    }
}
