import Foundation
import Platform
import PodcastProtocol
import Synchronization
import TestSupport
import Testing

@testable import PodcastService

struct SocketServerTests {
    private let directory: TemporaryDirectory
    private let path: String

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.file("d.sock")
    }

    private func serve(
        connected: @escaping @Sendable (ClientConnection) -> Void = { _ in },
        disconnected: @escaping @Sendable (ClientConnection) -> Void = { _ in },
        received: @escaping @Sendable (ClientConnection, Frame) -> Void = { client, frame in
            client.send(Frame(kind: .reply, number: frame.number, payload: frame.payload))
        }
    ) throws -> SocketServer {
        let server = try SocketServer(
            path: path,
            handler: SocketServer.Handler(connected: connected, received: received, disconnected: disconnected))
        server.start()
        return server
    }

    private func connect() throws -> DaemonConnection { try #require(try DaemonConnection.connect(to: path)) }

    // MARK: Listening

    @Test func theSocketIsPrivateAndIsRemovedAtTheEnd() throws {
        try directory.write("d.sock", text: "left over")
        let server = try serve()
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(attributes[.type] as? FileAttributeType == .typeSocket)
        server.stop()
        #expect(!FileManager.default.fileExists(atPath: path))
        #expect(try DaemonConnection.connect(to: path) == nil)
    }

    @Test func aPathThatIsTooLongOrMissingIsAnError() {
        let handler = SocketServer.Handler(connected: { _ in }, received: { _, _ in }, disconnected: { _ in })
        for path in [directory.file(String(repeating: "x", count: 120)), directory.file("missing/d.sock")] {
            let error = #expect(throws: SocketServer.Problem.self) { try SocketServer(path: path, handler: handler) }
            #expect(error?.description.contains(path) == true)
        }
    }

    // MARK: Clients

    @Test func aClientWithManyUnansweredCommandsIsNotReadFrom() async throws {
        let waiting = Mutex<[@Sendable () -> Void]>([])
        @Sendable func takeWaiting() -> [@Sendable () -> Void] {
            waiting.withLock { waiting in
                defer { waiting = [] }
                return waiting
            }
        }
        let server = try serve(received: { client, frame in
            client.countCommands(by: 1)
            waiting.withLock {
                $0.append {
                    client.send(Frame(kind: .reply, number: frame.number))
                    client.countCommands(by: -1)
                }
            }
        })
        let connection = try connect()
        let answered = Mutex(0)
        // Sending blocks when the socket is full, so another thread sends.
        startThread("flood") {
            // A frame of this size nearly fills the server's read buffer of 64 KiB.
            let payload = [UInt8](repeating: 1, count: 60_000)
            for _ in 0..<300 { connection.send(.command, payload) { _ in answered.withLock { $0 += 1 } } }
        }
        for round in 1...4 {
            try await waitUntil { waiting.withLock { $0.count } >= 64 }
            let answers = takeWaiting()
            #expect(answers.count <= 66, "round \(round)")
            for answer in answers { answer() }
        }
        try await waitUntil(description: "the remaining requests are answered") {
            for answer in takeWaiting() { answer() }
            return answered.withLock { $0 } == 300
        }
        connection.close()
        server.stop()
    }

    @Test func aClientThatDoesNotReadDelaysNobodyAndLosesNothing() async throws {
        let part = TestContent(seed: 5, size: 1 << 20).bytes
        let server = try serve(received: { client, frame in
            guard frame.payload.isEmpty else {
                client.send(Frame(kind: .reply, number: frame.number, payload: frame.payload))
                return
            }
            for number in 1...32 { client.send(Frame(kind: .grant, number: UInt32(number), payload: part)) }
        })
        let lazy = try RawClient(path)
        lazy.send(.command, number: 1)
        let quick = try connect()
        // The responses prove that the server's thread does not wait for the slow client.
        for index in 0..<100 { #expect(try await quick.exchange(.command, [UInt8(index)]).payload == [UInt8(index)]) }
        for number in 1...32 {
            let frame = try #require(try await lazy.next())
            #expect(frame.number == UInt32(number) && frame.payload == part)
        }
        lazy.send(.command, number: 99, [7])
        #expect(try await lazy.next() == Frame(kind: .reply, number: 99, payload: [7]))
        server.stop()
    }

    @Test func framesOfManyThreadsAllReachASlowReader() async throws {
        // The reader falls behind repeatedly. Each time, the server has to poll the socket for writing again.
        let clients = Journal<ClientConnection>()
        let server = try serve(connected: { clients.append($0) })
        let reader = try RawClient(path)
        try await waitUntil { !clients.entries.isEmpty }
        let client = try #require(clients.entries.first)
        let threads = 4
        let each = 2_000
        let payload = [UInt8](repeating: 1, count: 1_500)
        for thread in 0..<threads {
            Thread.detachNewThread {
                for index in 0..<each {
                    client.send(Frame(kind: .event, number: UInt32(thread * each + index), payload: payload))
                }
            }
        }
        var next = [UInt32](repeating: 0, count: threads)
        for _ in 0..<(threads * each) {
            let frame = try #require(try await reader.next())
            let thread = Int(frame.number) / each
            #expect(Int(next[thread]) == Int(frame.number) % each)
            next[thread] += 1
        }
        #expect(next == [UInt32](repeating: UInt32(each), count: threads))
        server.stop()
    }

    // MARK: Disconnecting

    @Test func aClientThatDisconnectsWithUnreadDataIsReportedOnce() async throws {
        let journal = Journal<String>()
        let clients = Journal<ClientConnection>()
        let server = try serve(
            connected: { clients.append($0) }, disconnected: { _ in journal.append("gone") }
        ) { client, frame in
            client.send(Frame(kind: .reply, number: frame.number, payload: [UInt8](repeating: 0, count: 8 << 20)))
        }
        let client = try RawClient(path)
        client.send(.command, number: 1)
        let other = try connect()
        _ = try await other.exchange(.command, [])
        client.end()
        try await waitUntil { journal.entries == ["gone"] }
        // Frames sent to the client after its disconnect have no effect.
        clients.entries.first?.send(Frame(kind: .grant, number: 1))
        #expect(try await other.exchange(.command, []).payload.count == 8 << 20)
        server.stop()
        #expect(journal.entries.count == 2)
    }

    @Test func aClientThatSendsNoFramesIsDisconnected() async throws {
        let journal = Journal<String>()
        let server = try serve(disconnected: { _ in journal.append("gone") })
        let stranger = try RawClient(path)
        stranger.send(bytes: Array("GET / HTTP/1.1\r\n\r\n".utf8))
        #expect(try await stranger.next() == nil)
        try await waitUntil { journal.entries == ["gone"] }
        #expect(try await connect().exchange(.command, [1]).payload == [1])
        server.stop()
    }
}

/// Behavior when the process has no descriptor left. The limit applies to the whole process, so the test runs in a
/// process of its own: otherwise it would take away the descriptors of other tests' daemons.
@Suite struct DescriptorShortageTests {
    @Test func aServerThatCannotAcceptWaitsAndRetries() async {
        await #expect(processExitsWith: .success) {
            let directory = try TemporaryDirectory()
            let path = directory.file("d.sock")
            let client = RawClient()
            let clients = Journal<String>()
            var taken: [Int32] = []
            while true {
                let descriptor = dup(0)
                guard descriptor >= 0 else { break }
                taken.append(descriptor)
            }
            // The server needs three for the listener, epoll and the eventfd.
            for _ in 1...3 { close(taken.removeLast()) }
            let server = try SocketServer(
                path: path,
                handler: SocketServer.Handler(
                    connected: { _ in clients.append("connected") },
                    received: { client, frame in client.send(Frame(kind: .reply, number: frame.number)) },
                    disconnected: { _ in }))
            server.start()
            let before = clock()
            let connected = try client.connect(to: path)
            var entry = pollfd(fd: client.descriptor, events: Int16(POLLIN), revents: 0)
            let answers = poll(&entry, 1, 1_000)
            // In microseconds of processor time.
            let used = clock() - before
            for descriptor in taken { close(descriptor) }
            #expect(connected && answers == 0)
            #expect(used < 250_000)
            try await waitUntil(description: "the client is accepted") { clients.entries.count == 1 }
            let later = try #require(try DaemonConnection.connect(to: path))
            #expect(try await later.exchange(.command, []).kind == .reply)
            server.stop()
        }
    }
}
