import Foundation
import PodcastLibrary
import PodcastProtocol
import TestSupport
import Testing
import Transfers

@testable import PodcastService

/// Tests that a feed's user name and password are stored separately, sent only to the feed's server, and never
/// displayed.
@Suite(.stopsDaemons) struct CredentialTests {
    private let home = ServiceHome()
    /// A second server, for some of the media.
    private let other = HTTPTestServer()
    /// base64 of `me:hush`.
    private let field = "Basic bWU6aHVzaA=="

    init() throws {
        try other.start()
    }

    private var address: String { home.web.url("/feed.xml?token=hush").replacing("http://", with: "http://me:hush@") }

    /// Serves a feed that requires the credentials, with one episode on the same server and one on the other.
    private func publish() {
        let own = home.web.url("/1.mp3?key=hush")
        let away = other.url("/2.mp3")
        let feed = FeedBuilder.show("Private", episodes: 2, length: 1_000) { $0 == 1 ? own : away }
        let field = field
        home.web.serve("/feed.xml", Resource(text: feed.text, contentType: "application/rss+xml")) { request in
            request.headers["Authorization"] == field ? .normal : .status(401)
        }
        home.web.serve("/1.mp3", Resource(home.content(1), etag: "\"1\""))
        other.serve("/2.mp3", Resource(home.content(2), etag: "\"2\""))
    }

    private func store() throws -> String { try String(contentsOfFile: home.paths.credentials, encoding: .utf8) }

