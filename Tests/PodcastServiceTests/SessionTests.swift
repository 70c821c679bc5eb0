import Foundation
import PodcastLibrary
import TestSupport
import Testing
import Transfers

@testable import PodcastProtocol
@testable import PodcastService

@Suite(.stopsDaemons) struct SessionTests {
    private let home = ServiceHome()
    private let gate = Gate(heldAt: 300_000)

    private func open(_ configuration: SessionConfiguration) async throws -> TransferSession {
        let launcher = DaemonLauncher(paths: home.paths, schema: Library.schemaVersion)
        return try await TransferSession.open(configuration, launcher: launcher)
    }

    /// Opens a session, and downloads half of the episode.
    private func begin(
        _ configuration: SessionConfiguration, _ id: EpisodeID, _ client: ServiceClient
    ) async throws -> TransferSession {
        let session = try await open(configuration)
        try await session.downloadTask(episode: id).resume()
        try await half(client, id)
        return session
    }

    private func half(_ client: ServiceClient, _ id: EpisodeID) async throws {
        try await client.event("half is here") { $0.episode == id && $0.task?.received == 300_000 }
    }

    @Test func aTaskStartsSuspendedAndItsEndIsReportedOnce() async throws {
        home.publish()
        let (_, client, id) = try await home.subscribeToEpisode()
        let session = try await open(.default)
        let task = try await session.downloadTask(episode: id)
        #expect(task.info.state == .suspended && task.info.received == 0)
        #expect(try await client.tasks().isEmpty)
        #expect(home.web.requests(for: "/feed-1.mp3").isEmpty)
        try await task.resume()
        #expect(try await task.finalEvent().kind == .completed)
        // This command causes a library event. Events arrive in order, so all earlier ones have arrived before it.
        try await client.perform(.setPlayed(episode: id, true))
        try await client.event("of the mark") { event in
            event.kind == .library && event.episode == id
                && client.events.entries.contains { $0.kind == .completed && $0.sequence < event.sequence }
        }
        let ends = client.events.entries.filter { $0.episode == id && $0.endsTask }
        #expect(ends.map(\.kind) == [.completed])
        let last = client.events.entries.last { $0.episode == id && $0.task.map { $0.id != 0 } ?? false }
        #expect(last?.kind == .completed && last?.task?.id == ends.first?.task?.id)
        // A task on a cached episode completes at once.
        let again = try await session.downloadTask(episode: id)
        #expect(again.info.state == .cached)
        try await again.resume()
        #expect(try await again.finalEvent().kind == .completed)
        #expect(home.web.requests(for: "/feed-1.mp3").count == 1)
        session.close()
    }

    @Test(arguments: [SessionConfiguration.default, .ephemeral])
    func aTaskEndsWithItsClientAndOnlyADefaultOneLeavesItsBytes(configuration: SessionConfiguration) async throws {
        let (daemon, client, id) = try await home.stalled(gate)
        let session = try await begin(configuration, id, client)
        session.close()
        try await client.state(.remote, of: id)
        #expect(try await client.tasks().isEmpty && daemon.library.downloads().isEmpty)
        try await waitUntil(description: "the bytes are kept or removed") {
            let isKept = try daemon.library.rendition(of: id) != nil
            return home.cacheFiles.isEmpty == !isKept && isKept == (configuration == .default)
        }
    }

    @Test func aPersonsDownloadOutlivesTheEphemeralSessionThatBeganIt() async throws {
        let (daemon, client, id) = try await home.stalled(gate)
        let session = try await begin(.ephemeral, id, client)
        try await client.act(.download, id)
        session.close()
        gate.open()
        try await client.completion(of: id)
        await daemon.stop()
        #expect(try daemon.episode(1).complete && home.cacheFiles.count == 1)
    }

    @Test(arguments: [SessionConfiguration.default, .ephemeral])
    func aTaskContinuesWithoutItsClientForAProgramThatReads(configuration: SessionConfiguration) async throws {
        let (daemon, client, id) = try await home.stalled(gate)
        let session = try await begin(configuration, id, client)
        let grant = try await client.open(id)
        async let rest = client.read(id, 500_000..<600_000, generation: grant.generation)
        session.close()
        try await waitUntil(description: "it has become a download of the reader") {
            try daemon.library.downloads().map(\.session) == [ClientSession.common]
        }
        gate.open()
        _ = try await rest
        try await client.completion(of: id)
    }

