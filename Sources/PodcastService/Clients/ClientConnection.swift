internal import CLinux
internal import Glibc
internal import Platform
internal import PodcastProtocol
internal import Synchronization
internal import Transfers

/// The daemon's side of one client's connection.
///
/// Frames may be sent from any thread, without blocking: bytes that the socket does not accept are queued and sent by
/// the server's thread. A client that falls too far behind is disconnected.
final class ClientConnection: Sendable {
    struct State {
        /// Bytes that the socket has not accepted yet.
        var backlog: [UInt8] = []
        var isClosed = false
        /// Whether events are sent to the client.
        var isWatching = false
        /// The number of commands without a reply.
        var commands = 0
        /// The commands that have not begun, oldest first, with their request numbers.
        var queue: [(command: Command, number: UInt32)] = []
        /// The episodes of granted opens, by request number.
        var opens: [UInt32: EpisodeID] = [:]
        /// The outstanding opens and reads, by request number, each with the engine's identifier for it; `nil` until it
        /// is known.
        var waits: [UInt32: (episode: EpisodeID, requestID: Int64?)] = [:] {
            didSet {
                guard waits.count != counted else { return }
                waitingReaders?.change(by: waits.count - counted)
                counted = waits.count
            }
        }
        /// The number of `waits` that `waitingReaders` includes.
        private var counted = 0
        /// Counts the waits of all clients.
        var waitingReaders: WaitingReaders?
    }

    private static let lastID = Atomic<Int64>(0)

    let id = ClientID(ClientConnection.lastID.add(1, ordering: .relaxed).newValue)
    let descriptor: Int32
    let state = Mutex(State())
    private let interestChanged: @Sendable (ClientConnection) -> Void

    /// Number of outstanding commands at which the daemon stops reading from the client's socket. Further frames then
    /// stay in the socket buffer: a client that floods the daemon blocks, and the daemon's memory does not grow. Frames
    /// that the daemon has already read are still handled.
    private static let mostCommands = 64

    /// Maximum backlog in bytes, far above the largest reply. A client this far behind is disconnected.
    private static let largestBacklog = 256 << 20

    /// - Parameter interestChanged: called on any thread when `updateInterest` has to be called.
    init(descriptor: Int32, interestChanged: @escaping @Sendable (ClientConnection) -> Void) {
        self.descriptor = descriptor
        self.interestChanged = interestChanged
    }

    deinit { close(descriptor) }

    /// Sends a frame, or queues it if the socket is full. Disconnects a client whose backlog is too large. After an
    /// error, epoll reports the end of the connection.
    func send(_ frame: Frame) {
        let bytes = frame.bytes
        let isBehind = state.withLock { state in
            if state.isClosed { return false }
            if !state.backlog.isEmpty {
                state.backlog += bytes
                if state.backlog.count > Self.largestBacklog { shutdown(descriptor, Int32(SHUT_RDWR)) }
                return false
            }
            let sent = bytes.withUnsafeBytes { sendAll($0, to: descriptor) }
            state.backlog = Array(bytes[sent...])
            return !state.backlog.isEmpty
        }
        if isBehind { interestChanged(self) }
    }

    /// Sends a JSON message.
    func send<Value: Encodable>(_ kind: Frame.Kind, number: UInt32, _ value: Value) {
        send(Frame(kind: kind, number: number, payload: WireJSON.encode(value)))
    }

    /// Sends a failure as the reply to a request.
    func send(_ failure: Failure, number: UInt32) { send(.failure, number: number, failure) }

    /// Sends the backlog, as far as the socket accepts it.
    func flush() {
        state.withLock { state in
            let sent = state.backlog.withUnsafeBytes { sendAll($0, to: descriptor) }
            state.backlog.removeFirst(sent)
        }
    }

    /// Updates the connection's epoll events: EPOLLIN unless too many commands are outstanding, EPOLLOUT while there is
    /// a backlog. Runs under the lock, so that after concurrent calls the events match the latest state.
    func updateInterest(in poller: Int32) {
        state.withLock { state in
            var interest: UInt32 = state.commands < Self.mostCommands ? EPOLLIN.rawValue : 0
            if !state.backlog.isEmpty, !state.isClosed { interest |= EPOLLOUT.rawValue }
            var event = epoll_event(events: interest, data: epoll_data_t(fd: descriptor))
            epoll_ctl(poller, EPOLL_CTL_MOD, descriptor, &event)
        }
    }

    /// Adds a received command to the outstanding ones, or removes one after its reply (-1).
    func countCommands(by change: Int) {
        let isChanged = state.withLock { state in
            let couldRead = state.commands < Self.mostCommands
            state.commands += change
            return couldRead != (state.commands < Self.mostCommands)
        }
        if isChanged { interestChanged(self) }
    }
}
