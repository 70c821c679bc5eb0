import CLinux
import Glibc
import PodcastLibrary
import PodcastProtocol
import TestSupport
import Testing
import Transfers

@testable import PodcastService

@Suite(.stopsDaemons) struct TaskTests {
    private let home = ServiceHome()
    /// The gate at which the server's response stops in `stalled()`.
    private let gate = Gate(heldAt: 300_000)

    private func downloadHalf(_ client: ServiceClient, _ id: EpisodeID) async throws {
        try await client.act(.download, id)
        try await client.event("half is here") { $0.episode == id && $0.task?.received == 300_000 }
    }

    // MARK: Downloading

    @Test func aDownloadFetchesTheWholeFile() async throws {
        home.publish(episodes: 3, size: 300_000)
        let (daemon, client) = try await home.subscribe()
        let ids = try (1...3).map { try daemon.episode($0).id }
        #expect(try await client.perform(.act(.download, episodes: ids)) == .acted(count: 3, problems: []))
        for id in ids { try await client.completion(of: id) }
        try await client.event("all is done") { $0.kind == .idle }
        for number in 1...3 {
            let episode = try daemon.episode(number)
            #expect(episode.complete && episode.download == nil)
            let file = try #require(try daemon.library.rendition(of: episode.id)?.file)
            #expect(try home.bytes(of: file, in: 0..<300_000) == home.content(number, size: 300_000).bytes)
        }
        // Repeating the command has no effect.
        let requests = home.web.requests.count
        #expect(try await client.act(.download, ids[0]).count == 1)
        #expect(home.web.requests.count == requests)
        let (count, problems) = try await client.act(.suspend, ids[0])
        #expect(count == 0 && problems == ["2026-01-01 Episode 1.mp3: it is already cached"])
        #expect(try await client.tasks().isEmpty)
    }

    @Test func unknownEpisodesAreProblemsAndTheOthersAreHandled() async throws {
        home.publish(episodes: 1)
        let (daemon, client, id) = try await home.subscribeToEpisode()
        let (count, problems) = try await client.act(.pin, 998, id, 999)
        #expect(count == 1)
        #expect(problems.count == 2 && problems[0].contains("998") && problems[1].contains("999"))
        #expect(try daemon.episode().pinned)
    }

    // MARK: Suspending

    @Test func aSuspensionOutlivesTheDaemonAndEndsWithAResume() async throws {
        let (daemon, client, id) = try await home.stalled(gate)
        try await downloadHalf(client, id)
        #expect(try await client.act(.suspend, id).count == 1)
        try await client.state(.suspended, of: id)
        #expect(try await client.tasks().map(\.state) == [.suspended])
        #expect(try daemon.library.download(of: id)?.suspended == true)
        await daemon.stop()

        gate.open()
        home.web.clearLog()
        let (second, again) = try await home.connect()
        let task = try #require(try await again.tasks().first)
        #expect(task.state == .suspended && task.received == 300_000)
        #expect(home.web.requests.isEmpty)
        #expect(try await again.act(.resume, id).count == 1)
        try await again.completion(of: id)
        // No request after the restart begins at byte 0, so the received bytes were not fetched again.
        #expect(home.web.requests(for: "/feed-1.mp3").allSatisfy { ($0.range?.firstByte ?? 0) > 0 })
        #expect(try second.library.downloads().isEmpty)
    }

    // MARK: Cancelling

    @Test func noLateEventRestoresACancelledTask() async throws {
        home.publish(episodes: 2, size: 4_000_000)
        home.web.serve("/feed-1.mp3", Resource(home.content(1, size: 4_000_000), etag: "\"m1\"")) { _ in
            // On a slow machine too, the 25 responses do not complete the download.
            .throttle(bytesPerSecond: 1_000_000).stall(after: 100_000)
        }
        let (daemon, client, id) = try await home.subscribeToEpisode()
        for _ in 0..<25 {
            try await client.act(.download, id)
            try await client.act(.cancel, id)
            #expect(try await client.tasks().isEmpty)
            #expect(try daemon.library.downloads().isEmpty)
        }
        // Before this cancellation, the daemon handles all events that the engine has queued. So no late event can
        // follow it.
        try await client.act(.cancel, try daemon.episode(2).id)
        #expect(try daemon.library.downloads().isEmpty)
    }

    // MARK: Failing

