internal import Platform

/// The actor that isolates the state of the daemon's parts, so that they can call each other synchronously. Long
/// operations, such as network input, parsing and large merges, run elsewhere.
@globalActor
package actor ServiceActor {
    package static let shared = ServiceActor()
}

/// Starts a task on this actor, using the worker pool's threads.
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
