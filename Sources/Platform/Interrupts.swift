internal import Glibc

/// Repeats a system call while it fails with EINTR.
///
/// - Returns: The result of the last call. If it is -1, errno is that of this call.
package func retryingInterrupts<Value: SignedInteger>(_ call: () -> Value) -> Value {
    while true {
        let result = call()
        if result == -1, errno == EINTR { continue }
        return result
    }
}

/// Waits until a child process exits, and returns its wait status; 0 if `child` is not a child of this process. The
/// corresponding C function is `waitpid`.
package func waitForExit(of child: Int32) -> Int32 {
    var status: Int32 = 0
    _ = retryingInterrupts { waitpid(child, &status, 0) }
    return status
}

/// Starts a thread that waits until a child process exits, so that the child does not stay as a zombie.
package func reapInBackground(_ child: Int32) { startThread("podfs-reap") { _ = waitForExit(of: child) } }
