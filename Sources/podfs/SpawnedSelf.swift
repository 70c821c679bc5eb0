import CLinux
import Foundation
import Glibc

/// A process of podfs that goes on after the one that starts it: the daemon, a mount.
///
/// It gets a session of its own, nothing on its standard input and output, a log for its standard error, and on
/// descriptor 3 a pipe on which it says `ok`, or why it cannot begin.
enum SpawnedSelf {
    /// The descriptor that the child finds its pipe on.
    static let readyDescriptor: Int32 = 3
    /// The descriptor that it finds what it was handed over on.
    static let handedDescriptor: Int32 = 4

    /// Starts `/proc/self/exe` with `arguments` and waits for its word.
    ///
    /// - Parameters:
    ///   - log: the file that takes its standard error, appended to.
    ///   - descriptor: a descriptor of this process that the child gets as `handedDescriptor`.
    static func start(_ arguments: [String], log: String, handing descriptor: Int32? = nil) throws {
        LogFile(path: log).rotate()
        var ends: [Int32] = [-1, -1]
        guard clinux_pipe(&ends, O_CLOEXEC) == 0 else { throw CommandError(.failed, "no pipe: \(reason(errno))") }
        defer { close(ends[0]) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 2, log, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        // Also when the numbers are equal: dup2 in posix_spawn then clears close-on-exec.
        posix_spawn_file_actions_adddup2(&actions, ends[1], readyDescriptor)
        // Its number may be one that is written over above; the copy's is not.
        let copy = descriptor.map { fcntl($0, F_DUPFD_CLOEXEC, handedDescriptor + 1) }
        defer { if let copy { close(copy) } }
        if let copy { posix_spawn_file_actions_adddup2(&actions, copy, handedDescriptor) }
        clinux_spawn_close_from(&actions, (copy == nil ? readyDescriptor : handedDescriptor) + 1)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // Ignored and blocked signals would be inherited.
        var none = sigset_t()
        sigemptyset(&none)
        var usual = sigset_t()
        sigfillset(&usual)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &usual)
        let setSession: Int32 = 0x80  // POSIX_SPAWN_SETSID, spawn.h
        let flags = setSession | Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETSIGDEF)
        posix_spawnattr_setflags(&attributes, Int16(flags))
        var argv: [UnsafeMutablePointer<CChar>?] = (["podfs"] + arguments).map { strdup($0) }
        var envp: [UnsafeMutablePointer<CChar>?] = ProcessInfo.processInfo.environment.map {
            strdup("\($0.key)=\($0.value)")
        }
        argv.append(nil)
        envp.append(nil)
        defer { for pointer in argv + envp { free(pointer) } }
        var pid: pid_t = 0
        let code = posix_spawn(&pid, "/proc/self/exe", &actions, &attributes, argv, envp)
        close(ends[1])
        guard code == 0 else { throw CommandError(.failed, "cannot start \(arguments.first ?? ""): \(reason(code))") }
        let said = readAll(ends[0])
        if said == "ok" { return }
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0 && errno == EINTR {}
        throw CommandError(.failed, said.isEmpty ? "it ended at once; see \(log)" : said)
    }

    /// Says the word on the pipe, once.
    static func report(_ word: String, to descriptor: Int32) {
        Terminal.write(word, to: descriptor)
        close(descriptor)
    }

    /// The pipe must not go on to programs that this process starts.
    static func keep(_ descriptor: Int32) { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }

    private static func readAll(_ descriptor: Int32) -> String {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func reason(_ code: Int32) -> String { String(cString: strerror(code)) }
}
