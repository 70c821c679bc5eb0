internal import CLinux
internal import Foundation
internal import Glibc
internal import Platform
package import PodcastProtocol

/// Connects to the daemon of an installation, or starts it.
package struct DaemonLauncher: Sendable {
    package let places: InstallationPaths
    /// The version of the library's schema in this program.
    package let schema: Int
    /// The program to start: `podfs` itself.
    package let executable: String
    /// Called with messages of the daemon for the user.
    package let onNotice: @Sendable (String) -> Void

    package init(
        places: InstallationPaths, schema: Int, executable: String = "/proc/self/exe",
        onNotice: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.places = places
        self.schema = schema
        self.executable = executable
        self.onNotice = onNotice
    }

    /// Connects to a running daemon. Makes an older daemon exit.
    ///
    /// - Returns: `nil` if no daemon runs, the running one does not answer, or it was older.
    package func connect(
        role: Hello.Role, onEvent: @escaping @Sendable (Event) -> Void = { _ in },
        onClose: @escaping @Sendable () -> Void = {}
    ) throws -> DaemonConnection? {
        guard let connection = try DaemonConnection.connect(to: places.socket, onEvent: onEvent, onClose: onClose)
        else {
            return nil
        }
        let hello = Hello(
            protocolVersion: protocolVersion, schema: schema, library: places.library, cache: places.cache,
            role: role, pid: getpid())
        guard let welcome = greet(connection, hello) else {
            connection.close()
            return nil
        }
        if welcome.library != places.library || welcome.cache != places.cache {
            connection.close()
            throw ClientError(
                .disagrees,
                "the daemon at \(places.socket) (process \(welcome.pid)) serves \(welcome.library): "
                    + "give each environment its own XDG_RUNTIME_DIR")
        }
        if welcome.protocolVersion > protocolVersion || welcome.schema > schema {
            connection.close()
            throw ClientError(
                .disagrees,
                "a newer podfs (\(welcome.version)) is running as process \(welcome.pid): use the newer program")
        }
        if welcome.protocolVersion < protocolVersion || welcome.schema < schema {
            replace(connection, process: welcome.pid)
            return nil
        }
        if let notice = welcome.notice { onNotice(notice) }
        return connection
    }

    /// Connects, starting a daemon if none runs. Returns when the daemon has answered.
    package func connectOrStart(
        role: Hello.Role, onEvent: @escaping @Sendable (Event) -> Void = { _ in },
        onClose: @escaping @Sendable () -> Void = {}
    ) throws -> DaemonConnection {
        if let connection = try connect(role: role, onEvent: onEvent, onClose: onClose) { return connection }
        try makeFolders()
        // One process at a time starts a daemon; the others then find it running.
        let lock = open(places.startLock, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0 else {
            throw ClientError(.unreachable, "\(places.startLock): \(String(cString: strerror(errno)))")
        }
        defer { close(lock) }
        _ = retryingInterrupts { flock(lock, LOCK_EX) }
        if let connection = try connect(role: role, onEvent: onEvent, onClose: onClose) { return connection }
        // A daemon that is killed once it is ready, before it answers, is followed by another.
        for _ in 1...3 {
            try start()
            if let connection = try connect(role: role, onEvent: onEvent, onClose: onClose) { return connection }
        }
        throw ClientError(.unreachable, "the daemon was started but does not answer: see \(places.log)")
    }

    /// Creates the installation's folders, mode 0700.
    package func makeFolders() throws {
        for folder in places.folders {
            do {
                try FileManager.default.createDirectory(
                    atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            } catch {
                throw ClientError(.unreachable, "cannot create the folder \(folder): \(error.localizedDescription)")
            }
        }
    }

    /// Sends the hello and blocks until the answer, ten seconds at most; a working daemon answers at once.
    private func greet(_ connection: DaemonConnection, _ hello: Hello) -> Welcome? {
        let answer = OneShot<Welcome?>()
        connection.send(.hello, WireJSON.encode(hello)) { result in
            guard case .success(let frame) = result, frame.kind == .welcome else { return answer.deliver(nil) }
            answer.deliver(WireJSON.decode(Welcome.self, frame.payload))
        }
        return answer.wait(seconds: 10) ?? nil
    }

    /// Asks an older daemon to exit, and waits for it.
    private func replace(_ connection: DaemonConnection, process: Int32) {
        let gone = DispatchSemaphore(value: 0)
        connection.send(.command, WireJSON.encode(Command.leave)) { _ in gone.signal() }
        _ = gone.wait(timeout: .now() + .seconds(10))
        connection.close()
        // The daemon holds the lock on its folders until it exits.
        waitForExit(process)
    }

    private func waitForExit(_ pid: Int32) {
        let process = clinux_pidfd_open(pid)
        guard process >= 0 else { return }
        defer { close(process) }
        var entry = pollfd(fd: process, events: Int16(POLLIN), revents: 0)
        poll(&entry, 1, 10_000)
    }

    /// Runs `podfs daemon`, which exits when the background daemon listens.
    private func start() throws {
        let environment = ProcessInfo.processInfo.environment
        let result = ChildProgram.run(executable, ["podfs", "daemon"], environment: environment)
        guard result.status == 0 else {
            let reason = result.errors.trimmingCharacters(in: .whitespacesAndNewlines)
            let message = reason.isEmpty ? "exit code \(result.status); see \(places.log)" : reason
            throw ClientError(.unreachable, "the daemon did not start: \(message)")
        }
    }
}
