internal import CLinux
internal import Glibc

/// A process of any parent. Its descriptor keeps naming the same process after the id has been reused.
///
/// The corresponding C function is `pidfd_open`.
package final class ProcessHandle: Sendable {
    /// A `pid_t`.
    package let id: Int32
    private let descriptor: Int32

    /// Returns `nil` if there is no such process.
    package init?(_ id: Int32) {
        descriptor = clinux_pidfd_open(id)
        self.id = id
        if descriptor < 0 { return nil }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Does nothing if the process has exited. The corresponding C function is `pidfd_send_signal`.
    package func signal(_ number: Int32) { clinux_pidfd_send_signal(descriptor, number) }

    /// Waits until the process has exited, at most ten seconds.
    package func wait() {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        poll(&entry, 1, 10_000)
    }
}
