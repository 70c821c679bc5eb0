internal import CLinux
internal import Dispatch
internal import Glibc
internal import Platform

/// A process that runs a hook, a command from the user's configuration that the daemon starts after an event.
///
/// The process inherits only standard error, which is the log; see `ProcessSpawner`.
enum HookProcess {
    /// Starts `sh -c command`. The process is reaped when it exits.
    ///
    /// - Parameter onExit: called on any thread after the exit; not called if the process cannot be started.
    /// - Returns: the errno if the process cannot be started, else `nil`.
    static func start(
        _ command: String, environment: [String: String], onExit: @escaping @Sendable () -> Void
    ) -> Int32? {
        do {
            reap(try ProcessSpawner("/bin/sh", ["sh", "-c", command], environment: environment).start(), onExit)
            return nil
        } catch {
            return error.code
        }
    }

    private static let queue = DispatchQueue(label: "podfs.hooks")

    /// Reaps the process when it exits, so that no zombie remains. A pidfd becomes readable at the exit
    /// (pidfd_open(2)). If there is no pidfd, a thread waits for the exit.
    private static func reap(_ pid: pid_t, _ onExit: @escaping @Sendable () -> Void) {
        let process = clinux_pidfd_open(pid)
        guard process >= 0 else {
            return DispatchQueue(label: "podfs.hooks").async {
                _ = waitForExit(of: pid)
                onExit()
            }
        }
        let source = DispatchSource.makeReadSource(fileDescriptor: process, queue: queue)
        source.setEventHandler {
            _ = waitForExit(of: pid)
            source.cancel()
            onExit()
        }
        source.setCancelHandler { close(process) }
        source.activate()
    }
}
