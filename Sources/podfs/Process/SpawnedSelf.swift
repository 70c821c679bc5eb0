import CLinux
import Foundation
import Glibc
import Platform

/// A background process of podfs that outlives the process that starts it: the daemon, a mount.
///
/// It has a session of its own, /dev/null as standard input and output, a log file as standard error, and a pipe as
/// descriptor 3, to which it writes `ok` or the reason why it cannot start.
enum SpawnedSelf {
    /// The number of the pipe's descriptor in the child.
    static let readyDescriptor: Int32 = 3

    /// Starts `/proc/self/exe` with `arguments` and waits for its message on the pipe. Throws the message unless it is
    /// `ok`.
    ///
    /// - Parameter log: The path of the new process's log file, which is rotated if it is full.
    static func start(_ arguments: [String], log: String) throws {
        LogFile(path: log).rotate()
        var ends: [Int32] = [-1, -1]
        guard clinux_pipe(&ends, O_CLOEXEC) == 0 else { throw CommandError(.failed, "no pipe: \(errnoText())") }
        defer { close(ends[0]) }
        var spawner = ProcessSpawner(
            "/proc/self/exe", ["podfs"] + arguments, environment: ProcessInfo.processInfo.environment)
        spawner.standardError = .file(log)
        spawner.inheritedDescriptors = [ends[1]]
        spawner.startsSession = true
        let child: pid_t
        do {
            defer { close(ends[1]) }
            child = try spawner.start()
        } catch {
            throw CommandError(.failed, "cannot start \(arguments.first ?? ""): \(error)")
        }
        let message = String(decoding: readAll(ends[0]) ?? [], as: UTF8.self)
        if message == "ok" { return }
        _ = waitForExit(of: child)
        throw CommandError(.failed, message.isEmpty ? "the process exited at once; see \(log)" : message)
    }

    /// Writes the child's message, `ok` or an error, to the pipe and closes it.
    static func report(_ word: String, to descriptor: Int32) {
        Terminal.write(word, to: descriptor)
        close(descriptor)
    }

    /// Prevents programs started by this process from inheriting the descriptor.
    static func setCloseOnExec(_ descriptor: Int32) { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
}
