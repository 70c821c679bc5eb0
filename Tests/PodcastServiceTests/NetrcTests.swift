import Foundation
import PodcastLibrary
import PodcastProtocol
import TestSupport
import Testing
import Transfers

@testable import PodcastService

/// Passwords from `~/.netrc`, which are sent only to the origin of the subscription.
@Suite(.stopsDaemons) struct NetrcTests {
    private let home = ServiceHome()
    /// A server on the same host at another port.
    private let other = HTTPTestServer()
    /// base64 of `me:hush`.
    private let field = "Basic bWU6aHVzaA=="
    private static let image: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0] + [UInt8](repeating: 7, count: 500)

    init() throws {
        try other.start()
    }

    private func start() async throws -> (RunningService, ServiceClient) {
        let netrc = try home.directory.write("netrc", text: "machine 127.0.0.1 login me password hush\n")
        return try await home.connect { $0.netrcFile = netrc }
    }

    private func fields(_ server: HTTPTestServer) -> [String?] { server.requests.map { $0.headers["Authorization"] } }

    /// Serves a feed at `path` with an episode and an image on each server. The chapter list is on `other`. The feed
    /// names a next page on `other`, too, but that page does not exist.
    private func publish(_ path: String = "/feed.xml", behaviour: @escaping @Sendable (RequestInfo) -> Behaviour) {
        let servers = [home.web, other]
        var feed = FeedBuilder.show("Show", episodes: 2, length: 1_000) { servers[$0 - 1].url("/\($0).mp3") }
        feed.image = other.url("/cover.jpg")
        // The newest item is first.
        feed.items[0].raw = "<podcast:chapters url=\"\(other.url("/c.json"))\" type=\"application/json+chapters\"/>"
        feed.items[1].raw = "<itunes:image href=\"\(home.web.url("/art.jpg"))\"/>"
        feed.raw = "<atom:link rel=\"next\" href=\"\(other.url("/page2.xml"))\"/>"
        home.web.serve(path, Resource(text: feed.text, contentType: "application/rss+xml"), behaviour: behaviour)
        home.web.serve("/1.mp3", Resource(home.content(1), etag: "\"1\""))
        home.web.serve("/art.jpg", Resource(bytes: Self.image, contentType: "image/jpeg"))
        other.serve("/2.mp3", Resource(home.content(2), etag: "\"2\""))
        other.serve("/cover.jpg", Resource(bytes: Self.image, contentType: "image/jpeg"))
        other.serve("/c.json", Resource(text: "{\"chapters\":[]}", contentType: "application/json"))
    }

    @Test func thePasswordIsNotSentToOtherOrigins() async throws {
        let field = field
        publish { $0.headers["Authorization"] == field ? .normal : .status(401) }
        let (daemon, client) = try await start()
        try await client.subscribe(home.web.url("/feed.xml"))
        let show = try #require(try daemon.library.podcasts().first).id
        for number in 1...2 {
            let episode = try daemon.episode(number).id
            try await client.download(episode)
        }
        for (kind, id) in [
            (AssetKind.cover, show.rawValue), (.art, try daemon.episode(1).id.rawValue),
            (.chapters, try daemon.episode(2).id.rawValue),
        ] {
            guard case .asset = try await client.perform(.asset(kind, id: id)) else {
                Issue.record("no asset")
                continue
            }
        }
        let results = try await client.refresh(show)
        #expect(results.allSatisfy { $0.error == nil })
        #expect(fields(home.web).allSatisfy { $0 == field })
        #expect(Set(other.requests.map(\.path)).isSuperset(of: ["/2.mp3", "/cover.jpg", "/c.json", "/page2.xml"]))
        #expect(fields(other).allSatisfy { $0 == nil }, "another port is another origin")
    }

    @Test func aMovedFeedGetsNoPassword() async throws {
        publish { _ in .normal }
        let (daemon, client) = try await start()
        try await client.subscribe(home.web.url("/feed.xml"))
        let show = try #require(try daemon.library.podcasts().first)
        // A server may announce any new address, including that of a host whose password is in the netrc file.
        let away = other.url("/feed.xml")
        other.serve("/feed.xml", Resource(text: FeedBuilder.show("Show", episodes: 1) { _ in away }.text))
        home.web.serve("/feed.xml") { _ in .redirect(to: away, status: 301) }
        for _ in 1...2 { _ = try await client.perform(.refresh(podcasts: [show.id])) }
        #expect(try daemon.library.podcast(id: show.id)?.url == away)
        #expect(other.requests(for: "/feed.xml").count >= 2 && fields(other).allSatisfy { $0 == nil })
        // When the user subscribes to that address, the password is sent.
        _ = try await client.perform(.unsubscribe(podcast: show.id))
        try await client.subscribe(away)
        #expect(fields(other).last == field)
    }

    @Test(arguments: ["\n", "\r\n"])
    func commentsAndMacrosEndWithTheirLines(end: String) throws {
        let lines = [
            "# mine", "machine h.example login u password p", "macdef init", "quit", "", "default login d password e",
        ]
        let text = lines.map { $0 + end }.joined()
        let entry = try #require(Netrc.entry(text, host: "h.example", user: nil))
        #expect(entry.login == "u" && entry.password == "p")
        let other = try #require(Netrc.entry(text, host: "other.example", user: nil))
        #expect(other.login == "d" && other.password == "e")
    }

    @Test func credentialsDependOnTheHostAndTheGivenURL() throws {
        let file = try home.directory.write(
            "n", text: "machine h.example login u password \"p \\\"w\\\"\"\nmachine other login o password x\n")
        let netrc = Netrc(path: file)
        let cases: [(url: String, given: String?, origin: String?)] = [
            ("https://h.example/f", "https://h.example/f", "https://h.example:443"),
            ("http://h.example/f", "http://h.example/g", "http://h.example:80"),
            ("http://h.example:8080/f", "http://h.example:8080/", "http://h.example:8080"),
            // A password is sent in clear text only to the origin of an http URL that the user has given.
            ("http://h.example/f", "https://h.example/f", nil), ("http://h.example:8080/f", "http://h.example/f", nil),
            ("http://h.example/f", "http://other/f", nil), ("http://h.example/f", nil, nil),
            // Over TLS the host has proved its identity, so the given URL does not matter.
            ("https://h.example/f", "http://h.example/f", "https://h.example:443"),
            ("https://h.example:8443/f", nil, "https://h.example:8443"),
            ("https://nobody.example/f", "https://nobody.example/f", nil),
            ("ftp://h.example/", "ftp://h.example/", nil),
        ]
        for (url, given, origin) in cases {
            let found = netrc.credentials(for: url, given: given)
            #expect(found?.origin == origin, "\(url) \(given ?? "-")")
            if let found { #expect(found.user == "u" && found.password == "p \"w\"") }
        }
        // Changes to the netrc file take effect at once.
        try home.directory.write("n", text: "default login d password e\n")
        #expect(netrc.credentials(for: "https://any.example/")?.user == "d")
        #expect(Netrc(path: home.directory.file("none")).credentials(for: "https://h.example/") == nil)
    }
}
