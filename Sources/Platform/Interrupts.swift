internal import Glibc

/// Repeats a system call for as long as a signal interrupts it (EINTR).
///
/// - Returns: the result of the last call. When it is -1, errno is that of the call.
package func retryingInterrupts<Value: SignedInteger>(_ call: () -> Value) -> Value {
    while true {
        let result = call()
        if result == -1, errno == EINTR { continue }
        return result
    }
}

/// Waits until a child process ends, and collects its status. The corresponding C function is `waitpid`.
package func waitForExit(of child: Int32) -> Int32 {
    var status: Int32 = 0
    _ = retryingInterrupts { waitpid(child, &status, 0) }
    return status
}
