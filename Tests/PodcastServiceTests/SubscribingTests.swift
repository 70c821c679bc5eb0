import Foundation
import PodcastProtocol
import TestSupport
import Testing
import Transfers

@testable import PodcastLibrary
@testable import PodcastService

@Suite(.stopsDaemons) struct SubscribingTests {
    private let home = ServiceHome()

    @Test func subscribingStoresTheShowAndReportsItsName() async throws {
        var feed = FeedBuilder.show("My Show", episodes: 3) { self.home.web.url("/\($0).mp3") }
        feed.items.append(FeedBuilder.Item(title: "News, without media"))
        home.web.serve("/feed.xml", Resource(text: feed.text))
        let (daemon, client) = try await home.connect()
        let reply = try await client.perform(.subscribe(url: home.web.url("/feed.xml"), name: nil))
        #expect(reply == .subscribed(name: "My Show", episodes: 3, skipped: 1))
        let podcast = try #require(try daemon.library.podcast(named: "My Show"))
        #expect(podcast.url == home.web.url("/feed.xml") && podcast.episodes == 3 && podcast.state == "active")
        #expect(try daemon.episode(2).name == "2026-01-02 Episode 2.mp3")
        let event = try await client.event("the library has changed") { $0.kind == .library }
        #expect(event.show == podcast.id && event.path == "My Show")
        #expect(try await client.tasks().isEmpty)
        // Subscribing requests the feed only.
        #expect(home.web.requests.map(\.path) == ["/feed.xml"])
        #expect(home.web.requests.map(\.method) == ["GET"])
    }

    @Test func aSecondSubscriptionFailsAndSaysWhatToDo() async throws {
        home.publish("Show")
        let feed = home.web.url("/feed.xml")
        home.web.serve("/moved", behaviour: { _ in .redirect(to: feed) })
        let (daemon, client) = try await home.subscribe()
        let failure = await client.failure(of: .subscribe(url: home.web.url("/feed.xml"), name: "Again"))
        #expect(failure?.message == "already subscribed as 'Show'; to fetch it again: podfs refresh Show")
        // Another URL that redirects to the same feed is rejected too.
        let moved = await client.failure(of: .subscribe(url: home.web.url("/moved"), name: nil))
        #expect(moved?.message == failure?.message)
        #expect(try daemon.library.podcasts().map(\.name) == ["Show"])
    }

    @Test func ofSimultaneousSubscriptionsOneSucceeds() async throws {
        home.publish("Show", episodes: 20)
        let (daemon, client) = try await home.connect()
        let url = home.web.url("/feed.xml")
        let successes = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<4 {
                group.addTask { (try? await client.perform(.subscribe(url: url, name: nil))) != nil }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(successes.count { $0 } == 1)
        #expect(try daemon.library.podcasts().map(\.episodes) == [20])
    }

    @Test func invalidAndTakenNamesAreRefused() async throws {
        home.publish("Show")
        home.publish("Other", path: "/other.xml")
        let (_, client) = try await home.connect()
        for name in ["a/b", ".hidden", "", "..", "Latest"] {
            let failure = await client.failure(of: .subscribe(url: home.web.url("/feed.xml"), name: name))
            #expect(failure?.kind == .usage, "\(name)")
        }
        try await client.subscribe(home.web.url("/feed.xml"), name: "Mine")
        let taken = await client.failure(of: .subscribe(url: home.web.url("/other.xml"), name: "mine"))
        #expect(taken?.message.contains("'mine' is taken") == true)
        // If the feed's title is the name of another show, the new show gets a number.
        home.publish("Mine", path: "/third.xml")
        #expect(
            try await client.perform(.subscribe(url: home.web.url("/third.xml"), name: nil))
                == .subscribed(name: "Mine (2)", episodes: 1, skipped: 0))
    }

    // MARK: Documents that are not feeds

    private static let page = "<!doctype html><html><head><title>Hi</title></head><body><p>Hello</p></body></html>"
    private static let blog = FeedBuilder(title: "Blog", items: [.init(title: "a"), .init(title: "b")]).text

