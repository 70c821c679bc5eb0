internal import CLinux
internal import Foundation

/// Starts a thread that ends when `body` returns. The kernel stores the first 15 bytes of `name`.
package func startThread(_ name: String, _ body: @escaping @Sendable () -> Void) {
    Thread {
        // A name set before the thread runs does not reach the kernel.
        _ = clinux_set_thread_name(name)
        body()
    }.start()
}
