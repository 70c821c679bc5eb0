import Glibc
import PodcastLibrary
import PodcastProtocol
import TestSupport
import Testing

@testable import PodcastService
@testable import Transfers

@Suite(.stopsDaemons) struct ReadingTests {
    private let home = ServiceHome()

    /// Publishes the show. The response for the first episode stalls after 1,000 bytes, and ends when the daemon closes
    /// the connection.
    private func publishHeld() {
        home.publish(size: 3_000_000)
        let resource = Resource(home.content(1, size: 3_000_000), etag: "\"m1\"")
        home.web.serve("/feed-1.mp3", resource) { _ in .stall(after: 1_000) }
    }

    // MARK: Opening

    /// The episode's size is known, so the open needs no request, and the engine reports no event.
    @Test func anOpenWithoutAnEngineEventIsRecorded() async throws {
        home.publish()
        let (daemon, client, id) = try await home.subscribeToEpisode()
        try daemon.library.confirm(episode: id, size: 200_000, now: 1)
        #expect(try daemon.library.entry(id: id)?.lastOpened == nil)
        #expect(try await client.open(id).total == 200_000)
        try await waitUntil { try daemon.library.entry(id: id)?.lastOpened != nil }
        #expect(home.web.requests(for: "/feed-1.mp3").isEmpty)
    }

    @Test(arguments: [false, true])
    func aCancelAfterTheGrantOrADisconnectClosesTheOpen(disconnects: Bool) async throws {
        publishHeld()
        let (_, watcher, id) = try await home.subscribeToEpisode()
        let client = try RawClient(home.paths.socket)
        client.send(.open, number: 5, ReadRequest(episode: id).payload)
        #expect(try await client.next()?.kind == .grant)
        #expect(!home.web.requests(for: "/feed-1.mp3")[0].isFinished)
        if disconnects { client.end() } else { client.send(.cancel, number: 5) }
        try await waitUntil { home.web.requests(for: "/feed-1.mp3")[0].isFinished }
        #expect(try await watcher.tasks().isEmpty)
    }

    @Test func eachCloseReleasesOneOpenOfItsClient() async throws {
        publishHeld()
        let (daemon, client, id) = try await home.subscribeToEpisode()
        // A close by a client that has not opened the episode does not end another client's open.
        let other = try await daemon.connect()
        _ = try await client.open(id)
        _ = try await client.open(id)
        other.close(id)
        client.close(id)
        _ = try await client.tasks()
        _ = try await other.tasks()
        // The server would notice a closed connection only later, so the engine is asked.
        let engine = daemon.service.context.engine
        let handles: Int? = await withCheckedContinuation { continuation in
            engine.mailbox.post { continuation.resume(returning: $0.download(MediaID(id))?.machine.handles) }
        }
        #expect(handles == 1)
        client.close(id)
        try await waitUntil { home.web.requests(for: "/feed-1.mp3")[0].isFinished }
    }

    // MARK: Reading

    @Test func aReadReturnsItsBytesAndDownloadsTheWholeFile() async throws {
        home.publish(episodes: 3, size: 700_001)
        let (daemon, client) = try await home.subscribe()
        let watcher = try await daemon.connect()
        let episode = try daemon.episode(2)
        let content = home.content(2, size: 700_001)
        let grant = try await client.read(episode.id, 600_000..<800_000)
        let file = try #require(grant.file)
        #expect(grant.generation == 1 && grant.total == 700_001 && grant.present.covers(600_000..<700_001))
        #expect(content.matches(try home.bytes(of: file, in: 600_000..<700_001), at: 600_000))

        let event = try await client.completion(of: episode.id)
        #expect(event.task?.received == 700_001 && event.task?.expected == 700_001 && event.task?.state == .cached)
        #expect(event.path == "Show/\(episode.name)" && event.show == episode.podcast && event.task?.generation == 1)
        try await watcher.completion(of: episode.id)
        // The library records the completion before any client is notified.
        let complete = try daemon.episode(2)
        #expect(complete.complete && complete.cachedBytes == 700_001 && complete.confirmedSize == 700_001)
        #expect(complete.download == nil)
        #expect(try daemon.library.downloads().isEmpty)
        #expect(try await client.tasks().isEmpty)
        #expect(try home.bytes(of: file, in: 0..<700_001) == content.bytes)

        let again = try await client.read(episode.id, 0..<700_001)
        #expect(again.file == file && again.present.covers(0..<700_001))
        let sequences = client.events.entries.map(\.sequence)
        #expect(sequences == sequences.sorted() && Set(sequences).count == sequences.count)
    }

