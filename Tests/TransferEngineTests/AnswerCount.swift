import Synchronization

/// A counter that can be incremented from any thread.
final class AnswerCount: Sendable {
    private let count = Atomic<Int>(0)

    var value: Int { count.load(ordering: .sequentiallyConsistent) }

    func add() { count.wrappingAdd(1, ordering: .sequentiallyConsistent) }
}
