import Glibc
import PodcastProtocol
import SystemPackage
import TestSupport
import Testing
import Transfers

@testable import PodcastLibrary
@testable import PodcastService

@Suite(.stopsDaemons) struct FoundShowTests {
    let home = ServiceHome()

    typealias Show = CatalogueAnswers.Show

    /// Serves shows as iTunes' search result.
    func answer(_ shows: [Show], _ script: [Behaviour] = []) {
        home.web.serve("/itunes", CatalogueAnswers.iTunes(shows), script)
    }

    func start(
        index: Bool = false, _ change: (inout ServiceConfiguration) -> Void = { _ in }
    ) async throws -> (RunningService, ServiceClient) {
        let daemon = try await home.start { configuration in
            configuration.catalogues = [.iTunes(at: home.web.url("/itunes"))]
            if index {
                configuration.catalogues.append(
                    .podcastIndex(key: "KEY", secret: "SECRET", at: home.web.url("/index")))
            }
            configuration.ephemeralLinger = .zero
            change(&configuration)
        }
        return (daemon, try await daemon.connect())
    }

    func search(_ term: String, limit: Int = 50, _ client: ServiceClient) async throws -> (
        [FoundShow], [String]
    ) {
        try await client.perform(.search(term: term, limit: limit), \.found)
    }

    func folders(_ term: String, _ client: ServiceClient) async throws -> [FoundFolder] {
        guard case .foundFolders(let folders) = try await client.perform(.searchFolder(term: term)) else {
            Issue.record("no folders")
            return []
        }
        return folders
    }

    func searches(_ path: String = "/itunes") -> Int { home.web.requests(for: path).count }

    static let indexPath = "/index/api/1.0/search/byterm"

    // MARK: Found shows

    /// Serves a search result that contains only the show at `/feed.xml`, searches for it, and fetches its feed.
    private func findShow(_ client: ServiceClient) async throws -> ShowID {
        answer([Show("Tides", url: home.web.url("/feed.xml"))])
        let id = try #require(try await folders("tide", client).first).podcast
        #expect(try await client.perform(.fetchShow(podcast: id)) == .done)
        return id
    }

    /// Pretends that the last refresh was two hours ago, so that the feed is fetched again.
    private func pretendRefresh(of id: ShowID, _ daemon: RunningService) throws {
        let unchanged = (
            podcast: id, response: FeedResponse(finalURL: home.web.url("/feed.xml"), status: 304)
        )
        _ = try daemon.library.recordUnchanged([unchanged], now: Int64(time(nil)) - 7_200)
    }

    @Test func aFoundShowIsFetchedOnceAnHour() async throws {
        home.publish("My Tides", episodes: 3)
        let (daemon, client) = try await start()
        let id = try await findShow(client)
        #expect(try await client.perform(.fetchShow(podcast: id)) == .done)
        #expect(searches("/feed.xml") == 1)
        #expect(try daemon.library.episodes(of: id).count == 3)
        // The name is that of the search result.
        let podcast = try #require(try daemon.library.podcast(id: id))
        #expect(podcast.name == "Tides" && podcast.title == "My Tides" && podcast.ephemeral)
        #expect(try daemon.library.podcasts().isEmpty)
        #expect(await client.failure(of: .fetchShow(podcast: 999))?.errorNumber == ENOENT)
        // The known episodes are listed although the feed fails.
        try pretendRefresh(of: id, daemon)
        home.web.serve("/feed.xml") { _ in .status(500) }
        #expect(try await client.perform(.fetchShow(podcast: id)) == .done)
        #expect(try searches("/feed.xml") == 2 && daemon.library.episodes(of: id).count == 3)
    }

    @Test(arguments: [(404, ENODATA), (403, EACCES), (500, EIO)] as [(Int, Int32)])
    func aFailedFetchIsAnErrorWhileNoEpisodeIsKnown(status: Int, number: Int32) async throws {
        home.publish(episodes: 2)
        home.web.serve("/gone.xml") { _ in .status(status) }
        answer([Show("Gone", url: home.web.url("/gone.xml"))])
        let (daemon, client) = try await start()
        let id = try #require(try await folders("tide", client).first).podcast
        let failure = try #require(await client.failure(of: .fetchShow(podcast: id)))
        #expect(failure.errorNumber == number && failure.message.contains("\(status)"))
        #expect(try daemon.library.podcast(id: id)?.error?.contains("\(status)") == true)
        #expect(try await client.tasks().isEmpty)
    }

