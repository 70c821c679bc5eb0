import CLinux
import Foundation
import Glibc
import PodcastProtocol
import Synchronization
import TestSupport

/// A daemon's end of a Unix socket with scripted responses. One thread accepts, one reads each connection.
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

        func send(bytes: [UInt8]) {
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes {
                    Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard count > 0 else { return }
                rest = rest.dropFirst(count)
            }
        }

        func end() { shutdown(descriptor, Int32(SHUT_RDWR)) }

        fileprivate func run(_ take: (Frame) -> Void) {
            var decoder = FrameDecoder()
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = recv(descriptor, &buffer, buffer.count, 0)
                guard count > 0 else { return }
                buffer[..<count].withUnsafeBytes { decoder.append($0) }
                do {
                    while let frame = try decoder.next() { take(frame) }
                } catch {
                    return
                }
            }
        }
    }

    typealias Handler = @Sendable (Peer, Frame) -> Void

    private struct State {
        var frames: [Frame] = []
        var peers: [Peer] = []
        var isStopped = false
    }

    private let listener: Int32
    private let path: String
    private let state = Mutex(State())
    private let handler: Handler

    init(path: String, handler: @escaping Handler = { _, _ in }) throws {
        self.path = path
        self.handler = handler
        listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        var length: socklen_t = 0
        guard clinux_unix_address(path, &address, &length) == 0 else { throw POSIXError(.ENAMETOOLONG) }
        let listener = listener
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(listener, $0, length) }
        }
        guard bound == 0, listen(listener, 64) == 0 else { throw POSIXError(.EADDRINUSE) }
        Thread.detachNewThread { [weak self] in
            while let peer = self?.accept() {
                Thread.detachNewThread { [weak self] in
                    peer.run { self?.take(peer, $0) }
                    // The connection is closed explicitly, since a test may still hold a reference.
                    peer.end()
                }
            }
            close(listener)
        }
    }

    deinit { stop() }

    /// The frames received so far.
    var frames: [Frame] { state.withLock { $0.frames } }

    var peers: [Peer] { state.withLock { $0.peers } }

    /// Waits for `count` frames of a kind, and returns all of that kind.
    @discardableResult
    func wait(for kind: Frame.Kind, count: Int = 1) async throws -> [Frame] {
        try await waitUntil(description: "\(count) frames of the kind \(kind) come") {
            frames.count { $0.kind == kind } >= count
        }
        return frames.filter { $0.kind == kind }
    }

    /// Closes all connections and stops listening.
    func stop() {
        state.withLock { state in
            // Only once: another server's socket may have the same path by then.
            if state.isStopped { return }
            state.isStopped = true
            unlink(path)
            shutdown(listener, Int32(SHUT_RDWR))
            for peer in state.peers { peer.end() }
        }
    }

    private func accept() -> Peer? {
        let descriptor = clinux_accept(listener, Int32(SOCK_CLOEXEC.rawValue))
        guard descriptor >= 0 else { return nil }
        return state.withLock { state in
            let peer = Peer(descriptor: descriptor, number: state.peers.count)
            // Accepted during the stop: the connection is closed with the value.
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

/// A list of events in their order, from any thread.
final class Journal<Entry: Sendable>: Sendable {
    private let content = Mutex<[Entry]>([])

    func append(_ entry: Entry) { content.withLock { $0.append(entry) } }

    var entries: [Entry] { content.withLock { $0 } }
}
