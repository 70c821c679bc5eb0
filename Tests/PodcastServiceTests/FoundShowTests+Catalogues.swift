import Glibc
import PodcastLibrary
import PodcastProtocol
import TestSupport
import Testing
import Transfers

@testable import PodcastService

// The catalogues' responses and the resulting entries.
extension FoundShowTests {
    @Test func aSearchReportsAllFactsAndSubscribedShows() async throws {
        home.publish("Mine", episodes: 2)
        answer([
            Show("One", url: "https://one.example/feed", author: "Ann", episodes: 7),
            // Another spelling of the subscribed address.
            Show("Two", url: home.web.url("/feed.xml") + "/#top"),
        ])
        let (daemon, client) = try await start()
        try await client.subscribe(home.web.url("/feed.xml"))
        let (shows, problems) = try await search("some thing", client)
        // The other fields are those of the catalogue's answer.
        #expect(shows.map(\.title) == ["One", "Two"] && shows.map(\.author) == ["Ann", nil])
        #expect(shows.map(\.episodes) == [7, nil] && shows.map(\.subscribed) == [nil, "Mine"])
        #expect(shows.map(\.url) == ["https://one.example/feed", home.web.url("/feed.xml") + "/#top"])
        #expect(shows.allSatisfy { $0.space == .loopback })
        #expect(problems.isEmpty)
        #expect(home.web.requests(for: "/itunes").first?.request.query == "media=podcast&term=some%20thing&limit=50")
        for limit in [0, 201] { #expect(await client.failure(of: .search(term: "x", limit: limit))?.kind == .usage) }
        // Nothing was stored.
        #expect(try daemon.library.podcast(url: "https://one.example/feed") == nil)
        #expect(try await folders("some thing", client).map(\.name) == ["One", "Mine"])
    }

    @Test func resultsAreCachedForAllSpellingsOfATerm() async throws {
        answer([Show("One", url: "https://one.example/feed"), Show("Two", url: "https://two.example/feed")])
        let (_, client) = try await start()
        #expect(try await search("High Tide", client).0.count == 2)
        #expect(try await search("  high   TIDE ", limit: 1, client).0.map(\.title) == ["One"])
        #expect(try await folders("high tide", client).count == 2)
        #expect(searches() == 1)
        #expect(try await search("low tide", client).0.count == 2)
        #expect(searches() == 2)
        // The limit is larger than that of the earlier search, so the catalogue is queried again.
        #expect(try await search("low tide", limit: 120, client).0.count == 2)
        #expect(home.web.requests(for: "/itunes").last?.request.query?.hasSuffix("limit=200") == true)
        // An empty result is cached too.
        answer([])
        #expect(try await search("xyzzy", client).0.isEmpty)
        #expect(try await search("xyzzy", client).0.isEmpty)
        #expect(searches() == 4)
    }

    @Test func simultaneousSearchesForATermShareARequest() async throws {
        let gate = Gate(heldAt: 3)
        answer([Show("One", url: "https://one.example/feed")], [.hold(gate)])
        let (daemon, client) = try await start()
        let other = try await daemon.connect()
        async let first = search("tide", client)
        try await gate.waitUntilReached()
        async let second = search("Tide", other)
        try await waitUntil(description: "both searches are listed") {
            try await client.tasks().filter { $0.kind == .search }.map(\.path).sorted() == ["Tide", "tide"]
        }
        #expect(try await client.tasks().allSatisfy { $0.state == .running && $0.episode == nil })
        let begun = try await client.event("the search is reported") { $0.task?.kind == .search }
        #expect(begun.task?.state == .running)
        gate.open()
        #expect(try await first.0 == second.0)
        #expect(searches() == 1)
        #expect(try await client.tasks().isEmpty)
    }

    @Test func credentialsDoNotFollowARedirect() async throws {
        answer([Show("One", url: "https://one.example/feed")])
        home.web.serve(Self.indexPath) { [home] _ in .redirect(to: home.web.url("/thief", host: "localhost")) }
        let (_, client) = try await start(index: true)
        let (shows, problems) = try await search("tide", client)
        #expect(shows.count == 1 && problems == ["Podcast Index: the server answered 302"])
        #expect(home.web.requests(for: "/thief").isEmpty)
        // Requests without credentials follow redirects.
        home.web.serve("/itunes") { _ in .redirect(to: "/moved") }
        home.web.serve("/moved", CatalogueAnswers.iTunes([Show("Two", url: "https://two.example/feed")]))
        #expect(try await search("ebb", client).0.map(\.title) == ["Two"])
    }

    @Test func whenNoCatalogueAnswersTheErrorNamesThemAll() async throws {
        home.web.serve("/itunes") { _ in .status(500) }
        home.web.serve(Self.indexPath) { _ in .status(401, body: "{\"description\":\"Invalid API key\"}") }
        let (_, client) = try await start(index: true)
        let failure = try #require(await client.failure(of: .search(term: "tide", limit: 10)))
        #expect(failure.kind == .failed && failure.errorNumber == EIO)
        #expect(
            failure.message.hasPrefix("the search failed: iTunes: the server answered 500; try again later"))
        #expect(failure.message.contains("; Podcast Index: the server answered 401: it refuses the API key"))
        #expect(!failure.message.contains("SECRET"))
        #expect(try await client.tasks().isEmpty)
    }

    @Test func unreachableAndSilentCataloguesHaveDifferentErrors() async throws {
        let gate = Gate(heldAt: 0)
        answer([], [.holdHead(gate)])
        let (_, client) = try await start { $0.searchTimeout = .seconds(1) }
        let late = try #require(await client.failure(of: .searchFolder(term: "tide")))
        #expect(late.errorNumber == ETIMEDOUT && late.message.hasSuffix("iTunes: no answer within 1 s"))
        home.web.stop()
        let away = try #require(await client.failure(of: .searchFolder(term: "tide")))
        #expect(away.errorNumber == EHOSTUNREACH && away.message.contains("iTunes: "))
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
    }
}
