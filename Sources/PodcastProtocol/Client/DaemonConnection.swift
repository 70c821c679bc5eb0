internal import CLinux
internal import Glibc
internal import Platform
internal import Synchronization

/// A connection to the daemon's socket.
///
/// Thread-safe. Responses and events are delivered on the connection's own thread, and the callbacks must not block it.
/// When the connection ends, all outstanding requests get `ClientError.disconnected`, then the action of `onClose` is
/// called.
package final class DaemonConnection: Sendable {
    /// Called once, with the response or an error. Not called if the request is cancelled before either arrives.
    package typealias Answer = @Sendable (Result<Frame, ClientError>) -> Void

    private struct State {
        var waiting: [UInt32: Answer] = [:]
        var lastNumber: UInt32 = 0
        var isEnded = false
        var onClose: @Sendable () -> Void = {}
    }

    /// The bytes that the socket's buffer does not accept, because the daemon does not read.
    private struct Outgoing {
        var backlog: [UInt8] = []
        /// Whether a thread sends the backlog. Meanwhile frames are added to the backlog, in their order.
        var isDraining = false
    }

    /// The maximum size of the backlog in bytes: some 300,000 requests. Beyond it, the connection ends.
    private static let backlogLimit = 32 << 20

    private let descriptor: Int32
    private let state = Mutex(State())
    private let outgoing = Mutex(Outgoing())
    private let onEvent: @Sendable (Event) -> Void

    /// Connects to a socket. Throws `ClientError` with the code `unreachable` if that fails, or if a process of another
    /// user listens on the socket.
    ///
    /// - Returns: `nil` if no process listens on the socket.
    package static func connect(
        to path: String, onEvent: @escaping @Sendable (Event) -> Void = { _ in }
    ) throws(ClientError) -> DaemonConnection? {
        var address = sockaddr_un()
        var length: socklen_t = 0
        guard clinux_unix_address(path, &address, &length) == 0 else {
            throw ClientError(
                .unreachable, "\(path) is too long for a socket: set XDG_RUNTIME_DIR to a shorter path")
        }
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw ClientError(.unreachable, "socket: \(errnoText())") }
        let connection = DaemonConnection(descriptor: descriptor, onEvent: onEvent)
        let error = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, length) == 0 ? 0 : errno
            }
        }
        if error == ECONNREFUSED || error == ENOENT { return nil }
        guard error == 0 else { throw ClientError(.unreachable, "\(path): \(errnoText(error))") }
        var uid: uid_t = 0
        var pid: pid_t = 0
        guard clinux_peer_credentials(descriptor, &uid, &pid) == 0, uid == geteuid() else {
            throw ClientError(.unreachable, "\(path) belongs to a process of another user")
        }
        startThread("podfs-client") {
            connection.receive()
            connection.finish()
        }
        return connection
    }

    private init(descriptor: Int32, onEvent: @escaping @Sendable (Event) -> Void) {
        self.descriptor = descriptor
        self.onEvent = onEvent
    }

    deinit { Glibc.close(descriptor) }

    /// Whether the connection has ended. If so, the action of `onClose` has been called or will be called soon.
    package var isClosed: Bool { state.withLock { $0.isEnded } }

    /// Sets the action for the end of the connection, which is called once; at once if the connection has ended.
    package func onClose(_ action: @escaping @Sendable () -> Void) {
        let isEnded = state.withLock { state in
            state.onClose = action
            return state.isEnded
        }
        if isEnded { action() }
    }

    /// Closes the connection; the action of `onClose` is still called.
    package func close() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// Sends a request.
    ///
    /// - Returns: The request's number, for `cancel`; 0 if the connection has ended, in which case `answer` has been
    ///   called with the error.
    @discardableResult
    package func send(_ kind: Frame.Kind, _ payload: [UInt8], answer: @escaping Answer) -> UInt32 {
        let number: UInt32? = state.withLock { state in
            if state.isEnded { return nil }
            repeat { state.lastNumber &+= 1 } while state.lastNumber == 0 || state.waiting[state.lastNumber] != nil
            state.waiting[state.lastNumber] = answer
            return state.lastNumber
        }
        guard let number else {
            answer(.failure(.disconnected))
            return 0
        }
        write(Frame(kind: kind, number: number, payload: payload))
        return number
    }

    /// Sends a frame that has no response.
    package func post(_ kind: Frame.Kind, number: UInt32 = 0, _ payload: [UInt8] = []) {
        write(Frame(kind: kind, number: number, payload: payload))
    }

    /// Cancels the request `number`, whose `answer` is then never called. Does nothing if the response has arrived.
    package func cancel(_ number: UInt32) {
        let wasWaiting = state.withLock { $0.waiting.removeValue(forKey: number) != nil }
        if wasWaiting { post(.cancel, number: number) }
    }

    private func write(_ frame: Frame) {
        let bytes = frame.bytes
        let drains = outgoing.withLock { outgoing in
            var sent = 0
            if !outgoing.isDraining {
                sent = bytes.withUnsafeBytes { sendAll($0, to: descriptor, flags: Int32(MSG_DONTWAIT)) }
                if sent == bytes.count { return false }
            }
            if outgoing.backlog.count > Self.backlogLimit {
                close()
                return false
            }
            outgoing.backlog += bytes[sent...]
            defer { outgoing.isDraining = true }
            return !outgoing.isDraining
        }
        if drains { startThread("podfs-send") { [self] in drain() } }
    }

    /// Sends the backlog. Only this thread waits for the daemon to read; the callers of `send` never do.
    private func drain() {
        while true {
            let bytes = outgoing.withLock { outgoing in
                defer { outgoing.backlog = [] }
                outgoing.isDraining = !outgoing.backlog.isEmpty
                return outgoing.backlog
            }
            if bytes.isEmpty { return }
            let sent = bytes.withUnsafeBytes { sendAll($0, to: descriptor) }
            // The shutdown makes the receiving thread read the end of the stream and fail all outstanding requests.
            if sent < bytes.count { close() }
        }
    }

    private func receive() {
        var decoder = FrameDecoder()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 16)
        defer { buffer.deallocate() }
        while true {
            let count = retryingInterrupts { recv(descriptor, buffer.baseAddress, buffer.count, 0) }
            guard count > 0 else { return }
            decoder.append(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            do {
                while let frame = try decoder.next() { dispatch(frame) }
            } catch {
                return close()
            }
        }
    }

    private func dispatch(_ frame: Frame) {
        if frame.kind == .event {
            if let event = WireJSON.decode(Event.self, frame.payload) { onEvent(event) }
            return
        }
        let answer = state.withLock { $0.waiting.removeValue(forKey: frame.number) }
        answer?(.success(frame))
    }

    private func finish() {
        let (waiting, onClose) = state.withLock { state in
            state.isEnded = true
            defer { state.waiting = [:] }
            return (state.waiting, state.onClose)
        }
        for answer in waiting.values { answer(.failure(.disconnected)) }
        onClose()
    }
}

