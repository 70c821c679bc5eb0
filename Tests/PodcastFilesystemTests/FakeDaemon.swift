import Foundation
import Glibc
import PodcastLibrary
import PodcastProtocol
import Synchronization
import TestSupport
import Transfers

/// A daemon that fetches nothing. It answers greetings and the commands `watch` and `tasks` itself, and passes opens,
/// reads and other commands to a handler that the test supplies.
///
/// It runs until `die` or the end of the process, even if the test does not keep a reference.
final class FakeDaemon: Sendable {
    /// The handler of a request. The default handler sends no answer.
    typealias Handler = @Sendable (FakeDaemon, Frame) -> Void

    private struct State {
        var frames: [Frame] = []
        var opened: [EpisodeID?] = []
        var clients: [Int32] = []
        var tasks: [TaskInfo] = []
        var isDead = false
    }

    private let paths: InstallationPaths
    private let listener: UnixListener
    private let state = Mutex(State())
    private let handler: Handler

    init(_ paths: InstallationPaths, tasks: [TaskInfo] = [], handler: @escaping Handler = { _, _ in }) throws {
        self.paths = paths
        self.handler = handler
        listener = try UnixListener(path: paths.socket)
        state.withLock { $0.tasks = tasks }
        listener.start { [self] client in
            guard accepted(client) else {
                close(client)
                return
            }
            Thread.detachNewThread { [self] in
                var decoder = FrameDecoder()
                UnixListener.readAll(client) {
                    decoder.append($0)
                    while let frame = try decoder.next() { take(frame, from: client) }
                }
                state.withLock { $0.clients.removeAll { $0 == client } }
                close(client)
            }
        }
    }

    /// Writes the PID file, as a daemon does once it listens. A mount that is not connected to a daemon watches for
    /// this file.
    func writePIDFile() throws {
        try Data("\(getpid())\n".utf8).write(to: URL(fileURLWithPath: paths.pidFile), options: .atomic)
    }

    /// Closes every connection at once, as SIGKILL does.
    func die() {
        state.withLock { state in
            state.isDead = true
            listener.stop()
            for client in state.clients { shutdown(client, Int32(SHUT_RDWR)) }
        }
    }

    // MARK: Received frames

    /// All received frames except greetings, the commands `watch` and `tasks`, and notifications of opens.
    var frames: [Frame] { state.withLock { $0.frames } }

    /// The episodes in the received notifications of opens, which need no answer.
    var opened: [EpisodeID?] { state.withLock { $0.opened } }

    /// Waits for `count` frames of a kind, and returns all of that kind.
    @discardableResult
    func wait(for kind: Frame.Kind, count: Int = 1) async throws -> [Frame] {
        try await waitUntil(description: "\(count) frames of the kind \(kind) arrive") {
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
            for client in state.clients { UnixListener.sendAll(frame.bytes, to: client) }
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

    /// Adds a connection. Returns false and adds nothing if the daemon has died.
    private func accepted(_ client: Int32) -> Bool {
        state.withLock { state in
            if !state.isDead { state.clients.append(client) }
            return !state.isDead
        }
    }

    private func take(_ frame: Frame, from client: Int32) {
        if frame.kind == .hello {
            let welcome = Welcome(
                protocolVersion: protocolVersion, schema: Library.schemaVersion, library: paths.library,
                cache: paths.cache, version: "fake", pid: getpid())
            UnixListener.sendAll(
                Frame(kind: .welcome, number: frame.number, payload: WireJSON.encode(welcome)).bytes,
                to: client)
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
}
