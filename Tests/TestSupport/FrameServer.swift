import CLinux
import Foundation
import Glibc
import Platform
package import PodcastProtocol
import Synchronization

/// A Unix socket server that replaces the daemon in tests. It records each received frame and passes it to a handler,
/// which sends the response that the test needs. One thread accepts connections; another thread for each connection
/// reads its frames.
package final class FrameServer: Sendable {
    /// The server's end of one connection.
    package final class Peer: Sendable {
        private let descriptor: Int32
        /// The number of the connection, from 0.
        package let number: Int
        private let isClosed = Atomic(false)

        fileprivate init(descriptor: Int32, number: Int) {
            self.descriptor = descriptor
            self.number = number
        }

        deinit { close(descriptor) }

        /// Whether the connection has ended.
        package var hasEnded: Bool { isClosed.load(ordering: .acquiring) }

        package func send(_ frame: Frame) { send(bytes: frame.bytes) }

        package func send(bytes: [UInt8]) { _ = bytes.withUnsafeBytes { sendAll($0, to: descriptor) } }

        package func send(_ event: Event) {
            send(Frame(kind: .event, number: 0, payload: WireJSON.encode(event)))
        }

        package func answer(_ frame: Frame, _ welcome: Welcome) {
            send(Frame(kind: .welcome, number: frame.number, payload: WireJSON.encode(welcome)))
        }

        package func answer(_ frame: Frame, _ reply: Reply) {
            send(Frame(kind: .reply, number: frame.number, payload: WireJSON.encode(reply)))
        }

        package func answer(_ frame: Frame, _ grant: Grant) {
            send(Frame(kind: .grant, number: frame.number, payload: grant.payload))
        }

        package func answer(_ frame: Frame, _ failure: Failure) {
            send(Frame(kind: .failure, number: frame.number, payload: WireJSON.encode(failure)))
        }

        package func end() { shutdown(descriptor, Int32(SHUT_RDWR)) }

        fileprivate func run(_ take: (Frame) -> Void) {
            var decoder = FrameDecoder()
            var buffer = [UInt8](repeating: 0, count: 65_536)
            reading: while true {
                let count = recv(descriptor, &buffer, buffer.count, 0)
                guard count > 0 else { break }
                buffer[..<count].withUnsafeBytes { decoder.append($0) }
                do {
                    while let frame = try decoder.next() { take(frame) }
                } catch {
                    break reading
                }
            }
            isClosed.store(true, ordering: .releasing)
            end()
        }
    }

    package typealias Handler = @Sendable (Peer, Frame) -> Void

    private struct State {
        var frames: [Frame] = []
        var peers: [Peer] = []
        var isStopped = false
    }

    private let path: String
    private let listener: Int32
    private let state = Mutex(State())

    /// Binds a socket at `path` and listens. Connections wait in the backlog until `start` is called.
    package init(listeningAt path: String) throws {
        self.path = path
        listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        var length: socklen_t = 0
        guard clinux_unix_address(path, &address, &length) == 0 else { throw POSIXError(.ENAMETOOLONG) }
        let listener = listener
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(listener, $0, length) }
        }
        guard bound == 0, listen(listener, 64) == 0 else { throw POSIXError(.EADDRINUSE) }
    }

    package convenience init(path: String, handler: @escaping Handler = { _, _ in }) throws {
        try self.init(listeningAt: path)
        start(handler)
    }

    /// Starts the accepting thread, which retains the server until `stop`. Called once.
    package func start(_ handler: @escaping Handler) {
        Thread.detachNewThread { [self] in
            while true {
                let connection = clinux_accept(listener, Int32(SOCK_CLOEXEC.rawValue))
                guard connection >= 0 else { break }
                guard let peer = accepted(connection) else { continue }
                Thread.detachNewThread { [self] in
                    peer.run { frame in
                        state.withLock { $0.frames.append(frame) }
                        handler(peer, frame)
                    }
                }
            }
            close(listener)
        }
    }

    /// The frames received so far.
    package var frames: [Frame] { state.withLock { $0.frames } }

    /// All peers so far, including those whose connections have ended.
    package var peers: [Peer] { state.withLock { $0.peers } }

    /// Waits for `count` frames of a kind, and returns all of that kind.
    @discardableResult
    package func wait(for kind: Frame.Kind, count: Int = 1) async throws -> [Frame] {
        try await waitUntil(description: "\(count) frames of the kind \(kind) arrive") {
            frames.count { $0.kind == kind } >= count
        }
        return frames.filter { $0.kind == kind }
    }

    /// Removes the socket, stops accepting, and shuts down all connections. Further calls have no effect, because
    /// another daemon's socket may then have the same path.
    package func stop() {
        state.withLock { state in
            if state.isStopped { return }
            state.isStopped = true
            unlink(path)
            shutdown(listener, Int32(SHUT_RDWR))
            for peer in state.peers { peer.end() }
        }
    }

    /// Returns the peer of a new connection. Closes the connection and returns `nil` if the server has stopped.
    private func accepted(_ descriptor: Int32) -> Peer? {
        state.withLock { state in
            let peer = Peer(descriptor: descriptor, number: state.peers.count)
            if state.isStopped { return nil }
            state.peers.append(peer)
            return peer
        }
    }
}

/// A thread-safe list of entries, in the order in which they were added.
package final class Journal<Entry: Sendable>: Sendable {
    private let content = Mutex<[Entry]>([])

    package init() {}

    package func append(_ entry: Entry) { content.withLock { $0.append(entry) } }

    package var entries: [Entry] { content.withLock { $0 } }
}