    @Test func aNewGenerationIsInTheLibraryBeforeItIsReported() async throws {
        home.publish(episodes: 8, size: 300_000)
        for number in 1...8 {
            let old = Resource(home.content(number, size: 300_000), etag: "\"old\"")
            let new = Resource(TestContent(seed: 99, size: 300_000), etag: "\"new\"")
            home.web.serve("/feed-\(number).mp3", old) { $0.index == 0 ? .close(after: 150_000) : .resource(new) }
        }
        let (daemon, client) = try await home.subscribe()
        for number in 1...8 {
            let request = ReadRequest(episode: try daemon.episode(number).id, generation: 1, range: 0..<300_000)
            #expect(await client.failure(of: .read, request.payload)?.errorNumber == ESTALE)
            #expect(try daemon.episode(number).generation == 2)
        }
    }

    @Test func malformedMessagesAndUnknownMediaAreAnsweredWithFailures() async throws {
        home.publish()
        let (daemon, client) = try await home.subscribe()
        for generation in [0, 2, 99] {
            let request = ReadRequest(episode: try daemon.episode().id, generation: generation, range: 0..<10)
            #expect(await client.failure(of: .read, request.payload)?.errorNumber == ESTALE)
        }
        let request = ReadRequest(episode: 999, generation: 1, range: 0..<10)
        #expect(await client.failure(of: .read, request.payload)?.errorNumber == ENODATA)
        let open = ReadRequest(episode: 999)
        #expect(await client.failure(of: .open, open.payload)?.errorNumber == ENODATA)
        let backwards = [UInt8](repeating: 0, count: 16) + [9, 0, 0, 0, 0, 0, 0, 0] + [UInt8](repeating: 0, count: 8)
        #expect(await client.failure(of: .read, [1, 2])?.message == "malformed request")
        #expect(await client.failure(of: .read, backwards)?.message == "malformed request")
        #expect(await client.failure(of: .open, [])?.message == "malformed request")
        #expect(await client.failure(of: .command, Array("{\"fly\":{}}".utf8))?.message.contains("command") == true)
        #expect(await client.failure(of: .grant, [])?.message.contains("message") == true)
        client.connection.post(.close, [1])
        client.connection.post(.cancel, number: 77)
        #expect(try await client.tasks().isEmpty)
    }

    @Test func aCancelledReadGetsNoAnswer() async throws {
        home.publish(size: 500_000)
        let gate = Gate(heldAt: 100_000)
        home.web.serve("/feed-1.mp3", Resource(home.content(1, size: 500_000), etag: "\"m1\"")) { _ in .hold(gate) }
        let (_, watcher, id) = try await home.subscribeToEpisode()
        let client = try RawClient(home.paths.socket)
        for number in 1...2 as ClosedRange<UInt32> {
            client.send(.read, number: number, ReadRequest(episode: id, generation: 1, range: 0..<200_000).payload)
        }
        try await gate.waitUntilReached()
        client.send(.cancel, number: 1)
        // Frames are handled in order: after this response the cancellation has been handled.
        client.send(.command, number: 3, WireJSON.encode(Command.tasks))
        #expect(try await client.next()?.number == 3)
        gate.open()
        #expect(try await client.next()?.number == 2)
        try await watcher.completion(of: id)
        client.send(.command, number: 4, WireJSON.encode(Command.tasks))
        #expect(try await client.next()?.number == 4)
        client.end()
    }
}
