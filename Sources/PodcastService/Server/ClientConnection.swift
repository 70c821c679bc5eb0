internal import CLinux
internal import DaemonCore
internal import Glibc
internal import Platform
package import PodcastProtocol
internal import Synchronization
internal import TransferCore

/// The daemon's end of one client's connection.
///
/// Frames may be sent from any thread; none waits for the client: what its socket does not take is kept and sent by the
/// server's thread. A client that does not read is dropped.
package final class ClientConnection: Sendable {
    struct State {
        /// What the socket has not taken yet.
        var backlog: [UInt8] = []
        var isClosed = false
        var isWatching = false
        /// Opens that were granted: their episodes by the number of the request.
        var opens: [UInt32: EpisodeID] = [:]
        /// What the client waits for, by the number of the request.
        var waits: [UInt32: Wait] = [:]
    }

    struct Wait {
        var episode: EpisodeID
        /// The engine's name for it; `nil` until it is known.
        var name: Int64?
    }

    private static let lastID = Atomic<Int64>(0)

    let id = ClientID(ClientConnection.lastID.add(1, ordering: .relaxed).newValue)
    let pid: pid_t
    let descriptor: Int32
    let state = Mutex(State())
    private let wantsToSend: @Sendable (ClientConnection) -> Void

    /// A client this far behind will not catch up; the greatest answer is far smaller.
    private static let largestBacklog = 256 << 20

    init(descriptor: Int32, pid: pid_t, wantsToSend: @escaping @Sendable (ClientConnection) -> Void) {
        self.descriptor = descriptor
        self.pid = pid
        self.wantsToSend = wantsToSend
    }

    deinit { close(descriptor) }

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

    package func send<Value: Encodable>(_ kind: Frame.Kind, number: UInt32, _ value: Value) {
        send(Frame(kind: kind, number: number, payload: WireJSON.encode(value)))
    }

    package func send(_ failure: Failure, number: UInt32) {
        send(Frame(kind: .failure, number: number, payload: failure.payload))
    }

    /// Sends what is left over.
    ///
    /// - Returns: whether something still is.
    func flush() -> Bool {
        state.withLock { state in
            let sent = Self.write(state.backlog[...], to: descriptor)
            state.backlog.removeFirst(sent)
            return !state.backlog.isEmpty && !state.isClosed
        }
    }

    /// Whether something waits for the socket.
    var isBehind: Bool { state.withLock { !$0.backlog.isEmpty && !$0.isClosed } }

    /// As much as the socket takes now. An error shows as the connection's end to the reading side.
    private static func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> Int {
        bytes.withUnsafeBytes { sendAll($0, to: descriptor) }
    }
}
