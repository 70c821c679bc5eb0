import Foundation
import PodcastLibrary
import PodcastProtocol
import TestSupport
import Testing
import Transfers

@testable import PodcastService

@Suite(.stopsDaemons) struct RefreshingTests {
    private let home = ServiceHome()

    @Test func aNewEpisodeIsAddedAndReported() async throws {
        home.publish(episodes: 2, etag: "\"f1\"")
        let (daemon, client) = try await home.subscribe()
        let podcast = try #require(try daemon.library.podcasts().first)
        let known = try daemon.episode(2)
        let events = client.events.entries.count
        home.publish(episodes: 3, etag: "\"f2\"")
        #expect(try await client.refresh(podcast.id) == [RefreshResult(name: "Show", added: 1)])
        #expect(try daemon.episode(3).name == "2026-01-03 Episode 3.mp3")
        #expect(try daemon.episode(2) == known)
        let new = client.events.entries.dropFirst(events)
        let event = try #require(new.first { $0.kind == .library })
        #expect(event.show == podcast.id && event.path == "Show")
        // The events report a task for the refresh. The task has been removed since.
        let reports = new.compactMap(\.task).filter { $0.kind == .refresh }
        #expect(reports.map(\.state) == [.running, .remote] && reports.allSatisfy { $0.id < 0 })
        #expect(try await client.tasks().isEmpty)
    }

    @Test func aFailureIsRecordedUntilTheFeedIsBack() async throws {
        home.publish(episodes: 2)
        let (daemon, client) = try await home.subscribe()
        home.web.serve("/feed.xml", behaviour: { _ in .status(500) })
        let failed = try await client.refresh()
        #expect(failed.count == 1 && failed[0].added == 0 && failed[0].error?.contains("500") == true)
        var podcast = try #require(try daemon.library.podcasts().first)
        #expect(podcast.state == "failed" && podcast.httpStatus == 500 && podcast.error == failed[0].error)
        #expect(podcast.episodes == 2)
        // A web page in place of the feed does not remove the episodes.
        home.web.serve("/feed.xml", Resource(text: "<html><body>parked</body></html>", contentType: "text/html"))
        #expect(try await client.refresh()[0].error != nil)
        #expect(try daemon.library.podcasts().first?.episodes == 2)
        home.publish(episodes: 3)
        #expect(try await client.refresh() == [RefreshResult(name: "Show", added: 1)])
        podcast = try #require(try daemon.library.podcasts().first)
        #expect(podcast.state == "active" && podcast.error == nil)
    }

    /// A 410 after a temporary redirect is about the target of the redirect. It does not say that the feed is gone from
    /// its own address.
    @Test func aShowStaysScheduledAfterA410ThatFollowsATemporaryRedirect() async throws {
        home.publish(episodes: 2)
        let (daemon, client) = try await home.subscribe()
        home.web.serve("/feed.xml") { _ in .redirect(to: "/cdn.xml", status: 302) }
        home.web.serve("/cdn.xml") { _ in .status(410) }
        let failed = try await client.refresh()
        #expect(failed.first?.error?.contains("410 after a temporary redirect") == true)
        let podcast = try #require(try daemon.library.podcasts().first)
        #expect(podcast.state == "failed" && podcast.httpStatus == 410 && podcast.nextRefresh != nil)
        #expect(try daemon.library.refreshSubjects(dueAt: .max).map(\.id) == [podcast.id])
        home.web.serve("/feed.xml") { _ in .redirect(to: "/cdn.xml", status: 301) }
        #expect(try await client.refresh().first?.error?.contains("has ended") == true)
        let gone = try #require(try daemon.library.podcasts().first)
        #expect(gone.state == "gone" && gone.nextRefresh == nil && gone.episodes == 2)
        #expect(try daemon.library.refreshSubjects(dueAt: .max).isEmpty)
    }

    /// A feed that changes all its guids has as many new episodes as it has items.
    @Test func aFewHooksRunAtATimeAndNoneIsLost() async throws {
        home.publish(episodes: 1)
        let marks = home.directory.file("marks")
        let (_, client) = try await home.subscribe {
            $0.onNewEpisode = "echo + >> '\(marks)'; sleep 0.02; echo - >> '\(marks)'"
        }
        home.publish(episodes: 61)
        #expect(try await client.refresh().map(\.added) == [60])
        var lines: [Substring] = []
        try await waitUntil(description: "all hooks have run") {
            lines = ((try? String(contentsOfFile: marks, encoding: .utf8)) ?? "").split(separator: "\n")
            return lines.count == 120
        }
        var (running, most) = (0, 0)
        for line in lines {
            running += line == "+" ? 1 : -1
            most = max(most, running)
        }
        #expect(running == 0 && most <= CoreDriver.mostHooks)
    }

    /// A server that refuses the default user agent refuses it on all pages, and at a new address, too.
    @Test func furtherPagesAndTheNewAddressAreRequestedWithTheShowsUserAgent() async throws {
        home.publish()
        let (daemon, client) = try await home.subscribe()
        let id = try #require(try daemon.library.podcasts().first?.id)
        try await client.perform(.set(podcast: id, assignments: ["user_agent=Other/1"]))
        let all = FeedBuilder.show("Show", episodes: 2) { home.web.url(home.media($0)) }
        func serve(_ path: String, _ items: [FeedBuilder.Item], raw: String = "") {
            let text = FeedBuilder(title: "Show", raw: raw, items: items).text
            home.web.serve(path, Resource(text: text)) { request in
                request.headers["User-Agent"] == "Other/1" ? .normal : .status(403)
            }
        }
        let newest = all.items.filter { $0.title == "Episode 1" }
        let next = "<atom:link rel=\"next\" href=\"\(home.web.url("/older.xml"))\"/>"
        let moved = "<itunes:new-feed-url>\(home.web.url("/new.xml"))</itunes:new-feed-url>"
        serve("/feed.xml", newest, raw: next + moved)
        serve("/older.xml", all.items.filter { $0.title != "Episode 1" })
        serve("/new.xml", all.items)
        #expect(try await client.refresh(id) == [RefreshResult(name: "Show", added: 1)])
        #expect(home.web.requests(for: "/older.xml").map(\.status) == [200])
        #expect(try daemon.library.podcast(id: id)?.url == home.web.url("/new.xml"))
    }
}
