internal import CLinux
internal import Glibc
internal import Platform

/// Reports changes of the kernel's table of mounts, such as that a disk was mounted or unmounted. Costs nothing while
/// there are none.
final class MountTableWatch: Sendable {
    /// The writing end of a pipe; closing it ends the thread.
    private let end: Int32

    /// The minimum interval between two reports.
    private static let pause: Int32 = 1_000

    /// - Parameter onChange: Called on the watch's own thread.
    /// - Returns: `nil` if the table cannot be watched.
    init?(_ onChange: @escaping @Sendable () -> Void) {
        let table = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)
        var ends: [Int32] = [-1, -1]
        guard table >= 0, clinux_pipe(&ends, O_CLOEXEC) == 0 else {
            if table >= 0 { close(table) }
            return nil
        }
        end = ends[1]
        startThread("podfs-mounts") { [stop = ends[0]] in
            // The kernel reports a change as an exceptional condition; see proc_pid_mounts(5).
            var files = [
                pollfd(fd: stop, events: Int16(POLLIN), revents: 0),
                pollfd(fd: table, events: Int16(POLLPRI), revents: 0),
            ]
            while poll(&files, 2, -1) >= 0 || errno == EINTR {
                if files[0].revents != 0 { break }
                guard files[1].revents != 0 else { continue }
                onChange()
                if poll(&files, 1, Self.pause) > 0 { break }
            }
            close(table)
            close(stop)
        }
    }

    deinit { close(end) }
}
