internal import Synchronization

/// A value that one thread leaves for another.
package final class Box<Value: Sendable>: Sendable {
    private let content = Mutex<Value?>(nil)

    package init() {}

    package func set(_ value: Value?) { content.withLock { $0 = value } }
    package var value: Value? { content.withLock { $0 } }
}
