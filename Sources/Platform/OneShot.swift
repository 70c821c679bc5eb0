internal import Dispatch
internal import Synchronization

/// A value that one thread delivers and another waits for.
package final class OneShot<Value: Sendable>: Sendable {
    private let value = Mutex<Value?>(nil)
    private let delivery = DispatchSemaphore(value: 0)

    package init() {}

    /// Delivers the value. Deliveries after the first have no effect.
    package func deliver(_ value: Value) {
        let isFirst = self.value.withLock { current in
            guard current == nil else { return false }
            current = value
            return true
        }
        if isFirst { delivery.signal() }
    }

    /// Blocks until the value is delivered. Only one thread may wait. Do not call it again after it has returned the
    /// value: that call would wait in vain.
    ///
    /// - Returns: `nil` after `seconds` without a value.
    package func wait(seconds: Double) -> Value? {
        guard delivery.wait(timeout: .now() + seconds) == .success else { return nil }
        return value.withLock { $0 }
    }
}
