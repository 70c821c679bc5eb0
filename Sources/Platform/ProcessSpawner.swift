internal import CLinux
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
