import Foundation
import PodcastFeed
import PodcastLibrary
import PodcastProtocol
import TestSupport
import Testing

@testable import PodcastService

/// Feeds that exceed the parser's limits.
@Suite(.stopsDaemons) struct CutFeedTests {
    private let home = ServiceHome()

    private func text(_ count: Int) -> String {
        FeedBuilder.show("Show", episodes: count, length: 20_000) { home.web.url(home.media($0)) }.text
    }

    private func serve(_ text: String, etag: String) {
        home.web.serve("/feed.xml", Resource(text: text, contentType: "application/rss+xml", etag: etag))
    }

    /// Limits with which about 30 of the document's 60 episodes are parsed.
    private var limits: FeedLimits {
        var limits = FeedLimits()
        limits.bytes = text(60).utf8.count / 2
        return limits
    }

    private func facts(_ show: Podcast) -> String { home.feedDocument(show.id, "json") ?? "" }

    private func refresh(_ client: ServiceClient) async throws -> RefreshResult {
        try #require(try await client.refresh().first)
    }

    @Test func aFeedThatGrowsBeyondTheLimitIsCutAndStaysActive() async throws {
        serve(text(20), etag: "\"whole\"")
        let limits = limits
        let (daemon, client) = try await home.subscribe { $0.feedLimits = limits }
        let show = try #require(try daemon.library.podcasts().first)
        #expect(show.episodes == 20)
        #expect(!facts(show).contains("the rest is ignored"))

        serve(text(60), etag: "\"long\"")
        let grown = try await refresh(client)
        #expect(grown.error == nil && grown.added >= 20 && grown.added < 40, "\(grown)")
        let cut = try #require(try daemon.library.podcasts().first)
        #expect(cut.state == "active" && cut.error == nil && cut.episodes == 20 + grown.added)
        // Items after the cut do not count as removed from the feed.
        let episodes = try daemon.library.episodes(of: show.id)
        #expect(episodes.allSatisfy { $0.listed } && episodes.contains { $0.title == "Episode 1" })
        #expect(episodes.first?.title == "Episode 60")
        #expect(facts(cut).contains("larger than \(limits.bytes) bytes; the rest is ignored"))
        #expect(home.feedDocument(show.id) == String(decoding: text(60).utf8.prefix(limits.bytes), as: UTF8.self))

        // The server does not send the unchanged document again (304). The new episode of the next document is added.
        #expect(try await refresh(client) == RefreshResult(name: "Show", added: 0))
        #expect(home.web.requests(for: "/feed.xml").map(\.status) == [200, 200, 304])
        serve(text(61), etag: "\"longer\"")
        #expect(try await refresh(client).added == 1)
        #expect(try daemon.library.episodes(of: show.id).first?.title == "Episode 61")
    }

    @Test func aFeedOfExactlyTheMaximumSizeIsWhole() async throws {
        serve(text(20), etag: "\"whole\"")
        let size = text(20).utf8.count
        let (daemon, _) = try await home.subscribe { $0.feedLimits.bytes = size }
        let show = try #require(try daemon.library.podcasts().first)
        #expect(show.episodes == 20)
        #expect(!facts(show).contains("the rest is ignored"))
    }
}
