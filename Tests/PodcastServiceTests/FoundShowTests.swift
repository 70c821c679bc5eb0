import CLinux
import Foundation
import Glibc
import PodcastClient
import PodcastLibrary
import PodcastProtocol
import PodcastService
import TestSupport
import Testing
import TransferCore

struct FoundShowTests {
    private let home: ServiceHome

    init() throws { home = try ServiceHome() }

    private typealias Show = CatalogueAnswers.Show

    /// Serves what iTunes is to find.
    private func answer(_ shows: [Show], _ script: [Behaviour] = []) {
        home.web.serve("/itunes", CatalogueAnswers.iTunes(shows), script)
    }

    private func start(
        index: Bool = false, _ change: (inout ServiceConfiguration) -> Void = { _ in }
    ) async throws -> (RunningService, ServiceClient) {
        let daemon = try await home.start { configuration in
            configuration.catalogues = [ITunesCatalogue(url: home.web.url("/itunes"))]
            if index {
                configuration.catalogues.append(
                    PodcastIndexCatalogue(key: "KEY", secret: "SECRET", url: home.web.url("/index")))
            }
            configuration.ephemeralLinger = 0
            change(&configuration)
        }
        return (daemon, try await daemon.connect())
    }

    private func search(_ term: String, limit: Int = 50, _ client: ServiceClient) async throws -> (
        [FoundShow], [String]
    ) {
        guard case .found(let shows, let problems) = try await client.perform(.search(term: term, limit: limit)) else {
            Issue.record("nothing found")
            return ([], [])
        }
        return (shows, problems)
    }

    private func folders(_ term: String, _ client: ServiceClient) async throws -> [FoundFolder] {
        guard case .foundFolders(let folders) = try await client.perform(.searchFolder(term: term)) else {
            Issue.record("no folders")
            return []
        }
        return folders
    }

    private func searches(_ path: String = "/itunes") -> Int { home.web.requests(for: path).count }

    private static let indexPath = "/index/api/1.0/search/byterm"

    // MARK: Catalogues

