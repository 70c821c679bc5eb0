import Foundation
import PodcastProtocol
import TestSupport
import Testing
import Transfers

@testable import PodcastLibrary
@testable import PodcastService

/// Tests of which addresses a feed may link or redirect to, depending on where the feed itself came from. The service
/// is configured to treat `home.web` (127.0.0.1) as a host on the internet.
@Suite(.stopsDaemons) struct ReachTests {
    private let home = ServiceHome()
    /// A server on 127.0.0.2, which the service treats as an address on this computer (loopback).
    private let inside = HTTPTestServer(address: "127.0.0.2")
    private static let image: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0] + [UInt8](repeating: 7, count: 500)

    init() throws {
        try inside.start()
        inside.serve("/1.mp3", Resource(home.content(1), etag: "\"1\""))
        for path in ["/cover.jpg", "/art.jpg"] {
            inside.serve(path, Resource(bytes: Self.image, contentType: "image/jpeg"))
        }
        inside.serve("/t.vtt", Resource(text: "WEBVTT\n\n00:00.000 --> 00:01.000\nHello\n"))
        inside.serve("/c.json", Resource(text: "{\"chapters\":[]}", contentType: "application/json"))
        serve(inside, "/page2.xml", [])
    }

    /// Serves a feed whose episode, images, transcript, chapters and next page are on `inside`. If `numbers` is empty,
    /// serves the feed's next page instead, which has an older episode.
    private func serve(_ server: HTTPTestServer, _ path: String, _ numbers: [Int] = [1], title: String = "Show") {
        var feed = FeedBuilder.show(title, episodes: 1, length: 200_000) { _ in inside.url("/1.mp3") }
        if numbers.isEmpty {
            feed.items[0].guid = "old"
            feed.items[0].title = "Old"
            feed.items[0].url = inside.url("/old.mp3")
        }
        feed.image = inside.url("/cover.jpg")
        feed.items[0].raw = """
            <itunes:image href="\(inside.url("/art.jpg"))"/>
            <podcast:transcript url="\(inside.url("/t.vtt"))" type="text/vtt"/>
            <podcast:chapters url="\(inside.url("/c.json"))" type="application/json+chapters"/>
            """
        if !numbers.isEmpty { feed.raw = "<atom:link rel=\"next\" href=\"\(inside.url("/page2.xml"))\"/>" }
        server.serve(path, Resource(text: feed.text, contentType: "application/rss+xml", etag: "\"f\""))
    }

    private func start(
        allowing exceptions: [String] = [], _ change: (inout ServiceConfiguration) -> Void = { _ in }
    ) async throws -> (RunningService, ServiceClient) {
        let daemon = try await home.start { configuration in
            configuration.transfers.network.reach.assumed = [AddressBlock("127.0.0.1")].compactMap {
                $0.map { ($0, .public) }
            }
            configuration.transfers.network.reach.exceptions = exceptions.compactMap(ReachPolicy.Exception.init)
            change(&configuration)
        }
        return (daemon, try await daemon.connect())
    }

    @Test func aFeedOnTheInternetCannotLeadToThisComputer() async throws {
        serve(home.web, "/feed.xml")
        let (daemon, client) = try await start()
        try await client.subscribe(home.web.url("/feed.xml"))
        let show = try #require(try daemon.library.podcasts().first)
        #expect(show.episodes == 1, "the next page was not fetched")
        #expect(try daemon.library.showAccess(of: show.id)?.space == .public)
        let payload = ReadRequest(episode: try daemon.episode().id).payload
        let failure = await client.failure(of: .open, payload)
        #expect(failure?.errorNumber == EACCES)
        #expect(
            failure?.message
                == "127.0.0.2 is on this computer, but the address that led to it is not; "
                + "add 127.0.0.2 to transfers.allow_private to allow it")
        for (kind, id) in [
            (AssetKind.cover, show.id.rawValue), (.art, try daemon.episode().id.rawValue),
            (.vtt, try daemon.episode().id.rawValue), (.chapters, try daemon.episode().id.rawValue),
        ] {
            #expect(await client.failure(of: .asset(kind, id: id))?.errorNumber == EACCES)
        }
        // The download task fails permanently, and its error names the setting that would allow the address.
        try await client.act(.download, try daemon.episode().id)
        let failed = try await client.event("it has failed") { $0.kind == .failed }
        #expect(failed.task?.error?.contains("transfers.allow_private") == true)
        _ = try await client.perform(.refresh(podcasts: [show.id]))
        #expect(inside.connectionsAccepted == 0)
    }

    @Test func anExceptionAllowsTheAddress() async throws {
        serve(home.web, "/feed.xml")
        let (daemon, client) = try await start(allowing: ["127.0.0.2"])
        try await client.subscribe(home.web.url("/feed.xml"))
        _ = try await client.open(try daemon.episode().id)
        _ = try await client.perform(.asset(.vtt, id: try daemon.episode().id.rawValue))
    }

    /// A feed that was last fetched from this computer may lead to addresses on this computer. A feed that was last
    /// fetched from elsewhere may not.
    @Test func theLastSourceOfTheFeedDecidesItsReach() async throws {
        serve(inside, "/feed.xml")
        let (daemon, client) = try await start()
        try await client.subscribe(inside.url("/feed.xml"))
        let show = try #require(try daemon.library.podcasts().first)
        #expect(show.episodes == 2)
        _ = try await client.perform(.asset(.vtt, id: try daemon.episode().id.rawValue))
        serve(home.web, "/moved.xml")
        let moved = home.web.url("/moved.xml")
        inside.serve("/feed.xml") { _ in .redirect(to: moved, status: 302) }
        _ = try await client.perform(.refresh(podcasts: [show.id]))
        let access = try daemon.library.showAccess(of: show.id)
        #expect(access?.space == .public && access?.reach == .loopback, "the feed's address is on this computer")
        #expect(
            await client.failure(of: .asset(.chapters, id: try daemon.episode().id.rawValue))?.errorNumber == EACCES)
        // A permanent redirect changes the show's URL, but not its given URL, because a server, not the user, named
        // the new address.
        inside.serve("/feed.xml") { _ in .redirect(to: moved, status: 301) }
        _ = try await client.perform(.refresh(podcasts: [show.id]))
        let here = inside.url("/feed.xml")
        #expect(
            try daemon.library.showAccess(of: show.id)
                == ShowAccess(url: moved, givenURL: here, reach: .public, space: .public))
    }

    /// After the subscription, the feed's host name resolves to an address on this computer. The next refresh is
    /// refused, because the host was on the internet when the show was subscribed to.
    @Test(arguments: [false, true]) func aSubscriptionCannotMoveToThisComputer(isConditional: Bool) async throws {
        let port = home.web.port
        let address = home.directory.file("address")
        try home.directory.write("address", text: "127.0.0.1")
        home.publish(etag: isConditional ? "\"e\"" : nil)
        let (daemon, client) = try await start { configuration in
            configuration.transfers.network.resolved = {
                let text = FileManager.default.contents(atPath: address).map { String(decoding: $0, as: UTF8.self) }
                return ["feed.example:\(port):\(text ?? "")"]
            }
        }
        try await client.subscribe("http://feed.example:\(port)/feed.xml")
        let show = try #require(try daemon.library.podcasts().first)
        let trap = HTTPTestServer(address: "127.0.0.2")
        try trap.start(on: port)
        try home.directory.write("address", text: "127.0.0.2")
        home.web.stop()
        let results = try await client.refresh(show.id)
        #expect(
            results.first?.error?
                .contains("feed.example is on this computer, but the address that led to it is not") == true,
            "\(results)")
        #expect(trap.connectionsAccepted == 0)
        #expect(try daemon.library.showAccess(of: show.id)?.space == .public)
    }

    /// A feed URL from an internet catalogue was not typed by the user, so it may not lead to a local address.
    @Test func aCatalogueCannotLeadToThisComputer() async throws {
        serve(inside, "/feed.xml")
        home.web.serve("/itunes", CatalogueAnswers.iTunes([.init("Inside", url: inside.url("/feed.xml"))]))
        let (daemon, client) = try await start { configuration in
            configuration.catalogues = [.iTunes(at: home.web.url("/itunes"))]
        }
        guard case .foundFolders(let found) = try await client.perform(.searchFolder(term: "inside")) else {
            Issue.record("an unexpected reply")
            return
        }
        let row = try #require(found.first).podcast
        #expect(try daemon.library.showAccess(of: row)?.reach == .public)
        #expect(await client.failure(of: .fetchShow(podcast: row))?.errorNumber == EACCES)
        // Subscribing to the URL in the search result is refused too.
        #expect(await client.failure(of: .subscribe(url: inside.url("/feed.xml"), name: nil)) != nil)
        #expect(inside.connectionsAccepted == 0)
    }
}
