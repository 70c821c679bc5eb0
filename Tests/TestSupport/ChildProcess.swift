import CLinux
import Foundation
import Glibc
import Synchronization

/// A child process with captured output. The corresponding C function is `posix_spawnp`.
///
/// It inherits only its standard streams, so that it keeps none of the test's sockets or mounts open. A thread collects
/// the output and the exit status. A child that still runs when the last reference is released is killed.
package final class ChildProcess: Sendable {
    package enum Status: Sendable, Hashable {
        case exited(Int32)
        case signalled(Int32)
    }

    package struct Result: Sendable {
        package let status: Status
        package let standardOutput: [UInt8]
        package let standardError: [UInt8]

        /// The exit status, or `nil` if a signal killed the process.
        package var exitCode: Int32? {
            if case .exited(let code) = status { code } else { nil }
        }
        package var output: String { String(decoding: standardOutput, as: UTF8.self) }
        package var error: String { String(decoding: standardError, as: UTF8.self) }
    }

    package let processIdentifier: Int32
    private let monitor: ProcessMonitor

    /// - Parameters:
    ///   - executable: A path, or a name that is looked up in PATH.
    ///   - environment: The whole environment; `nil` for the test's own.
    ///   - input: The child's standard input; at most 64 KiB, the capacity of a pipe.
    package init(
        _ executable: String, _ arguments: [String] = [], environment: [String: String]? = nil,
        input: [UInt8] = []
    ) throws {
        let standardInput = try Pipe()
        let standardOutput = try Pipe()
        let standardError = try Pipe()
        try standardInput.fill(input)
        processIdentifier = try Self.spawn(
            executable, arguments, environment: environment ?? ProcessInfo.processInfo.environment
        ) { actions in
            let streams = [standardInput.readEnd, standardOutput.writeEnd, standardError.writeEnd]
            for (number, descriptor) in streams.enumerated() {
                posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(number))
            }
        }
        standardOutput.closeWriteEnd()
        standardError.closeWriteEnd()
        monitor = try ProcessMonitor(processIdentifier, standardOutput, standardError)
        let monitor = monitor
        Thread.detachNewThread { monitor.run() }
    }

    deinit {
        // The thread retains the monitor, and reaps the child.
        monitor.signal(SIGKILL)
    }

    /// The child's standard output so far.
    package var output: String { String(decoding: monitor.output.standardOutput, as: UTF8.self) }

    /// The child's standard error so far.
    package var error: String { String(decoding: monitor.output.standardError, as: UTF8.self) }

    package var isRunning: Bool { monitor.result == nil }

    /// Sends a signal, unless the child has been reaped: its number may then be reused.
    package func kill(_ signal: Int32 = SIGKILL) { monitor.signal(signal) }

    /// Waits until the child has exited and its output has been read. At the deadline, kills the child and throws.
    @discardableResult
    package func wait(deadline: Duration = .seconds(120)) async throws -> Result {
        do {
            try await waitUntil(deadline: deadline, description: "process \(processIdentifier) ends") {
                monitor.result != nil
            }
        } catch {
            monitor.signal(SIGKILL)
            throw error
        }
        guard let result = monitor.result else { throw DeadlineError("process \(processIdentifier) ends") }
        return result
    }

    /// Waits like `wait` in code that cannot suspend. Blocks the thread.
    @discardableResult
    package func waitBlocking(deadline: Duration = .seconds(120)) throws -> Result {
        guard let result = monitor.waitBlocking(deadline) else {
            monitor.signal(SIGKILL)
            throw DeadlineError("process \(processIdentifier) ends")
        }
        return result
    }

    /// Waits until the child has written `text` to either stream. Throws if it exits first, and at the deadline.
    package func waitForOutput(_ text: String, deadline: Duration = .seconds(120)) async throws {
        try await waitUntil(deadline: deadline, description: "the child writes “\(text)”") {
            let hasEnded = !isRunning
            if output.contains(text) || error.contains(text) { return true }
            if hasEnded { throw DeadlineError("the child writes “\(text)”; it has ended: \(output)\(error)") }
            return false
        }
    }

    /// Runs a program until it exits.
    @discardableResult
    package static func run(
        _ executable: String, _ arguments: [String] = [], environment: [String: String]? = nil,
        input: [UInt8] = [], deadline: Duration = .seconds(120)
    ) async throws -> Result {
        try await ChildProcess(executable, arguments, environment: environment, input: input).wait(deadline: deadline)
    }

    // MARK: Spawning

    /// Starts a program, which inherits only the descriptors 0, 1 and 2.
    ///
    /// - Parameter arrange: Adds the actions that open these descriptors in the child.
    static func spawn(
        _ executable: String, _ arguments: [String], environment: [String: String], startsSession: Bool = false,
        _ arrange: (inout posix_spawn_file_actions_t) -> Void
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        arrange(&actions)
        // glibc's posix_spawn accepts closing a descriptor that is no longer open.
        for name in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
            if let descriptor = Int32(name), descriptor > 2 { posix_spawn_file_actions_addclose(&actions, descriptor) }
        }

        // The child must not inherit the test runner's signal mask and ignored signals.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        var all = sigset_t()
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        let setSession: Int32 = startsSession ? 0x80 : 0  // POSIX_SPAWN_SETSID, spawn.h
        posix_spawnattr_setflags(
            &attributes, Int16(setSession | Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETSIGDEF)))

        let argumentStrings = ([executable] + arguments).map { strdup($0) } + [nil]
        let environmentStrings = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for string in argumentStrings + environmentStrings { free(string) } }
        var child: pid_t = 0
        let code = posix_spawnp(&child, executable, &actions, &attributes, argumentStrings, environmentStrings)
        guard code == 0 else { throw SystemCallError("posix_spawnp \(executable)", code: code) }
        return child
    }
}

/// Both ends of a pipe, close-on-exec. The corresponding C function is `pipe2`.
final class Pipe: Sendable {
    let readEnd: Int32
    let writeEnd: Int32
    private let isWriteEndOpen = Mutex(true)

    init() throws {
        var ends: [Int32] = [-1, -1]
        guard clinux_pipe(&ends, O_CLOEXEC) == 0 else { throw SystemCallError("pipe2") }
        (readEnd, writeEnd) = (ends[0], ends[1])
    }

    deinit {
        closeWriteEnd()
        close(readEnd)
    }

    func closeWriteEnd() {
        isWriteEndOpen.withLock {
            if $0 { close(writeEnd) }
            $0 = false
        }
    }

    /// Writes all of `bytes` and closes the write end. Throws if the pipe's capacity is too small.
    func fill(_ bytes: [UInt8]) throws {
        if !bytes.isEmpty {
            _ = fcntl(writeEnd, F_SETFL, O_NONBLOCK)
            let count = bytes.withUnsafeBytes { write(writeEnd, $0.baseAddress, $0.count) }
            guard count == bytes.count else { throw SystemCallError("write to a pipe", code: EFBIG) }
        }
        closeWriteEnd()
    }
}