    @Test func credentialsAreMovedOutOfTheAddressAndSentOnlyToItsServer() async throws {
        publish()
        let (daemon, client) = try await home.connect()
        #expect(
            try await client.perform(.subscribe(url: address, name: nil))
                == .subscribed(name: "Private", episodes: 2, skipped: 0))
        let podcast = try #require(try daemon.library.podcast(named: "Private"))
        #expect(podcast.url == home.web.url("/feed.xml?token=hush") && podcast.hasCredentials)
        #expect(podcast.visibleURL == home.web.url("/feed.xml"))
        #expect(podcast.finalURL?.contains("@") == false)
        #expect(try store().contains("\"password\" : \"hush\""))
        #expect(try home.mode(of: home.paths.credentials) == 0o600)
        for number in 1...2 {
            let episode = try daemon.episode(number)
            try await client.download(episode.id)
        }
        #expect(home.web.requests(for: "/1.mp3").map { $0.headers["Authorization"] } == [field])
        #expect(other.requests.map { $0.headers["Authorization"] } == [nil])
        _ = try await client.perform(.refresh(podcasts: []))
        #expect(home.web.requests(for: "/feed.xml").map { $0.headers["Authorization"] } == [field, field])
        // No event contains the password.
        #expect(!client.events.entries.contains { "\($0)".contains("hush") })
        await daemon.stop()
        // The next daemon still has the credentials.
        let (_, again) = try await home.connect()
        let results = try await again.refresh()
        #expect(results.map(\.error) == [nil])
        // The credentials are removed with the show.
        _ = try await again.perform(.unsubscribe(podcast: podcast.id))
        #expect(try !store().contains("hush"))
    }

    /// The show is in the library then, so mounts have to list it.
    @Test func aNewShowWhoseCredentialsCannotBeStoredIsReported() async throws {
        publish()
        // A folder in the place of the file makes every write fail.
        try FileManager.default.createDirectory(atPath: home.paths.credentials, withIntermediateDirectories: true)
        let (daemon, client) = try await home.connect()
        _ = try #require(await client.failure(of: .subscribe(url: address, name: nil)))
        let podcast = try #require(try daemon.library.podcast(named: "Private"))
        try await client.event("of the show") { $0.kind == .library && $0.show == podcast.id }
    }

    @Test func failuresDoNotShowCredentials() async throws {
        publish()
        let wrong = address.replacing("me:hush@", with: "me:Geheim@")
        let (daemon, client) = try await home.connect()
        let failure = try #require(await client.failure(of: .subscribe(url: wrong, name: nil)))
        #expect(failure.message.contains("401") && failure.message.contains(home.web.url("/feed.xml")))
        #expect(!failure.message.contains("Geheim") && !failure.message.contains("hush"))
        let inspected = try #require(await client.failure(of: .inspect(url: wrong)))
        #expect(!inspected.message.contains("Geheim") && !inspected.message.contains("hush"))
        let kept = try await client.perform(.importShow(ImportItem(url: wrong, title: "Mine")))
        #expect(!"\(kept)".contains("Geheim") && !"\(kept)".contains("hush"))
        let podcast = try #require(try daemon.library.podcast(named: "Mine"))
        #expect(podcast.hasCredentials && podcast.error?.contains("401") == true)
        #expect(podcast.error?.contains("hush") == false)
        // Subscribing again with other credentials replaces them.
        #expect(
            try await client.perform(.subscribe(url: address, name: nil))
                == .subscribed(name: "Mine", episodes: 2, skipped: 0))
        #expect(try daemon.library.podcast(id: podcast.id)?.state == Podcast.active)
        // Wrong credentials do not replace correct ones.
        _ = await client.failure(of: .subscribe(url: wrong, name: nil))
        #expect(try !store().contains("Geheim"))
        let same = await client.failure(of: .subscribe(url: address, name: nil))
        #expect(same?.message.contains("already subscribed as 'Mine'") == true)
    }

    @Test func relativeAddressesDoNotInheritCredentials() async throws {
        let feed = FeedBuilder(title: "Show", items: [.init(title: "Episode 1", guid: "1", url: "/1.mp3")])
        home.web.serve("/feed.xml", Resource(text: feed.text, contentType: "application/rss+xml"))
        let (daemon, client) = try await home.connect()
        try await client.subscribe(address)
        #expect(try daemon.episode(1).url == home.web.url("/1.mp3"))
        let json = try await client.perform(.inspect(url: address), \.text)
        #expect(json.contains(home.web.url("/1.mp3")) && !json.contains("hush"))
    }

    @Test func aDamagedStoreIsPutAside() async throws {
        try Data("{".utf8).write(to: URL(fileURLWithPath: home.paths.credentials))
        #expect(throws: (any Error).self) { try CredentialStore<ShowID>.reading(home.paths.credentials) }
        let store = CredentialStore<ShowID>(path: home.paths.credentials, remedy: "enter them again")
        #expect(store.problem?.contains("damaged") == true && store[1] == nil)
        #expect(store.problem?.hasSuffix(": enter them again") == true)
        #expect(try String(contentsOfFile: home.paths.credentials + ".damaged", encoding: .utf8) == "{")
        let given = Credentials(user: "a", password: "b", origin: "https://e.com:443")
        try store.set(given, for: 7)
        let again = CredentialStore<ShowID>(path: home.paths.credentials, remedy: "")
        #expect(again.problem == nil && again[7] == given)
        try again.remove(except: [8])
        #expect(try CredentialStore<ShowID>.reading(home.paths.credentials)[7] == nil)
    }

    @Test func aStoreThatCannotBeReadStaysInPlace() throws {
        let path = home.paths.credentials
        // A folder can be opened like a file, but reading it fails.
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        #expect(throws: CredentialFileError.self) { try CredentialStore<ShowID>.reading(path) }
        let store = CredentialStore<ShowID>(path: path, remedy: "enter them again")
        #expect(store.problem?.contains("cannot be read") == true, "\(store.problem ?? "")")
        #expect(store.problem?.contains("enter them again") == false && store[7] == nil)
        #expect(!FileManager.default.fileExists(atPath: path + ".damaged"))
        // The file is not replaced by one that contains only the new credentials.
        let given = Credentials(user: "a", password: "b", origin: "https://e.com:443")
        #expect(throws: CredentialFileError.self) { try store.set(given, for: 7) }
        try store.remove(except: [])
        #expect(store[7] == nil && FileManager.default.fileExists(atPath: path))
    }

    @Test func userInfoIsSplitFromAnAddressAndRejoined() {
        let cases: [(String, String, String?, String?)] = [
            ("https://a:b@e.com/f?x=a@b", "https://e.com/f?x=a@b", "a", "b"),
            ("https://a%40b:c%3Ad%2F@e.com/", "https://e.com/", "a@b", "c:d/"),
            ("https://a:b:c@e.com", "https://e.com", "a", "b:c"), ("https://a@e.com/", "https://e.com/", "a", ""),
            ("https://@e.com/", "https://e.com/", nil, nil), ("https://e.com/@x", "https://e.com/@x", nil, nil),
            ("https://w%C3%B6rd:%zz@e.com/", "https://e.com/", "wörd", "%zz"),
            ("https://a:b@\u{301}e.com/f", "https://\u{301}e.com/f", "a", "b"),
            ("https://a:\u{301}b@e.com/\u{301}f@", "https://e.com/\u{301}f@", "a", "\u{301}b"),
        ]
        for (text, url, user, password) in cases {
            let address = PrivateAddress(text)
            #expect(address.url == url && address.credentials?.user == user, "\(text)")
            #expect(address.credentials?.password == password, "\(text)")
            #expect(PrivateAddress(address.whole) == address)
        }
        #expect(PrivateAddress("https://a:b@e.com/f?x=1").visible == "https://e.com/f")
        #expect(PrivateAddress("https://e.com/f?x=1").visible == "https://e.com/f?x=1")
    }
}