    @Test func aSearchTellsAllFactsAndWhatIsSubscribed() async throws {
        home.publish("Mine", episodes: 2)
        answer([
            Show("One", url: "https://one.example/feed", author: "Ann", episodes: 7),
            // Another spelling of the subscribed address.
            Show("Two", url: home.web.url("/feed.xml") + "/#top"),
        ])
        let (daemon, client) = try await start()
        try await client.subscribe(home.web.url("/feed.xml"))
        let (shows, problems) = try await search("some thing", client)
        #expect(
            shows == [
                FoundShow(
                    title: "One", author: "Ann", url: "https://one.example/feed",
                    artwork: "https://art.example/600.jpg", episodes: 7, link: "https://shows.example/1"),
                FoundShow(
                    title: "Two", url: home.web.url("/feed.xml") + "/#top", artwork: "https://art.example/600.jpg",
                    link: "https://shows.example/1", subscribed: "Mine"),
            ])
        #expect(problems.isEmpty)
        #expect(home.web.requests(for: "/itunes").first?.request.query == "media=podcast&term=some%20thing&limit=50")
        // Nothing was stored.
        #expect(try daemon.library.podcast(url: "https://one.example/feed") == nil)
        #expect(try await folders("some thing", client).map(\.name) == ["One", "Mine"])
        await daemon.stop()
    }

    @Test func resultsAreKeptForTheTermInAnySpelling() async throws {
        answer([Show("One", url: "https://one.example/feed"), Show("Two", url: "https://two.example/feed")])
        let (daemon, client) = try await start()
        #expect(try await search("High Tide", client).0.count == 2)
        #expect(try await search("  high   TIDE ", limit: 1, client).0.map(\.title) == ["One"])
        #expect(try await folders("high tide", client).count == 2)
        #expect(searches() == 1)
        #expect(try await search("low tide", client).0.count == 2)
        #expect(searches() == 2)
        // More than what was asked for before.
        #expect(try await search("low tide", limit: 120, client).0.count == 2)
        #expect(home.web.requests(for: "/itunes").last?.request.query?.hasSuffix("limit=200") == true)
        // Nothing found is a result, too.
        answer([])
        #expect(try await search("xyzzy", client).0.isEmpty)
        #expect(try await search("xyzzy", client).0.isEmpty)
        #expect(searches() == 4)
        await daemon.stop()
    }

    @Test func whoeverSearchesForTheSameAtTheSameTimeSharesARequest() async throws {
        let gate = Gate(heldAt: 3)
        answer([Show("One", url: "https://one.example/feed")], [.hold(gate)])
        let (daemon, client) = try await start()
        let other = try await daemon.connect()
        async let first = search("tide", client)
        try await gate.waitUntilReached()
        async let second = search("Tide", other)
        try await waitUntil(description: "both searches show") {
            try await client.tasks().filter { $0.kind == .search }.map(\.path).sorted() == ["Tide", "tide"]
        }
        #expect(try await client.tasks().allSatisfy { $0.state == "running" && $0.episode == nil })
        let begun = try await client.event("the search is told of") { $0.taskKind == "search" }
        #expect(begun.state == "running")
        gate.open()
        #expect(try await first.0 == second.0)
        #expect(searches() == 1)
        #expect(try await client.tasks().isEmpty)
        await daemon.stop()
    }

    @Test func severalCataloguesAreMergedAndOneThatFailsIsAWarning() async throws {
        answer([Show("One", url: "https://one.example/feed")])
        home.web.serve(
            Self.indexPath,
            CatalogueAnswers.podcastIndex([
                Show("One again", url: "http://one.example/feed/", author: "Ann"),
                Show("Two", url: "https://two.example/feed"),
            ]), [.status(503)])
        let (daemon, client) = try await start(index: true)
        let (some, problems) = try await search("tide", client)
        #expect(some.map(\.title) == ["One"])
        #expect(problems == ["Podcast Index: the server answered 503; try again later"])
        // The one that has answered is not asked again, the other is.
        let (all, none) = try await search("tide", client)
        #expect(all.map(\.title) == ["One", "Two"] && all[0].author == "Ann" && none.isEmpty)
        #expect(searches() == 1 && searches(Self.indexPath) == 2)
        let asked = try #require(home.web.requests(for: Self.indexPath).first)
        #expect(asked.headers["X-Auth-Key"] == "KEY" && asked.headers["User-Agent"] == "podfs-test")
        #expect(asked.headers["Authorization"]?.count == 40)
        #expect(home.web.requests(for: "/itunes").first?.headers["Authorization"] == nil)
        await daemon.stop()
    }

    @Test func credentialsDoNotFollowARedirect() async throws {
        answer([Show("One", url: "https://one.example/feed")])
        home.web.serve(Self.indexPath) { [home] _ in .redirect(to: home.web.url("/thief", host: "localhost")) }
        let (daemon, client) = try await start(index: true)
        let (shows, problems) = try await search("tide", client)
        #expect(shows.count == 1 && problems == ["Podcast Index: the server answered 302"])
        #expect(home.web.requests(for: "/thief").isEmpty)
        // What carries no credentials does.
        home.web.serve("/itunes") { _ in .redirect(to: "/moved") }
        home.web.serve("/moved", CatalogueAnswers.iTunes([Show("Two", url: "https://two.example/feed")]))
        #expect(try await search("ebb", client).0.map(\.title) == ["Two"])
        await daemon.stop()
    }

    @Test func whenNoCatalogueAnswersTheErrorNamesThemAll() async throws {
        home.web.serve("/itunes") { _ in .status(500) }
        home.web.serve(Self.indexPath) { _ in .status(401, body: "{\"description\":\"Invalid API key\"}") }
        let (daemon, client) = try await start(index: true)
        let failure = try #require(await client.failure(of: .search(term: "tide", limit: 10)))
        #expect(failure.kind == .failed && failure.errorNumber == EIO)
        #expect(
            failure.message.hasPrefix("nothing could be searched: iTunes: the server answered 500; try again later"))
        #expect(failure.message.contains("; Podcast Index: the server answered 401: it refuses the key"))
        #expect(!failure.message.contains("SECRET"))
        #expect(try await client.tasks().isEmpty)
        await daemon.stop()
    }

    @Test func aCatalogueThatIsAwayOrSilentIsToldApart() async throws {
        let gate = Gate(heldAt: 0)
        answer([], [.holdHead(gate)])
        let (daemon, client) = try await start { $0.searchTimeout = 1_000 }
        let late = try #require(await client.failure(of: .searchFolder(term: "tide")))
        #expect(late.errorNumber == ETIMEDOUT && late.message.hasSuffix("iTunes: no answer within 1 s"))
        home.web.stop()
        let away = try #require(await client.failure(of: .searchFolder(term: "tide")))
        #expect(away.errorNumber == EHOSTUNREACH && away.message.contains("iTunes: "))
        await daemon.stop()
    }

    @Test(arguments: ["", "   ", String(repeating: "x", count: 201), "\u{0}"])
    func whatIsNoTermIsRefused(term: String) async throws {
        let (daemon, client) = try await start()
        for command in [Command.search(term: term, limit: 10), .searchFolder(term: term)] {
            let failure = try #require(await client.failure(of: command))
            #expect(failure.kind == .usage && failure.errorNumber == EINVAL)
        }
        #expect(await client.failure(of: .search(term: "x", limit: 0))?.kind == .usage)
        #expect(await client.failure(of: .search(term: "x", limit: 201))?.kind == .usage)
        #expect(searches() == 0)
        await daemon.stop()
    }

    @Test(arguments: [
        "<html>log in</html>", "", "{\"results\":", "{\"results\":[{\"feedUrl\":\"file:///etc/passwd\"}]",
    ])
    func anAnswerThatIsNoneIsAnError(text: String) async throws {
        home.web.serve("/itunes", Resource(text: text, contentType: "text/html"))
        let (daemon, client) = try await start()
        let failure = try #require(await client.failure(of: .searchFolder(term: "tide")))
        #expect(failure.errorNumber == EIO && failure.message.contains("iTunes: "))
        await daemon.stop()
    }

    @Test func hostileResultsBecomeHarmlessFolders() async throws {
        answer([
            Show("../../etc", url: "https://a.example/1"), Show("", url: "https://b.example/1"),
            Show(".\u{1B}[2J\nx", url: "https://c.example/1"), Show("Secret", url: "https://u:p@d.example/1"),
            Show("File", url: "file:///etc/passwd"),
            Show(String(repeating: "long ", count: 10_000), url: "https://e.example"),
            Show("x", url: "https://f.example/1"), Show("X", url: "https://g.example/1"),
        ])
        let (daemon, client) = try await start()
        let found = try await folders("tide", client)
        #expect(found.count == 6)
        for folder in found {
            #expect(FileName.objection(to: folder.name) == nil, "\(folder.name)")
            #expect(try daemon.library.isEphemeral(podcast: folder.podcast))
        }
        #expect(found.map(\.name).suffix(2) == ["x", "X (2)"])
        await daemon.stop()
    }

    // MARK: Found shows

    /// Finds the show at `/feed.xml`, and fetches its feed.
    private func findShow(_ client: ServiceClient) async throws -> Int64 {
        answer([Show("Tides", url: home.web.url("/feed.xml"))])
        let id = try #require(try await folders("tide", client).first).podcast
        #expect(try await client.perform(.fetchShow(podcast: id)) == .done)
        return id
    }

    @Test func aFoundShowIsFetchedOnceAnHour() async throws {
        home.publish("My Tides", episodes: 3)
        let (daemon, client) = try await start()
        let id = try await findShow(client)
        #expect(try await client.perform(.fetchShow(podcast: id)) == .done)
        #expect(searches("/feed.xml") == 1)
        #expect(try daemon.library.episodes(of: id).count == 3)
        // The name is the one that it was found by.
        let podcast = try #require(try daemon.library.podcast(id: id))
        #expect(podcast.name == "Tides" && podcast.title == "My Tides" && podcast.ephemeral)
        #expect(try daemon.library.podcasts().isEmpty)
        #expect(await client.failure(of: .fetchShow(podcast: 999))?.errorNumber == ENOENT)
        await daemon.stop()
    }

    @Test(arguments: [(404, ENODATA), (403, EACCES), (500, EIO)] as [(Int, Int32)])
    func aFeedThatCannotBeHadIsAnErrorAsLongAsNothingIsKnown(status: Int, number: Int32) async throws {
        home.publish(episodes: 2)
        home.web.serve("/gone.xml") { _ in .status(status) }
        answer([Show("Gone", url: home.web.url("/gone.xml"))])
        let (daemon, client) = try await start()
        let id = try #require(try await folders("tide", client).first).podcast
        let failure = try #require(await client.failure(of: .fetchShow(podcast: id)))
        #expect(failure.errorNumber == number && failure.message.contains("\(status)"))
        #expect(try daemon.library.podcast(id: id)?.error?.contains("\(status)") == true)
        #expect(try await client.tasks().isEmpty)
        await daemon.stop()
    }

    @Test func whatIsKnownOfAShowIsListedWhenItsFeedIsDown() async throws {
        home.publish(episodes: 2)
        let (daemon, client) = try await start()
        let id = try await findShow(client)
        // As if two hours had passed.
        try daemon.library.notModified(
            podcast: id, response: FeedResponse(finalURL: home.web.url("/feed.xml"), status: 304),
            now: Int64(time(nil)) - 7_200)
        home.web.serve("/feed.xml") { _ in .status(500) }
        #expect(try await client.perform(.fetchShow(podcast: id)) == .done)
        #expect(searches("/feed.xml") == 2)
        #expect(try daemon.library.episodes(of: id).count == 2)
        await daemon.stop()
    }

    @Test func aPageInPlaceOfAFeedIsAnError() async throws {
        home.web.serve("/feed.xml", Resource(text: "<html><body>Hi</body></html>", contentType: "text/html"))
        answer([Show("Page", url: home.web.url("/feed.xml"))])
        let (daemon, client) = try await start()
        let id = try #require(try await folders("tide", client).first).podcast
        let failure = try #require(await client.failure(of: .fetchShow(podcast: id)))
        #expect(failure.errorNumber == EIO && failure.message.contains("web page"))
        await daemon.stop()
    }

    @Test func subscribingKeepsTheIdsAndWhatIsCached() async throws {
        home.publish("My Tides", episodes: 2)
        let (daemon, client) = try await start { $0.ephemeralLinger = 3_600 }
        let id = try await findShow(client)
        let episode = try #require(try daemon.library.episodes(of: id).first).id
        _ = try await client.open(episode)
        _ = try await client.read(episode, 0..<1_000)
        try await client.completion(of: episode)
        #expect(
            try await client.perform(.subscribe(url: home.web.url("/feed.xml"), name: nil))
                == .subscribed(name: "My Tides", episodes: 2, skipped: 0))
        client.close(episode)
        let row = try #require(try daemon.library.episode(id: episode))
        #expect(row.podcast == id && row.complete && home.cacheFiles.count == 1)
        #expect(try daemon.library.podcasts().map(\.id) == [id])
        await daemon.stop()
        // A later daemon takes nothing away either.
        let (second, _) = try await start()
        #expect(try second.library.episode(id: episode)?.complete == true && home.cacheFiles.count == 1)
        await second.stop()
    }

    // MARK: Leaving nothing behind

    @Test func whatIsCachedGoesWithTheLastReader() async throws {
        home.publish(episodes: 2)
        let (daemon, client) = try await start()
        let other = try await daemon.connect()
        let id = try await findShow(client)
        let episode = try #require(try daemon.library.episodes(of: id).first).id
        for reader in [client, other] { _ = try await reader.open(episode) }
        _ = try await client.read(episode, 0..<1_000)
        try await client.completion(of: episode)
        #expect(home.cacheFiles.count == 1)
        client.close(episode)
        // The other one has it open still: the answer to a command comes after the close before it.
        _ = try await client.tasks()
        _ = try await other.read(episode, 100_000..<200_000)
        #expect(home.cacheFiles.count == 1)
        other.close(episode)
        try await waitUntil(description: "the file goes") { home.cacheFiles.isEmpty }
        try await waitUntil(description: "the episode is as before") {
            try daemon.library.rendition(of: episode) == nil && daemon.library.episode(id: episode)?.generation == 2
        }
        // It can be read again.
        _ = try await client.open(episode)
        let grant = try await client.read(episode, 0..<1_000, generation: 2)
        #expect(grant.generation == 2 && grant.present.covers(0..<1_000))
        await daemon.stop()
    }

    @Test func aDownloadUnderWayEndsWithTheLastReader() async throws {
        home.publish(size: 600_000)
        let gate = Gate(heldAt: 300_000)
        home.web.serve("/feed-1.mp3", Resource(home.content(1, size: 600_000), etag: "\"m1\"")) { _ in .hold(gate) }
        let (daemon, client) = try await start()
        let reader = try await daemon.connect()
        let id = try await findShow(client)
        let episode = try #require(try daemon.library.episodes(of: id).first).id
        _ = try await reader.open(episode)
        _ = try await reader.read(episode, 0..<1_000)
        try await waitUntil(description: "the download shows") {
            try await client.tasks().contains { $0.episode == episode }
        }
        // The mount is killed.
        reader.connection.end()
        try await waitUntil(description: "the file goes") { home.cacheFiles.isEmpty }
        try await waitUntil(description: "the task goes") { try await client.tasks().isEmpty }
        #expect(try daemon.library.downloads().isEmpty)
        gate.open()
        await daemon.stop()
    }

    @Test func whatAnEarlierDaemonHasLeftGoesAtTheStart() async throws {
        home.publish(episodes: 3)
        let (daemon, client) = try await start()
        let id = try await findShow(client)
        let episodes = try daemon.library.episodes(of: id).map(\.id)
        for episode in episodes {
            try await client.act(.download, episode)
            try await client.completion(of: episode)
        }
        try daemon.library.setPinned(episode: episodes[0], true, now: 1)
        // A mount that outlives the daemon has one open.
        let file = try #require(try daemon.library.rendition(of: episodes[1])?.file)
        let lease = try MediaLease(home.cacheFile(file))
        await daemon.stop()
        let (second, mount) = try await start()
        #expect(home.cacheFiles.count == 2)
        #expect(try second.library.rendition(of: episodes[2]) == nil)
        #expect(try second.library.rendition(of: episodes[1]) != nil)
        // Its close, of which this daemon knows no open, lets the file go.
        lease.end()
        mount.close(episodes[1])
        try await waitUntil(description: "the file goes") { home.cacheFiles.count == 1 }
        #expect(try second.library.rendition(of: episodes[0]) != nil)
        await second.stop()
    }

    @Test func resultsAreForgottenADayAfterTheyWereFoundUnlessSomebodyUsesThem() async throws {
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
        await daemon.service.purgeEphemeral(at: now + 86_000)
        #expect(try ids.map { try daemon.library.podcast(id: $0) != nil } == [true, true, true])
        await daemon.service.purgeEphemeral(at: now + 86_500)
        #expect(try ids.map { try daemon.library.podcast(id: $0) != nil } == [false, true, true])
        client.close(open)
        _ = try await client.tasks()
        try daemon.library.setPinned(episode: pinned, false, now: 1)
        // They count as found when they were used last.
        await daemon.service.purgeEphemeral(at: now + 90_000)
        #expect(try ids.map { try daemon.library.podcast(id: $0) != nil } == [false, true, true])
        await daemon.service.purgeEphemeral(at: now + 2 * 86_500)
        #expect(try ids.map { try daemon.library.podcast(id: $0) != nil } == [false, false, false])
        await daemon.stop()
    }
}

/// The shared lock on a cache file that a mount holds while it has the file open.
private final class MediaLease {
    private let descriptor: Int32

    init(_ path: String) throws {
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        try #require(descriptor >= 0)
        try #require(clinux_ofd_lock(descriptor, Int16(F_RDLCK)) == 0)
    }

    func end() { close(descriptor) }
}
