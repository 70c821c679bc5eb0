import CLinux
import Foundation
import Glibc
import PodcastLibrary
import PodcastProtocol
import Synchronization
import TestSupport
import TransferCore

/// A daemon that fetches nothing: it greets, and answers opens, reads and commands with scripted handlers.
final class FakeDaemon: Sendable {
    /// The handler of a request; without one the request stays unanswered.
    typealias Handler = @Sendable (FakeDaemon, Frame) -> Void

    private struct State {
        var frames: [Frame] = []
        var opened: [EpisodeID?] = []
        var clients: [Int32] = []
        var tasks: [TaskInfo] = []
        var isDead = false
    }

    private let paths: InstallationPaths
    private let listener: Int32
    private let state = Mutex(State())
    private let handler: Handler

    init(_ paths: InstallationPaths, tasks: [TaskInfo] = [], handler: @escaping Handler = { _, _ in }) throws {
        self.paths = paths
        self.handler = handler
        listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        state.withLock { $0.tasks = tasks }
        var address = sockaddr_un()
        var length: socklen_t = 0
        guard clinux_unix_address(paths.socket, &address, &length) == 0 else { throw POSIXError(.ENAMETOOLONG) }
        let listener = listener
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(listener, $0, length) }
        }
        guard bound == 0, listen(listener, 16) == 0 else { throw POSIXError(.EADDRINUSE) }
        Thread.detachNewThread { [weak self] in
            while let client = self?.accept() {
                Thread.detachNewThread { [weak self] in
                    Self.receive(client) { self?.take($0, from: client) }
                    self?.state.withLock { $0.clients.removeAll { $0 == client } }
                    close(client)
                }
            }
            close(listener)
        }
    }

    deinit { die() }

    /// Writes the pid file like a daemon that listens; mounts without a daemon watch for it.
    func writePIDFile() throws {
        try Data("\(getpid())\n".utf8).write(to: URL(fileURLWithPath: paths.pidFile), options: .atomic)
    }

    /// Closes every connection at once, as SIGKILL does.
    func die() {
        state.withLock { state in
            // Once only: the next daemon's socket has the same path.
            if state.isDead { return }
            state.isDead = true
            unlink(paths.socket)
            shutdown(listener, Int32(SHUT_RDWR))
            for client in state.clients { shutdown(client, Int32(SHUT_RDWR)) }
        }
    }

    // MARK: Received frames

    /// All received frames except the greeting and those that follow it automatically.
    var frames: [Frame] { state.withLock { $0.frames } }

    /// The episodes in open notifications that need no answer.
    var opened: [EpisodeID?] { state.withLock { $0.opened } }

    /// Waits for `count` frames of a kind, and returns all of that kind.
    @discardableResult
    func wait(for kind: Frame.Kind, count: Int = 1) async throws -> [Frame] {
        try await waitUntil(description: "\(count) frames of the kind \(kind) come") {
            frames.count { $0.kind == kind } >= count
        }
        return frames.filter { $0.kind == kind }
    }

    /// The received commands.
    var commands: [Command] {
        frames.filter { $0.kind == .command }.compactMap { WireJSON.decode(Command.self, $0.payload) }
    }

    var isConnected: Bool { state.withLock { !$0.clients.isEmpty } }

    // MARK: Sending

    func send(_ frame: Frame) {
        state.withLock { state in
            for client in state.clients { Self.send(frame.bytes, to: client) }
        }
    }

    func send(_ event: Event) { send(Frame(kind: .event, number: 0, payload: WireJSON.encode(event))) }

    func answer(_ frame: Frame, _ grant: Grant) {
        send(Frame(kind: .grant, number: frame.number, payload: grant.payload))
    }

    func answer(_ frame: Frame, _ failure: Failure) {
        send(Frame(kind: .failure, number: frame.number, payload: failure.payload))
    }

    func answer(_ frame: Frame, _ reply: Reply) {
        send(Frame(kind: .reply, number: frame.number, payload: WireJSON.encode(reply)))
    }

    // MARK: -

    private func accept() -> Int32? {
        let client = clinux_accept(listener, Int32(SOCK_CLOEXEC.rawValue))
        guard client >= 0 else { return nil }
        let isDead = state.withLock { state in
            if !state.isDead { state.clients.append(client) }
            return state.isDead
        }
        // The connection was accepted while the daemon died.
        if isDead { close(client) }
        return isDead ? nil : client
    }

    private func take(_ frame: Frame, from client: Int32) {
        if frame.kind == .hello {
            let welcome = Welcome(
                protocolVersion: protocolVersion, schema: Library.schemaVersion, library: paths.library,
                cache: paths.cache, version: "fake", pid: getpid())
            Self.send(Frame(kind: .welcome, number: frame.number, payload: WireJSON.encode(welcome)).bytes, to: client)
            return
        }
        switch frame.kind == .command ? WireJSON.decode(Command.self, frame.payload) : nil {
        case .watch: answer(frame, .done)
        case .tasks: answer(frame, .tasks(state.withLock { $0.tasks }))
        default:
            if frame.kind == .opened {
                state.withLock { $0.opened.append(EpisodeReference(payload: frame.payload)?.episode) }
                return
            }
            state.withLock { $0.frames.append(frame) }
            handler(self, frame)
        }
    }

    private static func receive(_ client: Int32, _ take: (Frame) -> Void) {
        var decoder = FrameDecoder()
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(client, &buffer, buffer.count, 0)
            guard count > 0 else { return }
            buffer[..<count].withUnsafeBytes { decoder.append($0) }
            while let frame = try? decoder.next() { take(frame) }
        }
    }

    private static func send(_ bytes: [UInt8], to client: Int32) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}