    /// The answers of the server, and the texts that the failure contains.
    @Test(
        arguments: [
            (.resource(Resource(text: page, contentType: "text/html")), []),
            (.resource(Resource(text: "", contentType: "application/rss+xml")), []),
            (.resource(Resource(text: #"{"error":"no"}"#, contentType: "application/json")), []),
            (.resource(Resource(text: FeedBuilder(title: "Empty").text)), ["no episodes"]),
            (.resource(Resource(text: blog)), ["2 items", "enclosure"]),
            (.status(404), ["404", "no feed at this address"]), (.status(410), ["410"]),
            (.status(401), ["401", "name and password"]), (.status(503), ["503", "later"]),
            (.reset(after: 0), []),
            // To an unconditional request.
            (.status(304), ["304"]),
        ] as [(Behaviour, [String])])
    func aSubscriptionToNoFeedFailsAndStoresNothing(behaviour: Behaviour, says: [String]) async throws {
        home.web.serve("/x") { _ in behaviour }
        let (daemon, client) = try await home.connect()
        let address = home.web.url("/x").replacing("http://", with: "http://user:secret@")
        let failure = try #require(await client.failure(of: .subscribe(url: address, name: nil)))
        #expect(failure.message.contains(home.web.url("/x")))
        for text in says { #expect(failure.message.contains(text), "\(failure.message)") }
        #expect(!failure.message.contains("secret") && !failure.message.contains("\n"))
        #expect(try daemon.library.podcasts().isEmpty)
        #expect(try daemon.library.podcast(url: address) == nil)
        #expect(try daemon.library.identifiers() == ["podcast": 0, "episode": 0, "download": 0])
        #expect(try await client.tasks().isEmpty)
        #expect(!client.events.entries.contains { $0.kind == .library || $0.path?.contains("secret") == true })
    }

    @Test(arguments: [
        "", "feed.xml", "ftp://example.com/feed", "file:///etc/passwd", "http://", "http:///feed", "http://user@/feed",
        "javascript:alert(1)", "http://exa mple.com/", "https://example.com/a\nb", "gopher://x/", "://x/",
    ])
    func addressesThatCannotBeFetchedAreRefused(_ url: String) async throws {
        let (daemon, client) = try await home.connect()
        for command in [Command.subscribe(url: url, name: nil), .inspect(url: url)] {
            let failure = await client.failure(of: command)
            #expect(failure?.kind == .usage)
        }
        #expect(try daemon.library.podcasts().isEmpty)
    }

    // MARK: Other commands

    @Test func unsubscribingRemovesFilesRowsAndTasks() async throws {
        home.publish("Show", episodes: 2, size: 600_000)
        let gate = Gate(heldAt: 300_000)
        home.web.serve(home.media(2), Resource(home.content(2, size: 600_000), etag: "\"m2\"")) { _ in .hold(gate) }
        let (daemon, client) = try await home.subscribe()
        let first = try daemon.episode(1)
        let second = try daemon.episode(2)
        try await client.act(.download, first.id, second.id)
        try await client.completion(of: first.id)
        try await client.event("the second has begun") { $0.episode == second.id && ($0.task?.received ?? 0) > 0 }
        #expect(home.cacheFiles.count == 2)
        #expect(try await client.perform(.unsubscribe(podcast: first.podcast)) == .done)
        #expect(try daemon.library.podcasts().isEmpty)
        #expect(try daemon.library.downloads().isEmpty)
        #expect(try await client.tasks().isEmpty)
        try await waitUntil { home.cacheFiles.isEmpty }
        try await client.event("the task has gone") { $0.episode == second.id && $0.task?.state == .remote }
        let failure = await client.failure(of: .unsubscribe(podcast: first.podcast))
        #expect(failure?.message == "there is no such show")
        gate.open()
    }

    @Test func aRenamingIsReportedAndChangesThePathsOfTasks() async throws {
        home.publish("Show", episodes: 1)
        let (daemon, client) = try await home.subscribe()
        let episode = try daemon.episode(1)
        try await client.act(.suspend, episode.id)
        _ = try await client.perform(.rename(podcast: nil, episode: episode.id, name: "Pilot"))
        #expect(try await client.tasks().map(\.path) == ["Show/Pilot.mp3"])
        try await client.event("of the task") { $0.kind == .state && $0.path == "Show/Pilot.mp3" }
        _ = try await client.perform(.rename(podcast: episode.podcast, episode: nil, name: "Ge\u{75}\u{308}bt"))
        // A mount tells the kernel to invalidate the name in the event, and the kernel compares names byte by byte.
        let event = try await client.event("of the show") { $0.kind == .library && $0.formerName == "Show" }
        #expect(event.path.map { Array($0.utf8) } == Array("Ge\u{FC}bt".utf8))
        #expect(try await client.tasks().map(\.path) == ["Ge\u{FC}bt/Pilot.mp3"])
        try await client.event("of the task") {
            $0.kind == .state && $0.path == "Ge\u{FC}bt/Pilot.mp3" && $0.task?.state == .suspended
        }
    }

    @Test func aCommandRenamesFilesByTheTemplate() async throws {
        home.publish("Show", episodes: 2)
        let (daemon, client) = try await home.subscribe()
        let (show, former) = (try daemon.episode(1).podcast, try daemon.episode(1).name)
        _ = try await client.perform(.rename(podcast: nil, episode: try daemon.episode(1).id, name: "Pilot"))
        let change = RenamedPath(former: "Show/Pilot.mp3", path: "Show/\(former)")
        #expect(try await client.perform(.renameByTemplate(podcasts: [], isDryRun: true)) == .renamed([change]))
        #expect(try daemon.episode(1).name == "Pilot.mp3")
        #expect(try await client.perform(.renameByTemplate(podcasts: [show], isDryRun: false)) == .renamed([change]))
        #expect(try daemon.episode(1).name == former)
        try await client.event("of the episode") { $0.kind == .library && $0.formerName == "Pilot.mp3" }
        #expect(try await client.perform(.renameByTemplate(podcasts: [], isDryRun: false)) == .renamed([]))
    }
}
