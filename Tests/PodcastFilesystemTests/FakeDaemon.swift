import Foundation
import PodcastLibrary
import PodcastProtocol
import TestSupport
import Transfers

/// A daemon that fetches nothing. It answers greetings and the commands `watch` and `tasks` itself, and passes opens,
/// reads and other commands to a handler that the test supplies.
///
/// It runs until `die` or the end of the process, even if the test does not keep a reference.
final class FakeDaemon: Sendable {
    /// The handler of a request. The default handler sends no answer.
    typealias Handler = @Sendable (FakeDaemon, Frame) -> Void

    private let paths: InstallationPaths
    private let server: FrameServer
    private let received = Journal<Frame>()
    private let opens = Journal<EpisodeID?>()

    init(_ paths: InstallationPaths, tasks: [TaskInfo] = [], handler: @escaping Handler = { _, _ in }) throws {
        self.paths = paths
        server = try FrameServer(listeningAt: paths.socket)
        let welcome = Welcome(
            protocolVersion: protocolVersion, schema: Library.schemaVersion, library: paths.library,
            cache: paths.cache, version: "fake", pid: getpid())
        server.start { [self] peer, frame in
            let command = frame.kind == .command ? WireJSON.decode(Command.self, frame.payload) : nil
            switch (frame.kind, command) {
            case (.hello, _): peer.answer(frame, welcome)
            case (.opened, _): opens.append(WireJSON.decode(EpisodeID.self, frame.payload))
            case (_, .watch?): peer.answer(frame, .done)
            case (_, .tasks?): peer.answer(frame, .tasks(tasks))
            default:
                received.append(frame)
                handler(self, frame)
            }
        }
    }

    /// Returns a handler that answers each open with `grant`, and nothing else.
    static func granting(_ grant: Grant) -> Handler {
        { daemon, frame in if frame.kind == .open { daemon.answer(frame, grant) } }
    }

    /// Closes every connection at once, as SIGKILL does.
    func die() { server.stop() }

    /// Writes the PID file, as a daemon does once it listens. A mount that is not connected to a daemon watches for
    /// this file.
    func writePIDFile() throws {
        try Data("\(getpid())\n".utf8).write(to: URL(fileURLWithPath: paths.pidFile), options: .atomic)
    }

    // MARK: Received frames

    /// All received frames except greetings, the commands `watch` and `tasks`, and notifications of opens.
    var frames: [Frame] { received.entries }

    /// The episodes in the received notifications of opens, which need no answer.
    var opened: [EpisodeID?] { opens.entries }

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

    var isConnected: Bool { server.peers.contains { !$0.hasEnded } }

    // MARK: Sending

    func send(_ frame: Frame) { for peer in server.peers { peer.send(frame) } }

    func send(_ event: Event) { for peer in server.peers { peer.send(event) } }

    func answer(_ frame: Frame, _ grant: Grant) { for peer in server.peers { peer.answer(frame, grant) } }

    func answer(_ frame: Frame, _ failure: Failure) { for peer in server.peers { peer.answer(frame, failure) } }

    func answer(_ frame: Frame, _ reply: Reply) { for peer in server.peers { peer.answer(frame, reply) } }
}
