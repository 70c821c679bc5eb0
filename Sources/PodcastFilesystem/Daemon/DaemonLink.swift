internal import Foundation
internal import Glibc
internal import Platform
package import PodcastProtocol
internal import Synchronization

/// The mount's connection to the daemon. A request without a response is sent again on the next connection.
///
/// If requests wait for a response when the connection is lost, the link reconnects immediately. Otherwise it
/// reconnects at the next request. In either case it starts a daemon if none runs. The link also connects when another
/// process has started a daemon, which it detects by the daemon's pid file (inotify). Responses and events are
/// delivered on the connection's thread, failures on any thread.
package final class DaemonLink: Sendable {
    /// A completion handler, called once with the daemon's response or the failure, unless the request is cancelled.
    package typealias Completion = @Sendable (Result<Frame, Failure>) -> Void

    /// The handlers of the daemon's events and connections.
    package struct Observer: Sendable {
        package var event: @Sendable (Event) -> Void
        /// Called after each connect, with the tasks that the daemon has listed.
        package var connected: @Sendable ([TaskInfo]) -> Void
        package var disconnected: @Sendable () -> Void
    }

    private struct Request {
        var kind: Frame.Kind
        var payload: [UInt8]
        var completion: Completion
        /// The connection on which the request was sent; `nil` while it waits for a connection.
        var connection: DaemonConnection?
        /// The number of the request on that connection; `nil` until it is sent.
        var number: UInt32?
        /// The number of connections that ended after the request was sent on them and before the response.
        var disconnects = 0
        /// The time at which the first of these connections ended.
        var firstDisconnect: ContinuousClock.Instant?
    }

    private struct State {
        var connection: DaemonConnection?
        /// The number of the last attempt to connect. When a connection of an earlier attempt ends, `handleDisconnect`
        /// ignores it.
        var attempt = 0
        var isConnecting = false
        /// The number of consecutive attempts to connect that failed with an error.
        var failedAttempts = 0
        /// The number of connections that have ended since the last response.
        var disconnects = 0
        /// The time at which a daemon was last connected.
        var lastConnected: ContinuousClock.Instant?
        var isEnded = false
        var requests: [UInt64: Request] = [:]
        var lastToken: UInt64 = 0
        var observer: Observer?
    }

    private let launcher: DaemonLauncher
    private let state = Mutex(State())

    /// The number of lost connections after which a request without a response fails, because the request itself may
    /// crash the daemon. It does not fail before `patience` has passed since it lost the first of these connections.
    ///
    /// After the same number of lost connections without a response, or of failed attempts to connect, the link waits
    /// before it starts the next daemon.
    private static let maxDisconnects = 3
    /// The number of consecutive failed attempts to connect after which waiting requests fail. They do not fail if the
    /// last connection ended less than `patience` ago. In that case, daemons are being killed, possibly while they
    /// start.
    private static let maxFailedAttempts = 3
    /// The minimum time for which a request waits for a stable daemon while daemons die in quick succession.
    private let patience: Duration
    /// The watch for the pid file that a daemon writes when it listens.
    private let watch: FolderWatch

    package init(launcher: DaemonLauncher, patience: Duration = .seconds(60)) {
        self.launcher = launcher
        self.patience = patience
        watch = FolderWatch(launcher.paths.runtime)
    }

    deinit { watch.stop() }

    /// Starts watching for daemons, and connects to a running one. Starts one if none runs and `startsDaemon` is set.
    package func start(observer: Observer, startsDaemon: Bool) {
        state.withLock { $0.observer = observer }
        connectSoon(startsDaemon: startsDaemon)
        startThread("podfs-watch") { [weak self, watch, launcher] in
            // The folder may not exist yet, since it is recreated after every boot.
            try? launcher.makeFolders()
            while watch.wait() { self?.connectSoon(startsDaemon: false) }
        }
    }

    /// Fails all waiting requests with ENODEV, and closes the connection.
    package func close() {
        let (requests, connection) = state.withLock { state in
            state.isEnded = true
            state.observer = nil
            return (exchange(&state.requests, with: [:]), state.connection.take())
        }
        watch.stop()
        connection?.close()
        let failure = Failure(errorNumber: ENODEV, message: "the file system is being unmounted")
        for request in requests.values { request.completion(.failure(failure)) }
    }

    /// Whether a daemon is connected.
    package var isConnected: Bool { state.withLock { $0.connection != nil } }

    /// Sends a request, starting a daemon if none runs.
    ///
    /// - Returns: A token for `cancel`.
    @discardableResult
    package func send(_ kind: Frame.Kind, _ payload: [UInt8], completion: @escaping Completion) -> UInt64 {
        let (token, connection) = state.withLock { state -> (UInt64, DaemonConnection?) in
            state.lastToken += 1
            if state.isEnded { return (0, nil) }
            state.requests[state.lastToken] = Request(kind: kind, payload: payload, completion: completion)
            return (state.lastToken, state.connection)
        }
        if token == 0 {
            completion(.failure(Failure(errorNumber: ENODEV, message: "the file system is being unmounted")))
        } else if let connection {
            transmit(token, on: connection)
        } else {
            connectSoon(startsDaemon: true)
        }
        return token
    }

    /// Sends a frame that the daemon does not answer. Without a connection, the frame is discarded.
    package func post(_ kind: Frame.Kind, _ payload: [UInt8]) { state.withLock { $0.connection }?.post(kind, payload) }

    /// Cancels a request. Its completion handler is not called, unless another thread is handling the response already.
    package func cancel(_ token: UInt64) {
        let request = state.withLock { $0.requests.removeValue(forKey: token) }
        if let number = request?.number { request?.connection?.cancel(number) }
    }

    /// Sends a stored request, unless another thread has sent it or the connection is no longer current.
    private func transmit(_ token: UInt64, on connection: DaemonConnection) {
        let request = state.withLock { state -> Request? in
            guard state.connection === connection, state.requests[token]?.connection == nil else { return nil }
            state.requests[token]?.connection = connection
            return state.requests[token]
        }
        guard let request else { return }
        let number = connection.send(request.kind, request.payload) { [weak self] result in
            self?.handleResponse(token, result, on: connection)
        }
        let isWanted = state.withLock { state in
            guard let known = state.requests[token] else { return false }
            // If the connection has ended meanwhile, the request waits for the next one, and has no number.
            if known.connection === connection { state.requests[token]?.number = number }
            return true
        }
        // Needed if the request was cancelled before its number was known; no effect if it was answered.
        if !isWanted { connection.cancel(number) }
    }

    private func handleResponse(_ token: UInt64, _ result: Result<Frame, ClientError>, on connection: DaemonConnection)
    {
        switch result {
        case .success(let frame):
            let known = state.withLock { state in
                state.disconnects = 0
                return state.requests.removeValue(forKey: token)
            }
            guard let request = known else {
                // Cancelled after the response had arrived: the daemon must not count the open that it has granted.
                return connection.post(.cancel, number: frame.number)
            }
            if frame.kind == .failure {
                let failure = WireJSON.decode(Failure.self, frame.payload)
                request.completion(.failure(failure ?? Failure(errorNumber: EIO, message: "unknown failure")))
            } else {
                request.completion(.success(frame))
            }
        case .failure:
            // The connection has ended. The request waits for the next one, unless too many have ended.
            let (abandoned, next) = state.withLock { state -> (Request?, DaemonConnection?) in
                guard var request = state.requests[token], request.connection === connection else { return (nil, nil) }
                request.connection = nil
                request.number = nil
                request.disconnects += 1
                let since = request.firstDisconnect ?? .now
                request.firstDisconnect = since
                state.requests[token] = request
                if request.disconnects >= Self.maxDisconnects, since.duration(to: .now) >= patience {
                    return (state.requests.removeValue(forKey: token), nil)
                }
                return (nil, state.connection === connection ? nil : state.connection)
            }
            let failure = Failure(errorNumber: ETIMEDOUT, message: "the connection to the daemon was lost repeatedly")
            abandoned?.completion(.failure(failure))
            // If the next connection became current before this failure was handled, `activate` has not sent the
            // request on it.
            if let next { transmit(token, on: next) }
        }
    }

    // MARK: Connecting

    /// Starts a thread that connects, unless there is a connection or an attempt to connect is under way.
    private func connectSoon(startsDaemon: Bool) {
        let begins = state.withLock { state in
            if state.isConnecting || state.isEnded || state.connection != nil { return false }
            state.isConnecting = true
            return true
        }
        guard begins else { return }
        startThread("podfs-connect") { [self] in connect(startsDaemon: startsDaemon) }
    }

    private func connect(startsDaemon: Bool) {
        let (attempt, misses) = state.withLock { state in
            state.attempt += 1
            return (state.attempt, max(state.disconnects, state.failedAttempts))
        }
        // The first restarts are immediate, later ones up to a second apart, so that a request that crashes daemons
        // does not keep the machine busy with restarts.
        if startsDaemon, misses >= Self.maxDisconnects {
            Thread.sleep(forTimeInterval: min(1, 0.1 * Double(1 << min(misses - Self.maxDisconnects, 4))))
        }
        let onEvent: @Sendable (Event) -> Void = { [weak self] event in
            self?.state.withLock { $0.observer }?.event(event)
        }
        let onClose: @Sendable () -> Void = { [weak self] in self?.handleDisconnect(attempt) }
        do {
            let found =
                startsDaemon
                ? try launcher.connectOrStart(role: .mount, onEvent: onEvent, onClose: onClose)
                : try launcher.connect(role: .mount, onEvent: onEvent, onClose: onClose)
            guard let connection = found else {
                state.withLock { $0.isConnecting = false }
                if state.withLock({ !$0.requests.isEmpty }) { connectSoon(startsDaemon: true) }
                return
            }
            activate(connection, attempt)
        } catch {
            let requests = state.withLock { state -> [UInt64: Request]? in
                state.isConnecting = false
                state.failedAttempts += 1
                let wasConnectedRecently = state.lastConnected.map { $0.duration(to: .now) < patience } ?? false
                let retries = state.failedAttempts < Self.maxFailedAttempts || wasConnectedRecently
                if retries, !state.requests.isEmpty { return nil }
                state.failedAttempts = 0
                return exchange(&state.requests, with: [:])
            }
            guard let requests else { return connectSoon(startsDaemon: true) }
            let failure = Failure(errorNumber: EIO, message: "\(error)")
            for request in requests.values { request.completion(.failure(failure)) }
        }
    }

    /// Makes a connection the current one, and sends the waiting requests on it.
    private func activate(_ connection: DaemonConnection, _ attempt: Int) {
        // Subscribe to events before listing the tasks, so that none is missed.
        connection.send(.watch) { _ in }
        connection.send(.tasks) { [weak self] result in
            guard case .success(.tasks(let tasks)) = result else { return }
            self?.state.withLock { $0.observer }?.connected(tasks)
        }
        let tokens: [UInt64]? = state.withLock { state in
            state.isConnecting = false
            if state.isEnded { return nil }
            state.connection = connection
            state.failedAttempts = 0
            state.lastConnected = .now
            return state.requests.filter { $0.value.connection == nil }.keys.sorted()
        }
        guard let tokens else { return connection.close() }
        for token in tokens { transmit(token, on: connection) }
        // The connection may have ended before it became current, in which case `handleDisconnect` ignored it.
        if connection.isClosed { handleDisconnect(attempt) }
    }

    /// Handles the end of the connection that `attempt` established. Does nothing if it is not the current connection.
    private func handleDisconnect(_ attempt: Int) {
        let ended = state.withLock { state -> (observer: Observer?, hasRequests: Bool)? in
            guard state.connection != nil, state.attempt == attempt else { return nil }
            state.connection = nil
            state.lastConnected = .now
            state.disconnects += 1
            return (state.observer, !state.requests.isEmpty)
        }
        guard let ended else { return }
        ended.observer?.disconnected()
        if ended.hasRequests { connectSoon(startsDaemon: true) }
    }
}
