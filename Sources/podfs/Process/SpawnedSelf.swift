import CLinux
import Foundation
import Platform

/// A background process of podfs that outlives the process that starts it: the daemon, a mount.
///
/// It has a session of its own, /dev/null as standard input and output, a log file as standard error, and a pipe as
/// descriptor 3, to which it writes `ok` or the reason why it cannot start.
enum SpawnedSelf {
    /// Starts a command of `/proc/self/exe` in the foreground, with `--ready-descriptor`, and waits for its message on
    /// the pipe. Throws the message unless it is `ok`.
    ///
    /// - Parameter log: The path of the new process's log file, which is rotated if it is full.
    static func start(_ command: String, _ arguments: [String] = [], log: String) throws {
        LogFile(path: log).rotate()
        var ends: [Int32] = [-1, -1]
        guard clinux_pipe(&ends, O_CLOEXEC) == 0 else { throw CommandError(.failed, "no pipe: \(errnoText())") }
        defer { close(ends[0]) }
        var spawner = ProcessSpawner(
            "/proc/self/exe", ["podfs", command, "--foreground", "--ready-descriptor", "3"] + arguments,
            environment: ProcessInfo.processInfo.environment)
        spawner.standardError = .file(log)
        spawner.inheritedDescriptors = [ends[1]]
        spawner.startsSession = true
        let child: pid_t
        do {
            defer { close(ends[1]) }
            child = try spawner.start()
        } catch {
            throw CommandError(.failed, "cannot start \(command): \(error)")
        }
        let message = String(decoding: readAll(ends[0]) ?? [], as: UTF8.self)
        if message == "ok" { return }
        _ = waitForExit(of: child)
        throw CommandError(.failed, message.isEmpty ? "the process exited at once; see \(log)" : message)
    }

    /// Performs the work of such a process, and reports on the pipe when it is ready, or why it has failed.
    ///
    /// - Parameter descriptor: The pipe; `nil` for a process that was started in another way.
    static func report(
        to descriptor: Int32?, _ work: (_ ready: @escaping @Sendable () -> Void) async throws -> Void
    ) async throws {
        guard let descriptor else { return try await work {} }
        @Sendable func send(_ word: String) {
            Terminal.write(word, to: descriptor)
            close(descriptor)
        }
        // Programs started by this process must not inherit the pipe.
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        do {
            try await work { send("ok") }
        } catch {
            send("\(CommandError(error))")
            throw error
        }
    }
}
