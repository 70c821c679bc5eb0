internal import Foundation

/// Starts a thread that ends when `body` returns.
package func startThread(_ name: String, _ body: @escaping @Sendable () -> Void) {
    Thread {
        // A name set before the thread runs does not reach the kernel.
        Thread.current.name = name
        body()
    }.start()
}
