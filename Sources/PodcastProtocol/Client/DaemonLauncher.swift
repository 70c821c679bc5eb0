internal import Foundation
internal import Platform

/// A launcher of an installation's daemon: connects to the daemon, and starts one if none runs.
package struct DaemonLauncher: Sendable {
    package let paths: InstallationPaths
    /// The version of the library's schema in this program.
    package let schema: Int
    /// The program to start: `podfs` itself.
    package let executable: String
    /// The number of seconds to wait for the daemon's answer to the hello; a working daemon answers at once.
    package var patience = 10.0
    /// Called with a message from the daemon for the user.
    package let onNotice: @Sendable (String) -> Void

    package init(
        paths: InstallationPaths, schema: Int, executable: String = "/proc/self/exe",
        onNotice: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.paths = paths
        self.schema = schema
        self.executable = executable
        self.onNotice = onNotice
    }

    /// Connects to a running daemon, and blocks until it has responded. Makes an older daemon exit, and blocks until it
    /// has exited. Throws `ClientError`: `incompatible` for a newer daemon, or one with another library or cache;
    /// `unreachable` if it does not respond, and as in `DaemonConnection.connect`.
    ///
    /// - Parameters:
    ///   - stopsDaemon: Whether to make any daemon exit.
    ///   - onClose: Called once, when the returned connection ends; possibly before this function returns.
    /// - Returns: `nil` if no daemon runs, the running one is exiting, or it was older.
    package func connect(
        role: Hello, stopsDaemon: Bool = false, onEvent: @escaping @Sendable (Event) -> Void = { _ in },
        onClose: @escaping @Sendable () -> Void = {}
    ) throws -> DaemonConnection? {
        guard let connection = try DaemonConnection.connect(to: paths.socket, onEvent: onEvent) else { return nil }
        var isAccepted = false
        defer { if !isAccepted { connection.close() } }
        guard let welcome = try greet(connection, as: role) else { return nil }
        if welcome.library != paths.library || welcome.cache != paths.cache {
            let other =
                welcome.library != paths.library ? "the library \(welcome.library)" : "the cache \(welcome.cache)"
            throw ClientError(
                .incompatible,
                "the daemon at \(paths.socket) (process \(welcome.pid)) serves \(other): "
                    + "give each environment its own XDG_RUNTIME_DIR")
        }
        if welcome.protocolVersion > protocolVersion || welcome.schema > schema {
            throw ClientError(
                .incompatible,
                "a newer podfs (\(welcome.version)) is running as process \(welcome.pid): use the newer program")
        }
        if stopsDaemon || welcome.protocolVersion < protocolVersion || welcome.schema < schema {
            stop(connection, process: welcome.pid)
            return nil
        }
        if let notice = welcome.notice { onNotice(notice) }
        isAccepted = true
        // Callers never see a connection to a daemon that is older or does not respond, nor its end.
        connection.onClose(onClose)
        return connection
    }

    /// Asks the running daemon, if there is one, to exit, and blocks until it has exited, at most about 20 seconds.
    /// Throws `ClientError` as `connect` does.
    package func stopDaemon() throws { _ = try connect(role: .command, stopsDaemon: true) }

    /// Connects. If no daemon runs, first creates the installation's folders and starts a daemon. Blocks until the
    /// daemon has responded. Throws `ClientError`.
    ///
    /// - Parameter onClose: Called once, when the returned connection ends; possibly before this function returns.
    package func connectOrStart(
        role: Hello, onEvent: @escaping @Sendable (Event) -> Void = { _ in },
        onClose: @escaping @Sendable () -> Void = {}
    ) throws -> DaemonConnection {
        if let connection = try connect(role: role, onEvent: onEvent, onClose: onClose) { return connection }
        try makeFolders()
        // One process at a time starts a daemon; the others then find it running.
        let lock = open(paths.startLock, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw ClientError(.unreachable, "\(paths.startLock): \(errnoText())") }
        defer { close(lock) }
        _ = retryingInterrupts { flock(lock, LOCK_EX) }
        if let connection = try connect(role: role, onEvent: onEvent, onClose: onClose) { return connection }
        // A daemon may be killed after its start, before it responds. If so, start another.
        for _ in 1...3 {
            try start()
            if let connection = try connect(role: role, onEvent: onEvent, onClose: onClose) { return connection }
        }
        throw ClientError(.unreachable, "the daemon was started but does not answer: see \(paths.log)")
    }

    /// Creates the installation's folders, mode 0700.
    package func makeFolders() throws {
        for folder in paths.folders {
            do {
                try FileManager.default.createDirectory(
                    atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            } catch {
                throw ClientError(.unreachable, "cannot create the folder \(folder): \(error.localizedDescription)")
            }
        }
    }

    /// Sends the hello and blocks until the response, at most for `patience`.
    ///
    /// - Returns: `nil` if the daemon has closed the connection.
    package func greet(_ connection: DaemonConnection, as role: Hello) throws(ClientError) -> Welcome? {
        let answer = OneShot<Welcome?>()
        connection.send(.hello, WireJSON.encode(role)) { result in
            guard case .success(let frame) = result, frame.kind == .welcome else { return answer.deliver(nil) }
            answer.deliver(WireJSON.decode(Welcome.self, frame.payload))
        }
        if let welcome = answer.wait(seconds: patience) { return welcome }
        connection.close()
        throw ClientError(.unreachable, "the daemon does not answer at \(paths.socket): see podfs doctor")
    }

    /// Asks a daemon to exit, and blocks until it has exited, at most about 20 seconds.
    private func stop(_ connection: DaemonConnection, process: Int32) {
        let gone = DispatchSemaphore(value: 0)
        connection.send(.command, WireJSON.encode(Command.leave)) { _ in gone.signal() }
        _ = gone.wait(timeout: .now() + .seconds(10))
        connection.close()
        // The daemon holds the lock on its folders until it exits.
        ProcessHandle(process)?.wait()
    }

    /// Runs `podfs daemon`, which exits once the background daemon listens.
    private func start() throws {
        let environment = ProcessInfo.processInfo.environment
        let result = ChildProgram.run(executable, ["podfs", "daemon"], environment: environment)
        guard result.status == 0 else {
            let reason = result.errors.trimmingCharacters(in: .whitespacesAndNewlines)
            let message = reason.isEmpty ? "exit code \(result.status); see \(paths.log)" : reason
            throw ClientError(.unreachable, "the daemon did not start: \(message)")
        }
    }
}
