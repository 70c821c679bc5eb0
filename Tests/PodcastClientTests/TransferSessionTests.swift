import Foundation
import PodcastProtocol
import Synchronization
import TestSupport
import Testing
import Transfers

struct TransferSessionTests {
    private let directory: TemporaryDirectory
    private let paths: InstallationPaths

    init() throws {
        directory = try TemporaryDirectory()
        paths = try #require(
            InstallationPaths(environment: ["HOME": directory.path, "XDG_RUNTIME_DIR": directory.file("r")]))
        try FileManager.default.createDirectory(atPath: paths.runtime, withIntermediateDirectories: true)
    }

    /// Returns an event that a download of episode 1 waits for space.
    private static func wait(_ sequence: Int64) -> Event {
        var report = TaskReport(id: 1, state: .queued)
        report.episode = 1
        report.waitsForSpace = true
        return Event(sequence: sequence, time: 0, .state(report))
    }

    /// Starts a server that sends `event` before the first list of tasks. Each list is empty.
    private func server(sending event: Event) throws -> FrameServer {
        let welcome = Welcome(
            protocolVersion: protocolVersion, schema: 1, library: paths.library, cache: paths.cache, version: "9.9",
            pid: 1)
        let isSent = Atomic(false)
        return try FrameServer(path: paths.socket) { peer, frame in
            if frame.kind == .hello {
                peer.answer(frame, welcome)
                return
            }
            let reply: Reply
            switch WireJSON.decode(Command.self, frame.payload) {
            case .openSession?: reply = .session(tasks: [], ended: [])
            case .createTask(let episode)?:
                reply = .task(
                    TaskInfo(
                        id: 1, kind: .download, path: "Show/1.mp3", episode: episode, state: .suspended, received: 0,
                        expected: nil, rate: nil, error: nil, started: 0))
            case .tasks?:
                if !isSent.exchange(true, ordering: .relaxed) {
                    peer.send(event)
                }
                reply = .tasks([])
            default: reply = .done
            }
            peer.answer(frame, reply)
        }
    }

    private func open() async throws -> TransferSession {
        let launcher = DaemonLauncher(paths: paths, schema: 1)
        return try await TransferSession.open(.background(identifier: "podfs"), launcher: launcher)
    }

    /// A download may begin to wait for space while the daemon's list of tasks is on its way.
    @Test func aWaitForSpaceReportedDuringTheQueryIsNotLost() async throws {
        let server = try server(sending: Self.wait(7))
        defer { server.stop() }
        let session = try await open()
        let task = try await session.downloadTask(episode: 1)
        #expect(try await session.waitingForSpace([1]) == [])
        // A closed session still returns stored events, and does not wait for others.
        session.close()
        #expect(try await task.finalEventOrSpaceWait().sequence == 7)
    }

    @Test func aWaitForSpaceThatIsOverIsForgotten() async throws {
        let server = try server(sending: Self.wait(7))
        defer { server.stop() }
        let session = try await open()
        let task = try await session.downloadTask(episode: 1)
        for _ in 1...2 { #expect(try await session.waitingForSpace([1]) == []) }
        session.close()
        await #expect(throws: ClientError.self) { try await task.finalEventOrSpaceWait() }
    }
}
