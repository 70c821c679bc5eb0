internal import Platform

/// Where the state of the daemon's parts lives: what runs here runs one after the other, so that parts call each other
/// without waiting. What takes long, reading the network, parsing, large merges, runs elsewhere.
@globalActor
package actor ServiceActor {
    package static let shared = ServiceActor()
}

/// Starts a task there, on the threads of the pool.
@discardableResult
func startTask<Value: Sendable>(_ body: @escaping @ServiceActor () async -> Value) -> Task<Value, Never> {
    Task(executorPreference: WorkerPool.shared) { await body() }
}

@discardableResult
func startTask<Value: Sendable>(
    _ body: @escaping @ServiceActor () async throws -> Value
) -> Task<Value, any Error> {
    Task(executorPreference: WorkerPool.shared) { try await body() }
}
