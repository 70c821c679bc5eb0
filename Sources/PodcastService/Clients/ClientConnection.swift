internal import CLinux
internal import DaemonCore
internal import Glibc
internal import Platform
package import PodcastProtocol
internal import Synchronization
internal import TransferCore

/// The daemon's side of one client's connection.
///
/// Frames may be sent from any thread, without blocking: bytes that the socket does not accept are queued and sent by
/// the server's thread. A client that does not read is disconnected.
package final class ClientConnection: Sendable {
    struct State {
        /// Bytes that the socket has not accepted yet.
        var backlog: [UInt8] = []
        var isClosed = false
        var isWatching = false
        /// Granted opens: request number to episode.
        var opens: [UInt32: EpisodeID] = [:]
        /// Outstanding requests, by request number.
        var waits: [UInt32: Wait] = [:]
    }

    struct Wait {
        var episode: EpisodeID
        /// The engine's identifier for the request; `nil` until it is known.
        var name: Int64?
    }

    private static let lastID = Atomic<Int64>(0)

    let id = ClientID(ClientConnection.lastID.add(1, ordering: .relaxed).newValue)
    let pid: pid_t
    let descriptor: Int32
    let state = Mutex(State())
    private let wantsToSend: @Sendable (ClientConnection) -> Void

    /// Maximum backlog in bytes, far above the largest answer. A client this far behind is disconnected.
    private static let largestBacklog = 256 << 20

    init(descriptor: Int32, pid: pid_t, wantsToSend: @escaping @Sendable (ClientConnection) -> Void) {
        self.descriptor = descriptor
        self.pid = pid
        self.wantsToSend = wantsToSend
    }

    deinit { close(descriptor) }

    /// Sends a frame, or queues it if the socket is full. Disconnects a client whose backlog is too large.
    package func send(_ frame: Frame) {
        let bytes = frame.bytes
        let isBehind = state.withLock { state in
            if state.isClosed { return false }
            if !state.backlog.isEmpty {
                state.backlog += bytes
                if state.backlog.count > Self.largestBacklog { shutdown(descriptor, Int32(SHUT_RDWR)) }
                return false
            }
            let sent = Self.write(bytes[...], to: descriptor)
            state.backlog = Array(bytes[sent...])
            return !state.backlog.isEmpty
        }
        if isBehind { wantsToSend(self) }
    }

    /// Sends a JSON message.
    package func send<Value: Encodable>(_ kind: Frame.Kind, number: UInt32, _ value: Value) {
        send(Frame(kind: kind, number: number, payload: WireJSON.encode(value)))
    }

    /// Sends a failure as the answer to a request.
    package func send(_ failure: Failure, number: UInt32) {
        send(Frame(kind: .failure, number: number, payload: failure.payload))
    }

    /// Sends the backlog.
    ///
    /// - Returns: whether some of it remains.
    func flush() -> Bool {
        state.withLock { state in
            let sent = Self.write(state.backlog[...], to: descriptor)
            state.backlog.removeFirst(sent)
            return !state.backlog.isEmpty && !state.isClosed
        }
    }

    /// Whether bytes are queued for the socket.
    var isBehind: Bool { state.withLock { !$0.backlog.isEmpty && !$0.isClosed } }

    /// Writes as much as the socket accepts now. An error is reported to the reading side as the end of the connection.
    private static func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> Int {
        bytes.withUnsafeBytes { sendAll($0, to: descriptor) }
    }
}
