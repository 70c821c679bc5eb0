import CLinux
import Glibc

/// An event that a thread can wait for together with its socket. The corresponding C function is `eventfd`.
///
/// A wake-up persists until it is cleared, so that none is lost between a check and the wait.
final class Waker: Sendable {
    let descriptor: Int32

    init() throws {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
        guard descriptor >= 0 else { throw SystemCallError("eventfd") }
    }

    deinit { close(descriptor) }

    func wake() {
        var one: UInt64 = 1
        // EAGAIN means that the counter is full, and the descriptor is readable anyway.
        _ = write(descriptor, &one, MemoryLayout<UInt64>.size)
    }

    func clear() {
        var count: UInt64 = 0
        _ = read(descriptor, &count, MemoryLayout<UInt64>.size)
    }
}
