internal import CLinux
package import Dispatch
internal import Glibc

/// The parameters of a process to start with posix_spawn(3).
///
/// The child's standard input and output are /dev/null, and its standard error is `standardError`. It inherits
/// `inheritedDescriptors`; all other descriptors are closed, including those that a library has opened without
/// close-on-exec. All signals are unblocked and have their default disposition. Otherwise the child would inherit
/// blocked and ignored signals, and a shell cannot trap a signal that was ignored when it started.
package struct ProcessSpawner {
    /// The child's standard error.
    package enum StandardError {
        /// This process's own.
        case inherited
        /// A file, opened for appending; created with mode 0600.
        case file(String)
        /// A copy of a descriptor of this process.
        case descriptor(Int32)
    }

    /// The error of a program that could not be started.
    package struct Failure: Error, CustomStringConvertible {
        /// The value of errno.
        package let code: Int32

        package var description: String { errnoText(code) }
    }

    /// The path of the program. Without a slash it is looked up in this process's PATH.
    private let program: String
    /// The arguments; the first is the program's name.
    private let arguments: [String]
    private let environment: [String: String]
    package var standardError = StandardError.inherited
    /// Descriptors of this process that the child inherits. They become its descriptors 3, 4, ….
    package var inheritedDescriptors: [Int32] = []
    /// Whether the child starts a new session. Signals from this process's terminal then do not reach it.
    package var startsSession = false

    package init(_ program: String, _ arguments: [String], environment: [String: String]) {
        self.program = program
        self.arguments = arguments
        self.environment = environment
    }

    private static let firstInherited: Int32 = 3

    /// Starts the program without waiting for it.
    ///
    /// - Returns: The child's process id, a `pid_t`.
    package func start() throws(Failure) -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
        var sources = zip(inheritedDescriptors, Self.firstInherited...).map { (source: $0, number: $1) }
        switch standardError {
        case .inherited: break
        case .file(let path):
            posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        case .descriptor(let descriptor): sources.append((descriptor, STDERR_FILENO))
        }
        let end = Self.firstInherited + Int32(inheritedDescriptors.count)
        // Duplicate each source above the targets: otherwise dup2 could overwrite a source before it is duplicated.
        var copies: [Int32] = []
        defer { for copy in copies { close(copy) } }
        for (source, number) in sources {
            let copy = fcntl(source, F_DUPFD_CLOEXEC, end)
            guard copy >= 0 else { throw Failure(code: errno) }
            copies.append(copy)
            posix_spawn_file_actions_adddup2(&actions, copy, number)
        }
        clinux_spawn_close_from(&actions, end)
        var attributes = Self.attributes(startsSession: startsSession)
        defer { posix_spawnattr_destroy(&attributes) }
        var argv: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        var envp: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for pointer in argv + envp { free(pointer) } }
        var child = pid_t()
        let code = posix_spawnp(&child, program, &actions, &attributes, &argv, &envp)
        guard code == 0 else { throw Failure(code: code) }
        return child
    }

    private static func attributes(startsSession: Bool) -> posix_spawnattr_t {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        var none = sigset_t()
        sigemptyset(&none)
        var all = sigset_t()
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        let setSession: Int32 = 0x80  // POSIX_SPAWN_SETSID, spawn.h
        let flags = Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETSIGDEF) | (startsSession ? setSession : 0)
        posix_spawnattr_setflags(&attributes, Int16(flags))
        return attributes
    }
}

/// A process of any parent. Its descriptor keeps naming the same process after the id has been reused.
///
/// The corresponding C function is `pidfd_open`.
package final class ProcessHandle: Sendable {
    /// A `pid_t`.
    package let id: Int32
    private let descriptor: Int32

    /// Returns `nil` if there is no such process.
    package init?(_ id: Int32) {
        descriptor = clinux_pidfd_open(id)
        self.id = id
        if descriptor < 0 { return nil }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Does nothing if the process has exited. The corresponding C function is `pidfd_send_signal`.
    package func signal(_ number: Int32) { clinux_pidfd_send_signal(descriptor, number) }

    /// Waits until the process has exited, at most ten seconds.
    package func wait() {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        poll(&entry, 1, 10_000)
    }
}

/// Calls `action` on a queue of its own whenever the process receives the signal, until the source is cancelled.
///
/// Disables the signal's default action for good: after cancellation the signal is ignored.
package func signalSource(_ number: Int32, _ action: @escaping @Sendable () -> Void) -> any DispatchSourceSignal {
    signal(number, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: number, queue: DispatchQueue(label: "podfs.signals"))
    source.setEventHandler(handler: action)
    source.resume()
    return source
}

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
