internal import Synchronization

/// A value that one thread leaves for another.
final class Box<Value: Sendable>: Sendable {
    private let content = Mutex<Value?>(nil)

    func set(_ value: Value?) { content.withLock { $0 = value } }
    var value: Value? { content.withLock { $0 } }
}
