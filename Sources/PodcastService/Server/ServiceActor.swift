internal import Platform

/// The global actor that the daemon's components share, so that they can call each other synchronously. Long
/// operations, such as network input, parsing and large merges, do not run on it.
@globalActor
package actor ServiceActor {
    package static let shared = ServiceActor()
}

/// Starts a task on `ServiceActor`, on the threads of `WorkerPool`.
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
