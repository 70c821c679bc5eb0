import Foundation
import PodcastLibrary
import PodcastProtocol
import TestSupport
import Testing

@testable import PodcastService

/// Feeds whose server sends only the new items (status 226, RFC 3229).
@Suite(.stopsDaemons) struct DeltaTests {
    private let home = ServiceHome()

    private func feed(_ title: String = "Show", episodes: Int = 3) -> FeedBuilder {
        FeedBuilder.show(title, episodes: episodes, length: 1_000) { home.web.url("/\($0).mp3") }
    }

    private func publish(_ feed: FeedBuilder, etag: String = "\"f1\"") {
        home.web.serve("/feed.xml", Resource(text: feed.text, contentType: "application/rss+xml", etag: etag))
    }

    /// Serves `text` with status 226 to requests that accept a delta, and `whole` to others. If `unasked` is true,
    /// serves `text` to all requests.
    private func publish(delta text: String, headers: [(String, String)], whole: FeedBuilder, unasked: Bool = false) {
        let resource = Resource(text: whole.text, contentType: "application/rss+xml", etag: "\"f2\"")
        home.web.serve("/feed.xml", resource) { request in
            guard unasked || request.headers["A-IM"] == "feed" else { return .normal }
            return .normal.status(226, headers: headers, body: text)
        }
    }

    private func start() async throws -> (RunningService, ServiceClient, ShowID) {
        publish(feed())
        let (daemon, client) = try await home.subscribe()
        return (daemon, client, try #require(try daemon.library.podcasts().first).id)
    }

    private func refresh(_ client: ServiceClient, _ id: ShowID) async throws -> String? {
        try await client.refresh(id).first?.error
    }

    private var statuses: [Int?] { home.web.requests(for: "/feed.xml").map(\.status) }

    @Test func aDeltaAddsEpisodesAndRemovesNone() async throws {
        let (daemon, client, id) = try await start()
        var delta = feed("Another title", episodes: 5)
        delta.items = Array(delta.items.prefix(2))
        publish(
            delta: delta.text, headers: [("IM", "feed"), ("ETag", "\"f2\""), ("Delta-Base", "\"f1\"")], whole: feed())
        #expect(try await refresh(client, id) == nil)
        let show = try #require(try daemon.library.podcast(id: id))
        #expect(show.title == "Show" && show.etag == "\"f1\"" && show.httpStatus == 226)
        let episodes = try daemon.library.episodes(of: id)
        #expect(episodes.count == 5 && episodes.allSatisfy(\.listed))
        // The document and its validator remain those of the whole feed, so the next delta is relative to that feed.
        #expect(home.feedDocument(id) == feed().text)
        #expect(try await refresh(client, id) == nil)
        let requests = home.web.requests(for: "/feed.xml")
        #expect(requests.map(\.status) == [200, 226, 226])
        #expect(requests[2].headers["If-None-Match"] == "\"f1\"" && requests[0].headers["A-IM"] == nil)
        #expect(try daemon.library.episodes(of: id).count == 5)
    }

    /// A delta omits known episodes that are still in the feed. So an item of a delta with another guid and URL is a
    /// new episode, even if its title, day and kind equal those of a known episode.
    @Test func aSimilarEpisodeInADeltaIsNew() async throws {
        let (daemon, client, id) = try await start()
        var delta = feed()
        delta.items = [delta.items[0]]
        delta.items[0].guid = "another"
        delta.items[0].url = home.web.url("/another.mp3")
        publish(delta: delta.text, headers: [("IM", "feed")], whole: feed())
        #expect(try await refresh(client, id) == nil)
        #expect(try daemon.library.episodes(of: id).count == 4)
    }

    @Test(arguments: [
        ("", "feed", "\"f1\""), ("<html>log in</html>", "feed", "\"f1\""), ("feed", "vcdiff", "\"f1\""),
        ("feed", "feed, gzip", "\"f1\""), ("feed", "feed", "\"f0\""), ("feed", "", "\"f1\""),
    ]) func afterAWrongDeltaTheWholeFeedIsFetched(body: String, manipulation: String, base: String) async throws {
        let (daemon, client, id) = try await start()
        let whole = feed(episodes: 4)
        publish(
            delta: body == "feed" ? feed("Wrong", episodes: 9).text : body,
            headers: [("IM", manipulation), ("Delta-Base", base)], whole: whole)
        #expect(try await refresh(client, id) == nil)
        #expect(statuses == [200, 226, 200])
        #expect(try daemon.library.episodes(of: id).count == 4)
        #expect(try daemon.library.podcast(id: id)?.etag == "\"f2\"" && home.feedDocument(id) == whole.text)
    }

    @Test func aDeltaThatNobodyRequestedFails() async throws {
        let (daemon, client, id) = try await start()
        _ = try await client.perform(.set(podcast: id, assignments: ["keep=listed"]))
        publish(delta: feed(episodes: 9).text, headers: [("IM", "feed")], whole: feed(), unasked: true)
        #expect(try await refresh(client, id)?.contains("226") ?? false)
        #expect(statuses.last == 226)
        #expect(home.web.requests(for: "/feed.xml").allSatisfy { $0.headers["A-IM"] == nil })
        #expect(try daemon.library.episodes(of: id).count == 3 && home.feedDocument(id) == feed().text)
    }

    /// Only the whole feed shows that an episode was removed, so it is fetched once a week.
    @Test func theWholeFeedIsFetchedAfterAWeek() async throws {
        let (daemon, client, id) = try await start()
        publish(delta: feed().text, headers: [("IM", "feed")], whole: feed(episodes: 2))
        #expect(try await refresh(client, id) == nil)
        #expect(try daemon.library.episodes(of: id).filter(\.listed).count == 3)
        let path = "\(home.paths.feeds)/\(id).xml"
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -8 * 86_400)], ofItemAtPath: path)
        #expect(try await refresh(client, id) == nil)
        #expect(statuses == [200, 226, 200])
        #expect(try daemon.library.episodes(of: id).filter(\.listed).count == 2)
    }
}
