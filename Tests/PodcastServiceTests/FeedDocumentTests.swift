import Foundation
import PodcastLibrary
import PodcastProtocol
import TestSupport
import Testing

@testable import PodcastService

/// The feed documents stored by the daemon.
@Suite(.stopsDaemons) struct FeedDocumentTests {
    private let home = ServiceHome()

    private func facts(_ podcast: ShowID) throws -> [String: Any] {
        let json = try #require(home.feedDocument(podcast, "json"))
        return try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
    }

    private var names: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: home.paths.feeds)) ?? []).sorted()
    }

    private func publish(_ title: String, etag: String, path: String = "/feed.xml") -> String {
        let feed = FeedBuilder.show(title, episodes: 2, length: 1_000) { home.web.url("/\($0).mp3") }
        home.web.serve(path, Resource(text: feed.text, contentType: "application/rss+xml", etag: etag))
        return feed.text
    }

    @Test func theDocumentIsStoredAsItWasLastFetched() async throws {
        let first = publish("Show", etag: "\"f1\"")
        let (daemon, client) = try await home.subscribe()
        let id = try #require(try daemon.library.podcasts().first).id
        #expect(home.feedDocument(id) == first)
        #expect(try home.mode(of: "\(home.paths.feeds)/\(id).xml") == 0o600)
        // The feed has not changed, so the document and the episodes remain.
        let before = try #require(try daemon.library.podcast(id: id))
        let events = client.events.entries.count
        #expect(try await client.refresh() == [RefreshResult(name: "Show", added: 0)])
        #expect(home.web.requests(for: "/feed.xml").map(\.status) == [200, 304])
        let after = try #require(try daemon.library.podcast(id: id))
        #expect(after.state == "active" && after.episodes == before.episodes && after.changed == before.changed)
        #expect(!client.events.entries.dropFirst(events).contains { $0.kind == .library })
        #expect(home.feedDocument(id) == first)
        let second = publish("Show, renamed", etag: "\"f2\"")
        _ = try await client.perform(.refresh(podcasts: [id]))
        #expect(home.feedDocument(id) == second)
        let json = try facts(id)
        #expect(json["title"] as? String == "Show, renamed" && (json["items"] as? [Any])?.count == 2)
        #expect((json["redirects"] as? [Any])?.isEmpty == true)
        // A response that is not a feed replaces no document and leaves no file behind.
        home.web.serve("/feed.xml", Resource(text: "<html>log in</html>", contentType: "text/html"))
        _ = try await client.perform(.refresh(podcasts: [id]))
        #expect(home.feedDocument(id) == second)
        #expect(names == ["\(id).json", "\(id).xml"])
        _ = try await client.perform(.unsubscribe(podcast: id))
        #expect(names.isEmpty)
    }

    @Test func redirectsAreRecordedInTheirOrder() async throws {
        _ = publish("Show", etag: "\"f1\"", path: "/new.xml")
        home.web.serve("/feed.xml") { _ in .redirect(to: "/middle.xml") }
        home.web.serve("/middle.xml") { _ in .redirect(to: "/new.xml", status: 307) }
        let (daemon, _) = try await home.subscribe()
        let id = try #require(try daemon.library.podcasts().first).id
        let json = try facts(id)
        let hops = try #require(json["redirects"] as? [[String: Any]])
        #expect(hops.map { $0["status"] as? Int } == [302, 307])
        #expect(hops.map { $0["url"] as? String } == [home.web.url("/feed.xml"), home.web.url("/middle.xml")])
    }

    @Test func aMissingDocumentCausesOneUnconditionalFetch() async throws {
        let text = publish("Show", etag: "\"f1\"")
        let (daemon, client) = try await home.subscribe()
        let id = try #require(try daemon.library.podcasts().first).id
        try FileManager.default.removeItem(atPath: "\(home.paths.feeds)/\(id).xml")
        for _ in 1...2 { _ = try await client.perform(.refresh(podcasts: [id])) }
        #expect(home.web.requests(for: "/feed.xml").map(\.status) == [200, 200, 304])
        #expect(home.feedDocument(id) == text)
    }

    @Test func documentsOfNoShowAreRemovedAtTheStart() async throws {
        for name in ["99.xml", "99.json", "new-x"] {
            try Data("x".utf8).write(to: URL(fileURLWithPath: "\(home.paths.feeds)/\(name)"))
        }
        try await home.start()
        #expect(names.isEmpty)
    }
}