    @Test func aReopenedSessionGetsItsTasksAndTheEventsThatItHasNotAcknowledged() async throws {
        let (daemon, client, id) = try await home.stalled(gate)
        let session = try await begin(.background(identifier: "radio"), id, client)
        #expect(session.missedEvents.isEmpty)
        session.close()
        // The session has its task when it is opened again.
        for (identifier, episodes) in [("other", []), ("radio", [id])] {
            let again = try await daemon.connect()
            let reply = try await again.perform(.openSession(.background(identifier: identifier)), \.session)
            #expect(reply.tasks.map(\.episode) == episodes)
        }
        await daemon.stop()
        gate.open()

        // The second daemon resumes the task by itself, and the third one still reports the end of the task.
        let second = try await home.start()
        try await waitUntil(description: "its final event is stored") {
            try second.library.events(since: 0).map(\.task?.session) == ["radio"]
        }
        await second.stop()
        try await home.start()
        for _ in 0..<2 {
            let back = try await open(.background(identifier: "radio"))
            #expect(back.missedEvents.map(\.episode) == [id] && back.missedEvents.map(\.kind) == [.completed])
            back.close()
        }
        let other = try await open(.background(identifier: "other"))
        #expect(other.missedEvents.isEmpty)
        other.close()
        let back = try await open(.background(identifier: "radio"))
        try await back.acknowledge(through: try #require(back.missedEvents.last))
        back.close()
        #expect(try await open(.background(identifier: "radio")).missedEvents.isEmpty)
    }

    @Test func suspensionsNestForEachClientAndEndWithIt() async throws {
        let (daemon, client, id) = try await home.stalled(gate)
        let first = try await open(.background(identifier: "a"))
        let second = try await open(.default)
        let task = try await first.downloadTask(episode: id)
        try await task.resume()
        try await half(client, id)
        let same = try await second.downloadTask(episode: id)
        try await task.suspend()
        try await same.suspend()
        try await same.suspend()
        try await client.state(.suspended, of: id)
        gate.open()
        try await task.resume()
        try await same.resume()
        // One suspension of the second client is left. The user has not suspended the download.
        let held = try await client.tasks().map(\.state)
        #expect(held == [.suspended])
        #expect(try daemon.library.download(of: id)?.suspended == false)
        // A read is served nevertheless.
        _ = try await client.read(id, 550_000..<600_000)
        #expect(try await client.tasks().map(\.state) == [.suspended])
        second.close()
        try await client.completion(of: id)
        first.close()
    }

    @Test func cancellingATaskDiscardsTheReceivedBytes() async throws {
        let (_, client, id) = try await home.stalled(gate)
        let session = try await open(.background(identifier: "a"))
        let task = try await session.downloadTask(episode: id)
        try await task.resume()
        try await half(client, id)
        try await task.cancel()
        let end = try await task.finalEvent()
        #expect(end.kind == .state && end.task?.state == .remote)
        #expect(home.cacheFiles.isEmpty)
        #expect(try await client.tasks().isEmpty)
        session.close()
    }

    @Test func resumeDataContinuesACancelledTask() async throws {
        let (_, client, id) = try await home.stalled(gate)
        let session = try await open(.default)
        let task = try await session.downloadTask(episode: id)
        try await task.resume()
        try await half(client, id)
        let data = try #require(try await task.cancelProducingResumeData())
        #expect(try await task.finalEvent().task?.state == .remote)
        #expect(data.present == "0-299999" && data.total == 600_000)
        #expect(try await client.tasks().isEmpty)
        // Resume data can be stored anywhere, for any length of time.
        let kept = try JSONDecoder().decode(ResumeData.self, from: try JSONEncoder().encode(data))
        session.close()

        gate.open()
        home.web.clearLog()
        let later = try await open(.default)
        let again = try await later.downloadTask(resumeData: kept)
        #expect(again.info.state == .suspended && again.info.received == 300_000)
        try await again.resume()
        #expect(try await again.finalEvent().kind == .completed)
        #expect(home.web.requests(for: "/feed-1.mp3").map { $0.range?.firstByte } == [300_000])

        // Evicted bytes cannot be resumed.
        try await client.act(.evict, id)
        await #expect { try await later.downloadTask(resumeData: kept) } throws: {
            ($0 as? Failure)?.message.contains("create a new task") == true
        }
        later.close()
    }

    @Test func impossibleSessionCommandsFailWithAReason() async throws {
        home.publish()
        let (daemon, client) = try await home.connect()
        #expect(await client.failure(of: .createTask(episode: 1))?.message == "open a session first")
        #expect(await client.failure(of: .acknowledge(through: 1))?.message.contains("background session") == true)
        let empty = await client.failure(of: .openSession(.background(identifier: "")))
        #expect(empty?.message.contains("identifier") == true)
        // A rejected command opens no session.
        try await client.perform(.openSession(.background(identifier: "a")))
        let other = try await daemon.connect()
        try await other.perform(.openSession(.default))
        #expect(await other.failure(of: .openSession(.default))?.message.contains("already") == true)
        #expect(await other.failure(of: .createTask(episode: 999))?.message.contains("999") == true)
        #expect(await other.failure(of: .suspendTask(episode: 999))?.message.contains("999") == true)
        #expect(await other.failure(of: .resumeTask(episode: 999))?.message.contains("999") == true)
    }
}

// Commands on sessions that no podfs command sends.
extension TransferSession {
    fileprivate func downloadTask(resumeData: ResumeData) async throws -> DownloadTask {
        let info = try await connection.perform(.continueTask(resumeData), \.task)
        return DownloadTask(session: self, info: info, episode: resumeData.key.episode)
    }

    fileprivate func acknowledge(through event: Event) async throws {
        _ = try await connection.perform(.acknowledge(through: event.sequence))
    }
}

extension DownloadTask {
    fileprivate func suspend() async throws {
        _ = try await session.connection.perform(.suspendTask(episode: episode))
    }

    fileprivate func cancel() async throws {
        _ = try await session.connection.perform(.cancelTask(episode: episode, producingResumeData: false))
    }

    fileprivate func cancelProducingResumeData() async throws -> ResumeData? {
        let reply = try await session.connection.perform(.cancelTask(episode: episode, producingResumeData: true))
        if case .resumeData(let data) = reply { return data }
        return nil
    }

    fileprivate func finalEvent() async throws -> Event {
        while true {
            let event = try await finalEventOrSpaceWait()
            if event.endsTask { return event }
        }
    }
}
