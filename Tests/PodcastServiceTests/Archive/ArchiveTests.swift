import Foundation
import PodcastLibrary
import PodcastProtocol
import TestSupport
import Testing
import Transfers

@testable import PodcastService

/// The archive of a daemon, on an ordinary folder.
@Suite(.stopsDaemons) struct ArchiveTests {
    private let home = ServiceHome()
    private let folder: String
    private static let size = 60_000

    init() throws {
        folder = try home.directory.makeDirectory("archive")
        home.publish(episodes: 3, size: Self.size)
    }

    // MARK: Steps

    private func start(
        archivesAll: Bool = false, _ change: (inout ServiceConfiguration) -> Void = { _ in }
    ) async throws -> (RunningService, ServiceClient) {
        try await home.connect {
            $0.archiveFolder = folder
            $0.archivesAll = archivesAll
            change(&$0)
        }
    }

    private func show(_ daemon: RunningService) throws -> ShowID { try #require(daemon.library.podcasts().first).id }

    private func isArchived(_ number: Int, _ daemon: RunningService) throws -> Bool {
        try daemon.episode(number).archive?.isServed ?? false
    }

    private func waitUntilArchived(_ number: Int, _ daemon: RunningService) async throws {
        try await waitUntil(description: "episode \(number) is archived") { try isArchived(number, daemon) }
    }

    /// Starts a daemon that has archived episode 1, and stops it again unless `body` needs it.
    private func startArchived() async throws -> (RunningService, ServiceClient, path: String) {
        let (daemon, client) = try await start(archivesAll: true)
        try await client.subscribe(home.web.url("/feed.xml"))
        try await daemon.download(1, with: client)
        try await waitUntilArchived(1, daemon)
        return (daemon, client, "\(folder)/\(try #require(daemon.episode(1).archive).path)")
    }

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder + "/Show").sorted()
    }

    private func media(_ path: String) -> Bool {
        FileManager.default.contents(atPath: path).map { home.content(1, size: Self.size).matches($0) } ?? false
    }

    // MARK: Moving

    @Test func aCompleteEpisodeOfANamedShowMovesToTheArchive() async throws {
        let (daemon, client) = try await start()
        try await client.subscribe(home.web.url("/feed.xml"))
        try await daemon.download(1, with: client)
        #expect(home.cacheFiles.count == 1)
        let before = try daemon.episode(1)
        _ = try await client.perform(.set(podcast: show(daemon), assignments: ["archive=true"], confirmed: nil))
        try await waitUntilArchived(1, daemon)
        let episode = try daemon.episode(1)
        #expect(episode.archive?.path == "Show/\(episode.name)")
        #expect(media("\(folder)/Show/\(episode.name)"))
        try await waitUntil(description: "the copy in the cache is removed") { home.cacheFiles.isEmpty }
        // The bytes are the same, so open files and the kernel's caches stay valid.
        #expect(episode.generation == before.generation)
        #expect(episode.sha256 == before.sha256)
        #expect(try daemon.library.cachedBytes() == 0)
        try await daemon.download(2, with: client)
        try await waitUntilArchived(2, daemon)
    }

    @Test func aShowCanBeExceptedFromAnArchiveOfAllShows() async throws {
        home.publish("Other", episodes: 1, size: Self.size, path: "/other.xml")
        let (daemon, client) = try await start(archivesAll: true)
        try await client.subscribe(home.web.url("/feed.xml"))
        _ = try await client.perform(.set(podcast: show(daemon), assignments: ["archive=false"], confirmed: nil))
        try await daemon.download(1, with: client)
        let excepted = try daemon.episode(1).id
        try await client.subscribe(home.web.url("/other.xml"))
        let other = try #require(try daemon.library.podcasts().first { $0.title == "Other" })
        let id = try #require(try daemon.library.episodes(of: other.id).first).id
        try await client.act(.download, id)
        try await waitUntil(description: "the other show's episode is archived") {
            try daemon.library.episode(id: id)?.archive?.isServed ?? false
        }
        #expect(try daemon.library.episode(id: excepted)?.archive == nil)
    }

    /// A program that has opened an episode before it was complete reads it by way of the cache file.
    @Test func anEpisodeIsMovedAfterItWasClosed() async throws {
        let (daemon, client) = try await start(archivesAll: true)
        try await client.subscribe(home.web.url("/feed.xml"))
        let id = try daemon.episode(1).id
        _ = try await client.open(id)
        _ = try await client.read(id, 0..<1_000)
        try await client.completion(of: id)
        // Candidates are examined oldest first.
        try await daemon.download(2, with: client)
        try await waitUntilArchived(2, daemon)
        #expect(try !isArchived(1, daemon))
        let grant = try await client.read(id, 50_000..<51_000)
        #expect(grant.present.covers(50_000..<51_000))
        client.close(id)
        try await waitUntilArchived(1, daemon)
    }

    @Test func unfinishedFilesOfAKilledDaemonAreRemoved() async throws {
        let (first, _, _) = try await startArchived()
        let owner = try #require(first.library.archiveFolder()?.owner)
        await first.stop()
        let own = try home.directory.write("archive/Show/.podfs-partial-\(owner)-1", text: "half")
        let foreign = try home.directory.write("archive/Show/.podfs-partial-other-1", text: "half")
        _ = try await start(archivesAll: true)
        try await waitUntil(description: "the unfinished file is removed") { access(own, F_OK) != 0 }
        #expect(access(foreign, F_OK) == 0)
    }

    /// Publishes an episode with notes, chapters and art. The server answers requests for its transcript with
    /// `transcript`.
    private func publishDetails(transcript: Behaviour = .normal) {
        var feed = FeedBuilder.show("Show", episodes: 1, length: Self.size) { _ in home.web.url("/feed-1.mp3") }
        feed.image = home.web.url("/cover.jpg")
        feed.items[0].description = "Notes of the pilot"
        feed.items[0].raw = """
            <itunes:image href="\(home.web.url("/art.jpg"))"/>\
            <podcast:transcript url="\(home.web.url("/words.vtt"))" type="text/vtt"/>\
            <psc:chapters xmlns:psc="http://podlove.org/simple-chapters" version="1.2">\
            <psc:chapter start="0" title="Start"/><psc:chapter start="60" title="End"/></psc:chapters>
            """
        home.web.serve("/feed.xml", Resource(text: feed.text, contentType: "application/rss+xml"))
        for name in ["/cover.jpg", "/art.jpg"] {
            home.web.serve(name, Resource(body: .bytes([0xFF, 0xD8, 0xFF, 0xE0] + Array(name.utf8))))
        }
        let words = "WEBVTT\n\n00:00.000 --> 00:01.000\nHello\n"
        home.web.serve("/words.vtt", Resource(text: words, contentType: "text/vtt")) { _ in transcript }
    }

    @Test func notesChaptersTranscriptAndArtAreBesideTheEpisode() async throws {
        publishDetails()
        let (_, _, path) = try await startArchived()
        let stem = FileName.stem(ofFile: path)
        func text(_ path: String) async throws -> String {
            try await waitUntil(description: "\(path) is written") { access(path, F_OK) == 0 }
            return String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
        }
        #expect(try await text(folder + "/Show/cover.jpg").hasSuffix("/cover.jpg"))
        #expect(try await text(stem + ".html").contains("Notes of the pilot"))
        #expect(try await text(stem + ".json").contains("\"title\": \"End\""))
        #expect(try await text(stem + ".vtt").contains("Hello"))
        #expect(try await text(stem + ".jpg").hasSuffix("/art.jpg"))
        #expect(try names().filter { $0.hasPrefix(".") }.isEmpty)
    }

    @Test func aFileThatCouldNotBeFetchedIsAddedAfterALaterRefresh() async throws {
        publishDetails(transcript: .status(503))
        let (daemon, _, path) = try await startArchived()
        let stem = FileName.stem(ofFile: path)
        // Art is the last of the files.
        try await waitUntil(description: "the other files are written") { access(stem + ".jpg", F_OK) == 0 }
        #expect(access(stem + ".vtt", F_OK) != 0)
        await daemon.stop()
        publishDetails()
        // A person has removed this file, which can be made again.
        unlink(stem + ".html")
        let (_, client) = try await start(archivesAll: true)
        try await client.perform(.refresh(podcasts: []))
        try await waitUntil(description: "the transcript is written") { access(stem + ".vtt", F_OK) == 0 }
        #expect(access(stem + ".html", F_OK) == 0)
    }

    // MARK: Staying

    @Test func theFileOutlastsKeepAndUnsubscribeAndIsFoundAgain() async throws {
        let (daemon, client, path) = try await startArchived()
        try await client.perform(.set(podcast: show(daemon), assignments: ["keep=1 episodes"], confirmed: true))
        #expect(try isArchived(1, daemon))
        try await client.perform(.unsubscribe(podcast: show(daemon)))
        #expect(media(path))
        try await client.subscribe(home.web.url("/feed.xml"))
        try await waitUntilArchived(1, daemon)
        #expect(home.web.requests(for: home.media(1)).count == 1)
    }

    // MARK: Changes by people

    @Test func aRenamedFileIsFoundByItsContent() async throws {
        let (first, _, path) = try await startArchived()
        await first.stop()
        #expect(rename(path, folder + "/Show/My name.mp3") == 0)
        let (second, _) = try await start(archivesAll: true)
        try await waitUntil(description: "the file is found") {
            try second.episode(1).archive?.path == "Show/My name.mp3"
        }
        #expect(try isArchived(1, second))
    }

    @Test func aRemovedFileIsReportedAndFoundWhenItReturns() async throws {
        let (first, _, path) = try await startArchived()
        await first.stop()
        #expect(rename(path, home.directory.file("away.mp3")) == 0)
        let (second, _) = try await start(archivesAll: true)
        try await waitUntil(description: "the file is missed") {
            try second.episode(1).archive?.defect == "the file is missing"
        }
        #expect(try EpisodeProgress(second.episode(1), nil).state == .failed)
        #expect(try second.library.archiveProblem()?.contains("missing or changed: 1") == true)
        await second.stop()
        #expect(rename(home.directory.file("away.mp3"), path) == 0)
        let (third, _) = try await start(archivesAll: true)
        try await waitUntilArchived(1, third)
        #expect(try third.library.archiveProblem() == nil)
    }

    @Test func aTouchedFileIsReadAndServed() async throws {
        let (daemon, client, path) = try await startArchived()
        utimes(path, nil)
        let episode = try daemon.episode(1)
        #expect(try await client.perform(.examineArchived(episode: episode.id)) == .done)
        #expect(try isArchived(1, daemon))
        #expect(try daemon.episode(1).generation == episode.generation)
    }

    @Test func verificationFindsAChangeThatKeepsSizeAndTime() async throws {
        let (daemon, client, path) = try await startArchived()
        let id = try daemon.episode(1).id
        #expect(try await client.perform(.verify(episodes: [id]), \.acted).problems == [])
        var status = stat()
        #expect(stat(path, &status) == 0)
        try Data(repeating: 7, count: Self.size).write(to: URL(fileURLWithPath: path))
        let times = [
            timeval(tv_sec: status.st_mtim.tv_sec, tv_usec: 0), timeval(tv_sec: status.st_mtim.tv_sec, tv_usec: 0),
        ]
        #expect(utimes(path, times) == 0)
        #expect(try await client.perform(.verify(episodes: [id]), \.acted).problems == ["the file was changed"])
    }

    // MARK: The folder

    @Test(.enabled(if: TemporaryFilesystem.isPossible)) func aFullDiskLosesNothing() async throws {
        let disk = try await TemporaryFilesystem(mebibytes: 1, at: folder)
        // Mark the folder before the disk is full.
        let (first, _) = try await start(archivesAll: true)
        try await waitUntil(description: "the folder is marked") { access(folder + "/.podfs-archive", F_OK) == 0 }
        await first.stop()
        let ballast = try disk.fill()
        let (second, client) = try await start(archivesAll: true)
        try await client.subscribe(home.web.url("/feed.xml"))
        try await second.download(1, with: client)
        #expect(try second.episode(1).complete)
        try await waitUntil(description: "the full disk is reported") {
            try second.library.archiveProblem()?.hasSuffix("Episode 1.mp3 is not archived: the archive's disk is full")
                ?? false
        }
        await second.stop()
        #expect(home.cacheFiles.count == 1)
        #expect(unlink(ballast) == 0)
        let (third, _) = try await start(archivesAll: true)
        try await waitUntilArchived(1, third)
        try await waitUntil(description: "the copy in the cache is removed") { home.cacheFiles.isEmpty }
        try await waitUntil(description: "nothing hinders") { try third.library.archiveProblem() == nil }
        await third.stop()
        withExtendedLifetime(disk) {}
    }
}