    @Test func aPermanentFailureIsKeptUntilTheTaskIsResumed() async throws {
        home.publish()
        home.web.remove("/feed-1.mp3")
        let (daemon, client, id) = try await home.subscribeToEpisode()
        let request = ReadRequest(episode: id, generation: 1, range: 0..<10)
        let failure = await client.failure(of: .read, request.payload)
        #expect(failure?.errorNumber == ENODATA)
        try await client.state(.failed, of: id)
        let download = try #require(try daemon.library.download(of: id))
        #expect(download.error == failure?.message && download.errorNumber == Int(ENODATA))
        let event = try await client.event("it has failed") { $0.kind == .failed }
        #expect(
            event.episode == id && event.task?.error == failure?.message
                && event.path == "Show/2026-01-01 Episode 1.mp3")
        let tasks = try await client.tasks()
        #expect(tasks.map(\.state) == [.failed] && tasks[0].error == failure?.message)
        await daemon.stop()

        // The next daemon reports the failure, and does not retry by itself.
        home.web.clearLog()
        let (second, again) = try await home.connect()
        let failed = try await again.tasks()
        #expect(failed.map(\.state) == [.failed] && failed[0].error == failure?.message)
        #expect(home.web.requests.isEmpty)
        home.publish()
        try await again.act(.resume, id)
        try await again.completion(of: id)
        #expect(try second.library.downloads().isEmpty)
    }

    /// A task that ends in one of these ways has no `completed` event.
    @Test(arguments: ["cancelled", "removed with its show"])
    func anIdleEventFollowsTheEndOfTheLastTask(end: String) async throws {
        let (daemon, client, id) = try await home.stalled(gate)
        try await downloadHalf(client, id)
        #expect(!client.events.entries.contains { $0.kind == .idle })
        if end == "cancelled" {
            try await client.act(.cancel, id)
        } else {
            let show = try #require(try daemon.library.podcasts().first)
            _ = try await client.perform(.unsubscribe(podcast: show.id))
        }
        try await client.event("all is done") { $0.kind == .idle }
    }

    @Test func aFailedLastTaskCausesOneIdleEvent() async throws {
        home.publish()
        home.web.serve("/feed-1.mp3", behaviour: { _ in .status(403) })
        let (_, client, id) = try await home.subscribeToEpisode()
        try await client.act(.download, id)
        try await client.event("all is done") { $0.kind == .idle }
        try await client.act(.cancel, id)
        try await client.state(.remote, of: id)
        #expect(client.events.entries.count { $0.kind == .idle } == 1)
    }

    // MARK: Evicting

    @Test func aPinnedEpisodeIsNotEvicted() async throws {
        home.publish()
        let (_, client, id) = try await home.subscribeToEpisode()
        try await client.act(.pin, id)
        try await client.download(id)
        let (count, problems) = try await client.act(.evict, id)
        #expect(
            count == 0
                && problems == ["2026-01-01 Episode 1.mp3: it is pinned; first: podfs set EPISODE pinned=false"])
        #expect(home.cacheFiles.count == 1)
        try await client.act(.unpin, id)
        #expect(try await client.act(.evict, id).count == 1)
        #expect(home.cacheFiles.isEmpty)
    }

    @Test func anEpisodeThatIsBeingReadIsNotEvicted() async throws {
        home.publish()
        let (daemon, client, id) = try await home.subscribeToEpisode()
        let file = try #require(try await client.read(id, 0..<10).file)
        try await client.completion(of: id)
        // This lock is like the lease of a mount that has the file open.
        let reader = clinux_open(home.cacheFile(file), O_RDONLY | O_CLOEXEC, 0)
        #expect(clinux_ofd_lock(reader, Int16(F_RDLCK)) == 0)
        let (count, problems) = try await client.act(.evict, id)
        #expect(count == 0 && problems.count == 1 && problems[0].contains("open in a program"))
        #expect(try daemon.episode().complete && home.cacheFiles == [file])
        close(reader)
        // A child forked by another test holds the lease too, until it calls execve(2).
        try await waitUntil(description: "the episode can be evicted") {
            try await client.act(.evict, id).count == 1
        }
        #expect(home.cacheFiles.isEmpty)
    }

    /// More episodes than a command handles in one turn.
    @Test func aLongQueueIsCancelledByOneCommand() async throws {
        home.publish(episodes: 300)
        let gate = Gate(heldAt: 1_000)
        for number in 1...300 {
            home.web.serve("/feed-\(number).mp3", Resource(home.content(number), etag: "\"m\(number)\"")) { _ in
                .hold(gate)
            }
        }
        let (daemon, client) = try await home.subscribe()
        let show = try #require(try daemon.library.podcasts().first)
        let ids = try daemon.library.episodes(of: show.id).map(\.id)
        #expect(try await client.perform(.act(.download, episodes: ids)) == .acted(count: 300, problems: []))
        let list = try await client.perform(.status, \.status)
        #expect(list.tasks.count == TaskList.limit && list.omitted.values.reduce(0, +) == 200)
        #expect(try await client.perform(.act(.cancel, episodes: ids)) == .acted(count: 300, problems: []))
        #expect(try await client.tasks().isEmpty && daemon.library.downloads().isEmpty)
    }
}
