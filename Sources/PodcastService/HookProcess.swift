internal import CLinux
internal import Dispatch
internal import Glibc

/// A command of the configuration as a process that is not waited for.
///
/// It inherits nothing of the daemon but its standard error, which is the log: every other descriptor is closed, whatever
/// library has opened it and whether or not it is close-on-exec, and signals have their usual meaning. Standard input and
/// output are /dev/null. The corresponding C functions are `posix_spawn` and `posix_spawn_file_actions_addclosefrom_np`.
enum HookProcess {
    /// Runs `sh -c command`. Its exit status is collected when it ends.
    ///
    /// - Returns: the errno of a start that failed, else `nil`.
    static func start(_ command: String, environment: [String: String]) -> Int32? {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        clinux_spawn_close_from(&actions, 3)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // Ignored and blocked signals would be inherited: a shell can not even trap what was ignored at its start.
        var none = sigset_t()
        sigemptyset(&none)
        var usual = sigset_t()
        sigfillset(&usual)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &usual)
        posix_spawnattr_setflags(&attributes, Int16(Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETSIGDEF)))
        let words: [String] = ["sh", "-c", command]
        var argv: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) }
        var envp: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0.key)=\($0.value)") }
        argv.append(nil)
        envp.append(nil)
        defer { for pointer in argv + envp { free(pointer) } }
        var pid: pid_t = 0
        let code = posix_spawn(&pid, "/bin/sh", &actions, &attributes, argv, envp)
        guard code == 0 else { return code }
        reap(pid)
        return nil
    }

    private static let queue = DispatchQueue(label: "podfs.hooks")

    /// Collects the exit status, so that no zombie stays. A descriptor of a process can be read when it has ended
    /// (pidfd_open(2)); without one a thread waits.
    private static func reap(_ pid: pid_t) {
        let process = clinux_pidfd_open(pid)
        guard process >= 0 else {
            return DispatchQueue(label: "podfs.hook").async { wait(pid) }
        }
        let source = DispatchSource.makeReadSource(fileDescriptor: process, queue: queue)
        source.setEventHandler {
            wait(pid)
            source.cancel()
        }
        source.setCancelHandler { close(process) }
        source.activate()
    }

    private static func wait(_ pid: pid_t) {
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0 && errno == EINTR {}
    }
}
