import Glibc

/// A lease on a file (fcntl(2), "Leases"). While the lease is held, an open(2) of the file with O_NONBLOCK fails with
/// EAGAIN.
///
/// When another program opens the file, the kernel ends the lease after `/proc/sys/fs/lease-break-time`, 45 seconds by
/// default. No other descriptor of the file may be open when the lease is created.
package final class FileLease: Sendable {
    private let descriptor: Int32

    package init(_ path: String) throws {
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemCallError("open") }
        // 10 is F_SETSIG and 1024 F_SETLEASE of fcntl(2), which need _GNU_SOURCE. When another program opens the file,
        // the kernel sends this process a signal. Choose SIGURG, which is ignored by default.
        guard fcntl(descriptor, 10, SIGURG) == 0 else { throw SystemCallError("fcntl") }
        var attempts = 0
        while fcntl(descriptor, 1024, F_WRLCK) != 0 {
            // The lease fails with EAGAIN while the file is open elsewhere. A process that is being started may have a
            // copy of another descriptor of the file until its exec.
            guard errno == EAGAIN, attempts < 1_000 else { throw SystemCallError("fcntl") }
            attempts += 1
            usleep(10_000)
        }
    }

    /// Ends the lease.
    package func release() { close(descriptor) }
}