    /// The first page of a paged feed says nothing about episodes that have moved to the second one.
    @Test func episodesOnLaterPagesOfAFoundShowStayListed() async throws {
        func serve(_ numbers: Range<Int>) {
            var feed = FeedBuilder.show("Tides", episodes: 5, length: 20_000) { home.web.url(home.media($0)) }
            feed.items = feed.items.filter { numbers.contains(Int($0.guid ?? "") ?? 0) }
            feed.raw = "<atom:link rel=\"next\" href=\"\(home.web.url("/page-2.xml"))\"/>"
            home.web.serve("/feed.xml", Resource(text: feed.text, contentType: "application/rss+xml"))
        }
        serve(1..<4)
        let (daemon, client) = try await start()
        let id = try await findShow(client)
        try pretendRefresh(of: id, daemon)
        serve(3..<6)
        #expect(try await client.perform(.fetchShow(podcast: id)) == .done)
        let episodes = try daemon.library.episodes(of: id)
        #expect(episodes.count == 5 && episodes.allSatisfy(\.listed))
    }

    // MARK: Cleanup

    @Test func aDownloadIsCancelledWhenItsLastReaderDisconnects() async throws {
        home.publish(size: 600_000)
        let gate = Gate(heldAt: 300_000)
        home.web.serve("/feed-1.mp3", Resource(home.content(1, size: 600_000), etag: "\"m1\"")) { _ in .hold(gate) }
        let (daemon, client) = try await start()
        let reader = try await daemon.connect()
        let id = try await findShow(client)
        let episode = try #require(try daemon.library.episodes(of: id).first).id
        _ = try await reader.open(episode)
        _ = try await reader.read(episode, 0..<1_000)
        try await waitUntil(description: "the download is listed") {
            try await client.tasks().contains { $0.episode == episode }
        }
        _ = try await client.open(episode)
        client.close(episode)
        // The response to a command shows that the close has been handled. The reader still has the episode open.
        _ = try await client.tasks()
        #expect(home.cacheFiles.count == 1)
        // The daemon cannot distinguish this from a killed mount.
        reader.connection.close()
        try await waitUntil(description: "the file is removed") { home.cacheFiles.isEmpty }
        try await waitUntil(description: "no task is listed") { try await client.tasks().isEmpty }
        #expect(try daemon.library.downloads().isEmpty)
        gate.open()
    }

    @Test func filesLeftByAnEarlierDaemonAreRemovedAtTheStart() async throws {
        home.publish(episodes: 3)
        let (daemon, client) = try await start()
        let id = try await findShow(client)
        let episodes = try daemon.library.episodes(of: id).map(\.id)
        for episode in episodes {
            try await client.download(episode)
        }
        try daemon.library.setPinned(episode: episodes[0], true, now: 1)
        // The test holds a lease (a shared lock on the cache file) in place of a mount that outlives the daemon and has
        // an episode open.
        let file = try #require(try daemon.library.rendition(of: episodes[1])?.file)
        var lease: MediaReader? = try MediaReader(name: file, in: FilePath(home.paths.cache))
        await daemon.stop()
        let (second, mount) = try await start()
        #expect(home.cacheFiles.count == 2)
        #expect(try second.library.rendition(of: episodes[2]) == nil)
        #expect(try second.library.rendition(of: episodes[1]) != nil)
        // The second daemon never received the open of this episode. It removes the file at the close nevertheless.
        withExtendedLifetime(lease) {}
        lease = nil
        mount.close(episodes[1])
        try await waitUntil(description: "the file is removed") { home.cacheFiles.count == 1 }
        #expect(try second.library.rendition(of: episodes[0]) != nil)
    }

    @Test func resultsAreRemovedADayAfterTheirLastUse() async throws {
        home.publish(episodes: 2)
        answer([
            Show("Old", url: "https://old.example/1"), Show("Tides", url: home.web.url("/feed.xml")),
            Show("Pinned", url: home.web.url("/pinned.xml")),
        ])
        home.publish(path: "/pinned.xml")
        let (daemon, client) = try await start()
        let ids = try await folders("tide", client).map(\.podcast)
        for id in ids.dropFirst() { #expect(try await client.perform(.fetchShow(podcast: id)) == .done) }
        let open = try #require(try daemon.library.episodes(of: ids[1]).first).id
        _ = try await client.open(open)
        let pinned = try #require(try daemon.library.episodes(of: ids[2]).first).id
        try daemon.library.setPinned(episode: pinned, true, now: 1)
        let now = Int64(time(nil))
        await daemon.service.found.purge(at: now + 86_000)
        #expect(try ids.map { try daemon.library.podcast(id: $0) != nil } == [true, true, true])
        await daemon.service.found.purge(at: now + 86_500)
        #expect(try ids.map { try daemon.library.podcast(id: $0) != nil } == [false, true, true])
        client.close(open)
        _ = try await client.tasks()
        try daemon.library.setPinned(episode: pinned, false, now: 1)
        // The age of a result counts from its last use. For these two shows that is the purge at `now + 86_500`, which
        // found an episode open or pinned.
        await daemon.service.found.purge(at: now + 90_000)
        #expect(try ids.map { try daemon.library.podcast(id: $0) != nil } == [false, true, true])
        await daemon.service.found.purge(at: now + 2 * 86_500)
        #expect(try ids.map { try daemon.library.podcast(id: $0) != nil } == [false, false, false])
    }
}
