internal import CLinux
internal import Dispatch
internal import Glibc
internal import Platform

/// A command of the configuration as a process that is not waited for.
///
/// It inherits nothing of the daemon but its standard error, which is the log; see `ProcessSpawner`.
enum HookProcess {
    /// Runs `sh -c command`. Its exit status is collected when it ends.
    ///
    /// - Returns: the errno of a start that failed, else `nil`.
    static func start(_ command: String, environment: [String: String]) -> Int32? {
        do {
            reap(try ProcessSpawner("/bin/sh", ["sh", "-c", command], environment: environment).start())
            return nil
        } catch {
            return error.code
        }
    }

    private static let queue = DispatchQueue(label: "podfs.hooks")

    /// Collects the exit status, so that no zombie stays. A descriptor of a process can be read when it has ended
    /// (pidfd_open(2)); without one a thread waits.
    private static func reap(_ pid: pid_t) {
        let process = clinux_pidfd_open(pid)
        guard process >= 0 else {
            return DispatchQueue(label: "podfs.hook").async { _ = waitForExit(of: pid) }
        }
        let source = DispatchSource.makeReadSource(fileDescriptor: process, queue: queue)
        source.setEventHandler {
            _ = waitForExit(of: pid)
            source.cancel()
        }
        source.setCancelHandler { close(process) }
        source.activate()
    }
}
