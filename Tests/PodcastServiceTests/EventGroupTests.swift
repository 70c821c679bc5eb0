import Foundation
import PodcastLibrary
import PodcastProtocol
import TestSupport
import Testing

@testable import PodcastService
@testable import Transfers

/// Events of many downloads, recorded in one transaction.
@Suite(.stopsDaemons) struct EventGroupTests {
    private let home = ServiceHome()

    private func start(episodes count: Int) async throws -> (RunningService, ServiceClient, [EpisodeID]) {
        home.publish(episodes: count, size: 20_000)
        let (daemon, client) = try await home.subscribe()
        return (daemon, client, try (1...count).map { try daemon.episode($0).id })
    }

    /// One report that cannot be written rolls back the transaction of all reports. The daemon then writes each report
    /// separately.
    @Test func aRejectedReportDoesNotPreventTheOthers() async throws {
        let (daemon, client, ids) = try await start(episodes: 12)
        let bad = ids[5]
        try home.forbid(
            "BEFORE UPDATE OF complete ON rendition WHEN NEW.complete = 1 AND NEW.episode = \(bad)", by: "ROLLBACK")
        #expect(try await client.perform(.act(.download, episodes: ids)) == .acted(count: 12, problems: []))
        for id in ids where id != bad { try await client.completion(of: id) }
        try await waitUntil(description: "the report is rejected") { await report([], to: daemon) > 0 }
        for id in ids where id != bad {
            let episode = try #require(try daemon.library.episode(id: id))
            #expect(episode.complete && episode.download == nil)
            let file = try #require(try daemon.library.rendition(of: id)?.file)
            #expect(FileManager.default.fileExists(atPath: home.cacheFile(file)))
        }
        #expect(try #require(try daemon.library.episode(id: bad)).complete == false)
        #expect(client.events.entries.filter { $0.kind == .completed }.compactMap(\.episode).contains(bad) == false)
    }

    /// Reports events to the daemon as its engine does.
    ///
    /// - Returns: the number of events that could not be written and will be retried.
    @ServiceActor private func report(_ events: [TransferEvent], to daemon: RunningService) -> Int {
        let driver = daemon.service.driver
        for event in events { driver.events.enqueue(.transfer(event)) }
        driver.drainEvents()
        return driver.unwritten.count
    }

    /// Reports an open and an event, for one transaction.
    @ServiceActor private func report(openOf episode: EpisodeID, and event: TransferEvent, to daemon: RunningService) {
        let driver = daemon.service.driver
        driver.events.enqueue(.opened(episode))
        driver.events.enqueue(.transfer(event))
        driver.drainEvents()
    }

    /// If the open were not recorded, the episode would be evicted too early.
    @Test func anOpenIsRecordedIfALaterEventIsRejected() async throws {
        let (daemon, _, ids) = try await start(episodes: 2)
        try home.forbid("BEFORE INSERT ON rendition")
        let rejected = TransferEvent.fileCreated(
            key: MediaID(ids[1]), generation: 1, file: "gone", Pin(total: 20_000, validator: nil), finalURL: nil)
        await report(openOf: ids[0], and: rejected, to: daemon)
        #expect(await report([], to: daemon) == 1)
        #expect(try daemon.library.episode(id: ids[0])?.lastOpened ?? 0 > 0)
    }

    @ServiceActor private func writeAgain(_ daemon: RunningService) { daemon.service.driver.writeAgain() }

    /// An event of an episode or a download that is no longer in the library can never be written. If the daemon
    /// retried it, the daemon could acknowledge no later event.
    @Test func anEventOfARemovedRowIsDropped() async throws {
        let (daemon, client, ids) = try await start(episodes: 1)
        let facts = FileFacts(size: 1, sha256: "")
        let gone: [TransferEvent] = [
            .completed(key: MediaID(ids[0]), generation: 9, facts), .completed(key: 999, generation: 1, facts),
        ]
        #expect(await report(gone, to: daemon) == 0)
        try await client.act(.suspend, ids[0])
        // The engine has reported the suspension: a later report would start the download again.
        _ = await daemon.service.context.engine.snapshots()
        #expect(await report([], to: daemon) == 0)
        let download = try #require(try daemon.library.download(of: ids[0]))
        try daemon.library.removeDownload(id: download.id)
        #expect(await report([.failed(key: MediaID(ids[0]), TransferError(.failed, "no answer"))], to: daemon) == 0)
        #expect(try await client.tasks().isEmpty)
    }

    /// Without a bound, one such event would prevent the acknowledgement of all later ones.
    @Test func anEventThatTheLibraryAlwaysRefusesIsSetAside() async throws {
        let (daemon, client, ids) = try await start(episodes: 2)
        try home.forbid("BEFORE UPDATE OF complete ON rendition WHEN NEW.complete = 1 AND NEW.episode = \(ids[0])")
        try await client.act(.download, ids[0])
        try await waitUntil(description: "the completion is refused") { await report([], to: daemon) > 0 }
        for _ in 1..<CoreDriver.mostRefusals { await writeAgain(daemon) }
        #expect(await report([], to: daemon) == 0)
        #expect(try await client.tasks().isEmpty)
        #expect(try daemon.library.download(of: ids[0]) != nil, "the next daemon continues the download")
        try await client.download(ids[1])
    }

    @Test func laterEventsOfAFileWaitForOneThatCannotBeWritten() async throws {
        let (daemon, _, ids) = try await start(episodes: 1)
        try home.forbid("BEFORE INSERT ON rendition")
        let key = MediaID(ids[0])
        let pin = Pin(total: 20_000, validator: nil)
        // The second event affects more than the library (`isRecord` is false), so the daemon does not write it in the
        // first one's transaction.
        let events: [TransferEvent] = [
            .fileCreated(key: key, generation: 1, file: "gone", pin, finalURL: nil),
            .abandoned(key: key, generation: 1, file: "gone"),
        ]
        #expect(await report(events, to: daemon) == 2)
        try home.allow()
        await writeAgain(daemon)
        #expect(await report([], to: daemon) == 0)
        // If the daemon had written the events in the opposite order, the library would still contain the removed file.
        #expect(try daemon.library.rendition(of: ids[0]) == nil && daemon.episode().generation == 2)
    }

    @Test func aCommandSeesTheEventsReportedBeforeIt() async throws {
        let (daemon, client, ids) = try await start(episodes: 8)
        for id in ids {
            // The engine creates the file; the daemon records it a moment later.
            let grant = try await client.read(id, 0..<100)
            #expect(grant.file != nil)
            client.close(id)
            #expect(try await client.perform(.act(.evict, episodes: [id])) == .acted(count: 1, problems: []))
            #expect(try daemon.library.rendition(of: id) == nil)
            #expect(try await client.tasks().isEmpty && daemon.library.downloads().isEmpty)
        }
        #expect(home.cacheFiles.isEmpty)
    }
}
