import Foundation
import Glibc
import PodcastProtocol
import Synchronization
import TestSupport

/// A Unix socket server that replaces the daemon in tests. It records each received frame and passes it to a handler,
/// which sends the response that the test needs. One thread accepts connections; another thread for each connection
/// reads its frames.
final class FrameServer: Sendable {
    /// The server's end of one connection.
    final class Peer: Sendable {
        private let descriptor: Int32
        let number: Int

        init(descriptor: Int32, number: Int) {
            self.descriptor = descriptor
            self.number = number
        }

        deinit { close(descriptor) }

        func send(_ frame: Frame) { send(bytes: frame.bytes) }

        func send(bytes: [UInt8]) { UnixListener.sendAll(bytes, to: descriptor) }

        func end() { shutdown(descriptor, Int32(SHUT_RDWR)) }

        fileprivate func run(_ take: (Frame) -> Void) {
            var decoder = FrameDecoder()
            UnixListener.readAll(descriptor) {
                decoder.append($0)
                while let frame = try decoder.next() { take(frame) }
            }
        }
    }

    typealias Handler = @Sendable (Peer, Frame) -> Void

    private struct State {
        var frames: [Frame] = []
        var peers: [Peer] = []
        var isStopped = false
    }

    private let listener: UnixListener
    private let state = Mutex(State())
    private let handler: Handler

    init(path: String, handler: @escaping Handler = { _, _ in }) throws {
        self.handler = handler
        listener = try UnixListener(path: path)
        listener.start { [self] descriptor in
            guard let peer = accepted(descriptor) else { return }
            Thread.detachNewThread { [self] in
                peer.run { take(peer, $0) }
                // Shut the connection down explicitly: `state` retains the peer, so its descriptor stays open.
                peer.end()
            }
        }
    }

    /// The frames received so far.
    var frames: [Frame] { state.withLock { $0.frames } }

    var peers: [Peer] { state.withLock { $0.peers } }

    /// Waits for `count` frames of a kind, and returns all of that kind.
    @discardableResult
    func wait(for kind: Frame.Kind, count: Int = 1) async throws -> [Frame] {
        try await waitUntil(description: "\(count) frames of the kind \(kind) arrive") {
            frames.count { $0.kind == kind } >= count
        }
        return frames.filter { $0.kind == kind }
    }

    /// Stops listening and shuts down all connections.
    func stop() {
        state.withLock { state in
            state.isStopped = true
            listener.stop()
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

    private func take(_ peer: Peer, _ frame: Frame) {
        state.withLock { $0.frames.append(frame) }
        handler(peer, frame)
    }
}

/// A thread-safe list of entries, in the order in which they were added.
final class Journal<Entry: Sendable>: Sendable {
    private let content = Mutex<[Entry]>([])

    func append(_ entry: Entry) { content.withLock { $0.append(entry) } }

    var entries: [Entry] { content.withLock { $0 } }
}
