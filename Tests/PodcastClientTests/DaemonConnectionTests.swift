import Foundation
import Glibc
import PodcastProtocol
import Synchronization
import TestSupport
import Testing
import Transfers

struct DaemonConnectionTests {
    private let directory: TemporaryDirectory
    private let path: String

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.file("d.sock")
    }

    private func connect(
        onEvent: @escaping @Sendable (Event) -> Void = { _ in }, onClose: @escaping @Sendable () -> Void = {}
    ) throws -> DaemonConnection {
        let connection = try #require(try DaemonConnection.connect(to: path, onEvent: onEvent))
        connection.onClose(onClose)
        return connection
    }

    // MARK: Connecting

    @Test func connectingWithoutAListenerReturnsNil() throws {
        #expect(try DaemonConnection.connect(to: path) == nil)
        // The socket of a daemon that has died has no listener either.
        let server = try FrameServer(path: directory.file("old.sock"))
        try FileManager.default.moveItem(atPath: directory.file("old.sock"), toPath: path)
        server.stop()
        #expect(FileManager.default.fileExists(atPath: path))
        #expect(try DaemonConnection.connect(to: path) == nil)
    }

    @Test func aLongSocketPathIsAnErrorThatSaysWhatToDo() throws {
        let long = directory.file(String(repeating: "x", count: 108))
        let error = try #require(throws: ClientError.self) { try DaemonConnection.connect(to: long) }
        #expect(error.code == .unreachable)
        #expect(error.message.contains(long) && error.message.contains("XDG_RUNTIME_DIR"))
    }

    // MARK: Answers

    @Test func answersAreMatchedByTheirNumberInAnyOrder() async throws {
        let waiting = Mutex<[Frame]>([])
        let server = try FrameServer(path: path) { peer, frame in
            let ready = waiting.withLock { waiting -> [Frame] in
                waiting.append(frame)
                return waiting.count == 5 ? waiting.reversed() : []
            }
            for frame in ready { peer.send(Frame(kind: .grant, number: frame.number, payload: frame.payload)) }
        }
        let connection = try connect()
        let answers = Journal<(Int, [UInt8]?)>()
        for index in 0..<5 {
            connection.send(.read, [UInt8(index)]) { answers.append((index, try? $0.get().payload)) }
        }
        try await waitUntil { answers.entries.count == 5 }
        #expect(answers.entries.map(\.0) == [4, 3, 2, 1, 0])
        #expect(answers.entries.allSatisfy { $0.1 == [UInt8($0.0)] })
        #expect(Set(server.frames.map(\.number)).count == 5)
        #expect(!server.frames.contains { $0.number == 0 })
    }

    @Test func framesOfManyMegabytesPassBothWays() async throws {
        let server = try FrameServer(path: path) { peer, frame in
            peer.send(Frame(kind: .reply, number: frame.number, payload: frame.payload.reversed()))
        }
        let payload = TestContent(seed: 1, size: 9 << 20).bytes
        let frame = try await connect().exchange(.command, payload)
        #expect(frame.payload == payload.reversed())
        #expect(server.frames.map(\.payload.count) == [9 << 20])
    }

    @Test(.timeLimit(.minutes(1))) func aDaemonThatDoesNotReadBlocksNoSender() async throws {
        let server = try FrameServer(listeningAt: path)
        defer { server.stop() }
        let connection = try connect()
        // 5 MB, many times the socket's buffer. `start` is called later, so that nobody reads.
        let payload = [UInt8](repeating: 7, count: 1_000)
        for index in 0..<5_000 {
            connection.post(.opened, number: UInt32(index), payload)
        }
        server.start { _, _ in }
        try await waitUntil { server.frames.count == 5_000 }
        #expect(server.frames == (0..<5_000).map { Frame(kind: .opened, number: UInt32($0), payload: payload) })
        connection.close()
    }

    // MARK: Cancelling

    @Test func aCancelledRequestIsReportedAndItsAnswerIgnored() async throws {
        let server = try FrameServer(path: path)
        let connection = try connect()
        let answers = Journal<String>()
        let first = connection.send(.read, []) { _ in answers.append("first") }
        connection.send(.read, []) { _ in answers.append("second") }
        connection.cancel(first)
        let cancel = try #require(try await server.wait(for: .cancel).first)
        #expect(cancel.number == first)
        let reads = try await server.wait(for: .read, count: 2)
        for frame in reads { server.peers.first?.send(Frame(kind: .grant, number: frame.number)) }
        try await waitUntil { answers.entries == ["second"] }
        // Cancelling an answered, cancelled or unknown request has no effect.
        for frame in reads { connection.cancel(frame.number) }
        connection.cancel(0)
        connection.post(.close)
        try await server.wait(for: .close)
        #expect(server.frames.count { $0.kind == .cancel } == 1)
        #expect(answers.entries == ["second"])
    }

    // MARK: The end

    @Test func aDisconnectFailsEachRequestOnceThenCallsOnClose() async throws {
        let server = try FrameServer(path: path)
        let journal = Journal<String>()
        let connection = try connect(onClose: { journal.append("end") })
        for index in 0..<20 {
            connection.send(.read, []) { result in
                switch result {
                case .success: journal.append("answer \(index)")
                case .failure(let error): journal.append("\(error.code) \(index)")
                }
            }
        }
        let reads = try await server.wait(for: .read, count: 20)
        server.peers.first?.send(Frame(kind: .grant, number: reads[3].number))
        try await waitUntil { !journal.entries.isEmpty }
        #expect(!connection.isClosed)
        server.stop()
        try await waitUntil { journal.entries.contains("end") }
        #expect(connection.isClosed)
        #expect(journal.entries.first == "answer 3" && journal.entries.last == "end")
        let broken = (0..<20).filter { $0 != 3 }.map { "disconnected \($0)" }
        #expect(journal.entries.count == 21 && Set(journal.entries.dropFirst().dropLast()) == Set(broken))

        // A later request fails at once.
        let number = connection.send(.read, []) { result in
            if case .failure(let error) = result { journal.append("late \(error.code)") }
        }
        #expect(number == 0)
        #expect(journal.entries.last == "late disconnected")
        await #expect(throws: ClientError.self) { try await connection.perform(.tasks) }
        connection.post(.close)
        #expect(journal.entries.count { $0 == "end" } == 1)
    }

    @Test func everyRequestSentWhileTheConnectionEndsIsCompleted() async throws {
        let server = try FrameServer(path: path)
        let answers = Journal<Int>()
        let connection = try connect()
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<4 {
                group.addTask {
                    for index in 0..<500 {
                        if task == 0, index == 50 { server.stop() }
                        connection.send(.read, []) { _ in answers.append(task) }
                    }
                }
            }
        }
        try await waitUntil { answers.entries.count == 2_000 }
    }

    @Test(arguments: [
        [UInt8](repeating: 0xFF, count: 64),
        // An unknown kind.
        [0, 0, 0, 0, 200, 1, 0, 0, 0],
        // A payload of 2 GiB.
        [0, 0, 0, 0x80, 66, 1, 0, 0, 0],
        Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8),
    ])
    func malformedBytesCloseTheConnection(bytes: [UInt8]) async throws {
        let server = try FrameServer(path: path) { peer, _ in peer.send(bytes: bytes) }
        let journal = Journal<String>()
        let connection = try connect(onClose: { journal.append("end") })
        connection.send(.read, []) { result in
            if case .failure(let error) = result { journal.append("\(error.code)") }
        }
        try await waitUntil { journal.entries == ["disconnected", "end"] }
        // The client has sent nothing but the request.
        #expect(server.frames.count == 1)
    }

    // MARK: Events and commands

    @Test func eventsComeInTheirOrder() async throws {
        let events = Journal<Event>()
        let sent = (1...50).map { number -> Event in
            var report = TaskInfo(id: 3, state: .running)
            report.episode = 4
            report.path = "Show/\u{1B}[31m\n.mp3"
            report.rate = 1.5
            report.ranges = "0-9"
            return Event(sequence: Int64(number), time: 1_795_168_800, .progress(report))
        }
        let server = try FrameServer(path: path) { peer, frame in
            for event in sent { peer.send(event) }
            // An event that this client does not understand is ignored.
            peer.send(Frame(kind: .event, number: 0, payload: Array("{}".utf8)))
            peer.answer(frame, .done)
        }
        let connection = try connect(onEvent: { events.append($0) })
        #expect(try await connection.perform(.watch) == .done)
        #expect(events.entries == sent)
        #expect(WireJSON.decode(Command.self, server.frames[0].payload) == .watch)
    }

    @Test func aFailureIsThrownByCommands() async throws {
        let failure = Failure(kind: .usage, errorNumber: 5, message: "no such show")
        let server = try FrameServer(path: path) { peer, frame in
            peer.answer(frame, failure)
        }
        let connection = try connect()
        let thrown = await #expect(throws: Failure.self) { try await connection.perform(.unsubscribe(podcast: 3)) }
        #expect(thrown == failure)
        #expect(server.frames.count == 1)
    }

    @Test func anUnreadableAnswerMeansAnIncompatibleDaemon() async throws {
        let server = try FrameServer(path: path) { peer, frame in
            peer.send(Frame(kind: .reply, number: frame.number, payload: Array("{\"new\":{}}".utf8)))
        }
        let connection = try connect()
        let error = await #expect(throws: ClientError.self) { try await connection.perform(.tasks) }
        #expect(error?.code == .incompatible)
        #expect(server.frames.count == 1)
    }
}
