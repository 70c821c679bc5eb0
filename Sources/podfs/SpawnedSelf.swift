import CLinux
import Foundation
import Glibc
import Platform

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
        var spawner = ProcessSpawner(
            "/proc/self/exe", ["podfs"] + arguments, environment: ProcessInfo.processInfo.environment)
        spawner.standardError = .file(log)
        spawner.handed = [ends[1]] + (descriptor.map { [$0] } ?? [])
        spawner.startsSession = true
        let child: pid_t
        do {
            defer { close(ends[1]) }
            child = try spawner.start()
        } catch {
            throw CommandError(.failed, "cannot start \(arguments.first ?? ""): \(error)")
        }
        let said = String(decoding: readAll(ends[0]) ?? [], as: UTF8.self)
        if said == "ok" { return }
        _ = waitForExit(of: child)
        throw CommandError(.failed, said.isEmpty ? "it ended at once; see \(log)" : said)
    }

    /// Says the word on the pipe, once.
    static func report(_ word: String, to descriptor: Int32) {
        Terminal.write(word, to: descriptor)
        close(descriptor)
    }

    /// The pipe must not go on to programs that this process starts.
    static func keep(_ descriptor: Int32) { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }

    private static func reason(_ code: Int32) -> String { String(cString: strerror(code)) }
}
