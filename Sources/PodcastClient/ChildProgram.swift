internal import CLinux
internal import Foundation
internal import Glibc

/// Runs a program to its end, with nothing on its standard input and its standard error collected.
package enum ChildProgram {
    package struct Result: Sendable {
        /// The exit code, 128 + signal, or 127 when it could not be started.
        package var status: Int32
        package var errors: String

        package init(status: Int32, errors: String) {
            self.status = status
            self.errors = errors
        }
    }

    /// Starts `path` with `arguments` (the first is its name) and waits for it. Its descriptors but the standard ones
    /// are closed, also those that a library has opened without close-on-exec.
    package static func run(_ path: String, _ arguments: [String], environment: [String: String]) -> Result {
        var ends: [Int32] = [-1, -1]
        guard clinux_pipe(&ends, O_CLOEXEC) == 0 else { return Result(status: 127, errors: "pipe failed") }
        defer { close(ends[0]) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, ends[1], 2)
        clinux_spawn_close_from(&actions, 3)
        var argv: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) }
        var envp: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0.key)=\($0.value)") }
        argv.append(nil)
        envp.append(nil)
        defer { for pointer in argv + envp { free(pointer) } }
        var pid: pid_t = 0
        let code = posix_spawn(&pid, path, &actions, nil, argv, envp)
        close(ends[1])
        guard code == 0 else { return Result(status: 127, errors: "\(path): \(String(cString: strerror(code)))") }
        var errors: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(ends[0], &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            errors += buffer[..<count]
        }
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0 && errno == EINTR {}
        let exited = status & 0x7f == 0
        return Result(
            status: exited ? (status >> 8) & 0xff : 128 + (status & 0x7f),
            errors: String(decoding: errors, as: UTF8.self))
    }
}
