import Glibc
import PodcastLibrary
import PodcastProtocol
import TestSupport
import Testing
import Transfers

/// Cache files changed by another program while no daemon was running.
@Suite(.stopsDaemons) struct VerifyingTests {
    private let home = ServiceHome()

    private func content(_ number: Int) -> [UInt8] { home.content(number).bytes }

    /// Downloads two episodes, stops the daemon, and returns their cache files.
    private func download() async throws -> [(id: EpisodeID, file: String)] {
        home.publish(episodes: 2)
        let (daemon, client) = try await home.subscribe()
        var found: [(id: EpisodeID, file: String)] = []
        for number in 1...2 {
            let id = try daemon.episode(number).id
            try await client.download(id)
            let rendition = try #require(try daemon.library.rendition(of: id))
            #expect(rendition.fileState != nil)
            found.append((id, rendition.file))
        }
        await daemon.stop()
        home.web.clearLog()
        return found
    }

    /// Reads an episode as a mount would. If the open finds another generation than the library has afterwards, looks
    /// the episode up again. Returns no bytes if this happens three times.
    private func readAll(_ number: Int, _ daemon: RunningService, _ client: ServiceClient) async throws -> [UInt8] {
        for _ in 0..<3 {
            let episode = try daemon.episode(number)
            let opened = try await client.open(episode.id)
            defer { client.close(episode.id) }
            guard opened.generation == (try daemon.episode(number).generation) else { continue }
            let grant = try await client.read(episode.id, 0..<200_000, generation: opened.generation)
            #expect(grant.total == 200_000 && grant.present.covers(0..<200_000))
            return try home.bytes(of: try #require(grant.file), in: 0..<200_000)
        }
        return []
    }

    @Test(arguments: Tampering.allCases)
    func aChangedFileIsVerifiedAndFetchedAgainIfItIsBad(tampering: Tampering) async throws {
        let files = try await download()
        try await tampering.apply(to: home.cacheFile(files[0].file))
        let (daemon, client) = try await home.connect()
        #expect(try await readAll(1, daemon, client) == content(1))
        #expect(home.web.requests(for: "/feed-1.mp3").isEmpty == tampering.isHarmless)
        if !tampering.isHarmless { try await client.completion(of: files[0].id) }
        let rendition = try #require(try daemon.library.rendition(of: files[0].id))
        #expect(rendition.complete && rendition.fileState != nil)
        #expect((rendition.file == files[0].file) == tampering.isHarmless)
        // The other file is unchanged.
        #expect(try daemon.library.rendition(of: files[1].id)?.file == files[1].file)
        #expect(try await readAll(2, daemon, client) == content(2))
        #expect(home.web.requests(for: "/feed-2.mp3").isEmpty)
    }

    @Test func certainlyBadFilesAreRemovedAtTheStart() async throws {
        let files = try await download()
        try await Tampering.truncated.apply(to: home.cacheFile(files[0].file))
        try await Tampering.pipe.apply(to: home.cacheFile(files[1].file))
        let daemon = try await home.start()
        #expect(try !daemon.episode(1).complete && !daemon.episode(2).complete)
        #expect(try daemon.episode(1).generation == 2)
        #expect(home.cacheFiles.isEmpty)
    }

    @Test func aCommandVerifiesEpisodes() async throws {
        let files = try await download()
        // This simulates bit rot: the bytes change, but not the size and the modification time.
        let path = home.cacheFile(files[1].file)
        var status = stat()
        #expect(stat(path, &status) == 0)
        try await Tampering.overwritten.apply(to: path)
        #expect(utimensat(AT_FDCWD, path, [status.st_atim, status.st_mtim], 0) == 0)
        try await Tampering.copied.apply(to: home.cacheFile(files[0].file))
        let (daemon, client) = try await home.connect()
        #expect(try daemon.episode(2).complete)
        let reply = try await client.perform(.verify(episodes: files.map(\.id) + [999]))
        #expect(reply == .acted(count: 2, problems: ["its content is not what was downloaded"]))
        #expect(try daemon.episode(1).complete && !daemon.episode(2).complete)
        #expect(home.cacheFiles == [files[0].file])
        #expect(try await readAll(2, daemon, client) == content(2))
        #expect(home.web.requests.map(\.path) == ["/feed-2.mp3"])
    }
}
