internal import CLinux
internal import Glibc
internal import Platform

/// Execution of child processes with empty standard input and captured standard error.
package enum ChildProgram {
    /// The outcome of a program.
    package struct Result: Sendable {
        /// The exit code, 128 + signal, or 127 if the program could not be started.
        package var status: Int32
        /// The text on standard error.
        package var errors: String

        package init(status: Int32, errors: String) {
            self.status = status
            self.errors = errors
        }
    }

    /// Starts `path` with `arguments` (the first is the program's name). Blocks until the program has exited, and every
    /// process that inherited its standard error has closed it. `ProcessSpawner` describes what the child inherits.
    package static func run(_ path: String, _ arguments: [String], environment: [String: String]) -> Result {
        var ends: [Int32] = [-1, -1]
        guard clinux_pipe(&ends, O_CLOEXEC) == 0 else { return Result(status: 127, errors: "pipe failed") }
        defer { close(ends[0]) }
        var spawner = ProcessSpawner(path, arguments, environment: environment)
        spawner.standardError = .descriptor(ends[1])
        let child: pid_t
        do {
            defer { close(ends[1]) }
            child = try spawner.start()
        } catch {
            return Result(status: 127, errors: "\(path): \(error)")
        }
        let errors = readAll(ends[0]) ?? []
        let status = waitForExit(of: child)
        let exited = status & 0x7f == 0
        return Result(
            status: exited ? (status >> 8) & 0xff : 128 + (status & 0x7f),
            errors: String(decoding: errors, as: UTF8.self))
    }
}
