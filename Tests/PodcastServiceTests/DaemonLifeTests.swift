import Foundation
import PodcastLibrary
import PodcastProtocol
import TestSupport
import Testing

@testable import PodcastService

@Suite(.stopsDaemons) struct DaemonLifeTests {
    private let home = ServiceHome()

    // MARK: Restarts

    @Test func aCacheFileThatTheLibraryDoesNotKnowIsAdopted() async throws {
        home.publish(episodes: 2, size: 300_000)
        let (first, client) = try await home.subscribe()
        let episode = try first.episode(1)
        // The second daemon will start with this copy of the library, made before the download.
        try first.library.backup(to: home.directory.file("backup"))
        try await client.download(episode.id)
        let complete = try first.episode(1)
        let files = home.cacheFiles
        await first.stop()
        try restoreBackup()

        home.web.clearLog()
        let second = try await home.start()
        let adopted = try second.episode(1)
        #expect(adopted.complete && adopted.generation == 1 && adopted.cachedBytes == 300_000)
        #expect(adopted.sha256 == complete.sha256 && adopted.confirmedSize == 300_000)
        #expect(try second.library.rendition(of: episode.id).map { [$0.file] } == files)
        let again = try await second.connect()
        let grant = try await again.read(episode.id, 0..<300_000)
        #expect([grant.file] == files)
        #expect(home.web.requests.isEmpty)
    }

    /// The daemon may be killed after a download is complete and before the library records this.
    @Test(arguments: [false, true]) func aTaskWhoseFileIsCompleteEnds(isSuspended: Bool) async throws {
        home.publish(episodes: 2, size: 300_000)
        let (first, client, id) = try await home.subscribeToEpisode()
        try await client.act(.suspend, id)
        let task = try #require(try first.library.downloads().first)
        try first.library.setSuspended(download: task.id, isSuspended)
        try first.library.backup(to: home.directory.file("backup"))
        try await client.download(id)
        await first.stop()
        try restoreBackup()

        let second = try await home.start()
        try await waitUntil(description: "the task ends") { try second.library.downloads().isEmpty }
        #expect(try second.episode(1).complete)
        let again = try await second.connect()
        #expect(try await again.tasks().isEmpty)
        let missed = try second.library.events(since: 0)
        #expect(missed.count == 1, "the completion is reported to the clients, too")
    }

    @Test func cacheFilesOfOtherGenerationsOrNoEpisodeAreRemoved() async throws {
        home.publish(episodes: 2, size: 300_000)
        let (first, client, id) = try await home.subscribeToEpisode()
        try await client.act(.download, id, try first.episode(2).id)
        try await client.completion(of: id)
        try await client.completion(of: try first.episode(2).id)
        let kept = try #require(try first.library.rendition(of: try first.episode(2).id)?.file)
        await first.stop()
        try first.library.dropRendition(episode: id, now: 1)
        try FileManager.default.createDirectory(
            atPath: home.paths.cache + "/media/ab", withIntermediateDirectories: true)
        try Data("x".utf8).write(to: URL(fileURLWithPath: home.cacheFile("ab12")))
        try Data("{}".utf8).write(to: URL(fileURLWithPath: home.cacheFile("ab12") + ".json"))

        let second = try await home.start()
        #expect(home.cacheFiles == [kept])
        #expect(!FileManager.default.fileExists(atPath: home.cacheFile("ab12") + ".json"))
        #expect(try second.episode(1).generation == 2 && second.episode(2).complete)
    }

    private func restoreBackup() throws {
        let manager = FileManager.default
        for suffix in ["", "-wal", "-shm"] { try? manager.removeItem(atPath: home.paths.library + suffix) }
        try manager.copyItem(atPath: home.directory.file("backup"), toPath: home.paths.library)
    }

    // MARK: Exit

    @Test func aRunningDownloadPreventsTheIdleExitAndASuspendedOneDoesNot() async throws {
        home.publish(episodes: 2, size: 600_000)
        let gate = Gate(heldAt: 100_000)
        home.web.serve("/feed-1.mp3", Resource(home.content(1, size: 600_000), etag: "\"m1\"")) { _ in .hold(gate) }
        let (daemon, client) = try await home.subscribe { $0.idleExit = .seconds(1) }
        try await client.act(.download, try daemon.episode(1).id)
        try await client.act(.suspend, try daemon.episode(2).id)
        try await gate.waitUntilReached()
        let idle = daemon.idle.entries.count
        client.connection.close()
        // A second daemon is idle from its start. When it says so, this one has had the time to do so wrongly.
        let other = try await ServiceHome().start { $0.idleExit = .seconds(1) }
        try await waitUntil { other.idle.entries.count == 1 }
        #expect(daemon.idle.entries.count == idle)
        gate.open()
        try await waitUntil { daemon.idle.entries.count > idle }
        #expect(try daemon.episode(1).complete)
        #expect(try daemon.library.downloads().map(\.suspended) == [true])
    }

    @Test func aDaemonThatIsAskedToLeaveAnswersFirst() async throws {
        let (daemon, client) = try await home.connect()
        #expect(try await client.perform(.leave) == .done)
        try await waitUntil { daemon.idle.entries.count == 1 }
    }

    // MARK: Greeting
}