extension DaemonConnection {
    /// Sends a command and waits for the reply. Throws `Failure` or `ClientError`.
    package func perform(_ command: Command) async throws -> Reply {
        try Self.reply(in: try await exchange(.command, WireJSON.encode(command)))
    }

    /// Sends a command and returns a part of the reply. Throws `ClientError` also if `part` returns `nil`, since the
    /// reply is then not of the expected kind.
    package func perform<Value>(_ command: Command, _ part: (Reply) -> Value?) async throws -> Value {
        guard let value = part(try await perform(command)) else { throw ClientError.unexpectedReply }
        return value
    }

    /// Sends a command. `answer` is called with the reply, a `Failure` or a `ClientError`, on the connection's thread,
    /// before `onEvent` is called for any event that the daemon sends after the reply. If the connection has already
    /// ended, `answer` is called on the calling thread.
    package func send(_ command: Command, answer: @escaping @Sendable (Result<Reply, any Error>) -> Void) {
        send(.command, WireJSON.encode(command)) { result in
            answer(Result { try Self.reply(in: Self.checked(result.get())) })
        }
    }

    /// Sends a frame and waits for the response; throws a failure frame as `Failure`.
    package func exchange(_ kind: Frame.Kind, _ payload: [UInt8]) async throws -> Frame {
        let frame = try await withCheckedThrowingContinuation { continuation in
            send(kind, payload) { continuation.resume(with: $0) }
        }
        return try Self.checked(frame)
    }

    /// Returns the frame; throws a failure frame as `Failure`.
    private static func checked(_ frame: Frame) throws -> Frame {
        if frame.kind == .failure {
            throw WireJSON.decode(Failure.self, frame.payload) ?? Failure(message: "unknown failure")
        }
        return frame
    }

    /// Decodes the reply in a frame.
    private static func reply(in frame: Frame) throws -> Reply {
        guard frame.kind == .reply, let reply = WireJSON.decode(Reply.self, frame.payload) else {
            throw ClientError.unexpectedReply
        }
        return reply
    }
}

/// The reason why a request to the daemon failed.
package struct ClientError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure.
    package enum Code: Sendable {
        /// No daemon could be reached or started.
        case unreachable
        /// The daemon serves another installation, is newer than this program, or sent an unexpected reply.
        case incompatible
        /// The connection ended before the response arrived.
        case disconnected
    }

    package var code: Code
    package var message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The error of a request or a wait whose connection has ended.
    package static let disconnected = ClientError(.disconnected, "the connection to the daemon has ended")

    /// The error of a command that was answered by a reply of another kind.
    package static let unexpectedReply = ClientError(
        .incompatible, "the daemon sent an unexpected reply; see podfs doctor")

    package var description: String { message }
}
