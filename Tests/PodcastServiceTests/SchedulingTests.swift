import Foundation
import PodcastLibrary
import PodcastProtocol
import Synchronization
import SystemPackage
import TestSupport
import Testing
import Transfers

@testable import PodcastService

/// Scheduled refreshes, feeds that move, and the consequences of a refresh.
@Suite(.stopsDaemons) struct SchedulingTests {
    private let home = ServiceHome()

    /// Makes every feed due a second after its refresh.
    private func eager(_ configuration: inout ServiceConfiguration) {
        configuration.schedule = RefreshSchedule(minimum: 1, maximum: 1)
    }

    private func show(_ daemon: RunningService) throws -> Podcast { try #require(try daemon.library.podcasts().first) }

    // MARK: The schedule

    @Test func aScheduledRefreshAddsNewEpisodes() async throws {
        home.publish(etag: "\"a\"")
        let (daemon, client) = try await home.subscribe(eager)
        try await waitUntil(description: "a conditional request is sent automatically") {
            home.web.requests(for: "/feed.xml").contains { $0.headers["if-none-match"] == "\"a\"" }
        }
        home.publish(episodes: 2, etag: "\"b\"")
        try await client.event("of the show") { event in
            event.kind == .library && event.show != nil && (try? daemon.library.podcasts().first?.episodes) == 2
        }
    }

    @Test func aRefusingHostIsNotAskedAgainAndTheErrorSaysSo() async throws {
        home.publish()
        let (daemon, client) = try await home.subscribe()
        home.web.serve("/feed.xml", behaviour: { _ in .retryAfter("7200", status: 429) })
        #expect(try await client.refresh()[0].error?.contains("429") == true)
        let requests = home.web.requests.count
        #expect(try await client.refresh()[0].error?.contains("accepts no requests") == true)
        #expect(home.web.requests.count == requests)
        let next = try #require(try show(daemon).nextRefresh)
        #expect(next > Int64(Date().timeIntervalSince1970) + 7_000)
    }

    // MARK: Moving

    @Test func aNewAddressInTheFeedIsFollowedIfItHasTheSameShow() async throws {
        home.publish()
        let (daemon, client) = try await home.subscribe()
        func publish(_ path: String, title: String, naming address: String?) {
            var feed = FeedBuilder.show(title, episodes: 2) { self.home.web.url("/\(title)-\($0).mp3") }
            if let address { feed.raw = "<itunes:new-feed-url>\(address)</itunes:new-feed-url>" }
            home.web.serve(path, Resource(text: feed.text))
        }
        // The show does not move to another show's feed or to a missing one.
        publish("/other.xml", title: "other", naming: nil)
        publish("/feed.xml", title: "feed", naming: home.web.url("/other.xml"))
        try await client.refresh()
        #expect(try show(daemon).url == home.web.url("/feed.xml"))
        publish("/feed.xml", title: "feed", naming: home.web.url("/missing.xml"))
        try await client.refresh()
        #expect(try show(daemon).url == home.web.url("/feed.xml"))
        // The two feeds name each other: the show moves once, and not back.
        publish("/next.xml", title: "feed", naming: home.web.url("/feed.xml"))
        publish("/feed.xml", title: "feed", naming: home.web.url("/next.xml"))
        for _ in 0..<3 { try await client.refresh() }
        #expect(try show(daemon).url == home.web.url("/next.xml"))
        #expect(try show(daemon).episodes == 2)
    }

    // MARK: An address that is refused

    @Test func aReaderOfAnExpiredAddressGetsTheFeedsNewOne() async throws {
        home.publish(size: 300_000)
        let (daemon, client, id) = try await home.subscribeToEpisode()
        home.web.serve("/feed-1.mp3", behaviour: { _ in .status(403) })
        let moved = FeedBuilder.show("Show", episodes: 1, length: 300_000) { _ in self.home.web.url("/moved.mp3") }
        home.web.serve("/feed.xml", Resource(text: moved.text))
        home.web.serve("/moved.mp3", Resource(home.content(1, size: 300_000), etag: "\"m1\""))
        let grant = try await client.open(id)
        #expect(grant.total == 300_000)
        _ = try await client.read(id, 0..<300_000)
        try await client.completion(of: id)
        #expect(home.web.requests(for: "/feed-1.mp3").count == 1)
        #expect(try daemon.episode().url == home.web.url("/moved.mp3"))
    }

    // MARK: Automatic downloads and retention

    private func set(_ client: ServiceClient, _ daemon: RunningService, _ assignments: String...) async throws {
        try await client.perform(.set(podcast: try show(daemon).id, assignments: assignments))
    }

    @Test func theNewestAreDownloadedAutomaticallyAndOlderOnesEvicted() async throws {
        home.publish(episodes: 3)
        let (daemon, client) = try await home.subscribe()
        try await set(client, daemon, "auto_download=2")
        for number in [2, 3] { try await client.completion(of: try daemon.episode(number).id) }
        #expect(try !daemon.episode(1).complete)
        home.publish(episodes: 4)
        try await client.refresh()
        try await client.completion(of: try daemon.episode(4).id)
        try await waitUntil(description: "the second episode is evicted") { try daemon.episode(2).cachedBytes == 0 }
        #expect(try daemon.episode(3).complete)
        #expect(home.web.requests(for: "/feed-1.mp3").isEmpty)
    }

    /// The plan is carried out later, and a person may request a download before that.
    @Test func aRequestAfterThePlanIsNotCancelled() async throws {
        home.publish(episodes: 2)
        let gate = Gate(heldAt: 1_000)
        home.web.serve("/feed-2.mp3", Resource(home.content(2), etag: "\"m2\"")) { _ in .hold(gate) }
        let (daemon, client) = try await home.subscribe()
        try await set(client, daemon, "auto_download=1")
        let (show, episode) = (try show(daemon).id, try daemon.episode(2).id)
        try await client.event("it runs") { $0.episode == episode && $0.task?.state == .running }
        try daemon.library.setPlayed(episode: episode, true, now: 1)
        try daemon.library.set(podcast: show, key: "auto_download_title", value: "nothing", now: 1)
        let service = daemon.service
        try await startTask {
            try service.refresher.tidier.tidy(show)
            _ = try await service.tasks.act(.download, on: [episode])
        }.value
        gate.open()
        try await client.completion(of: episode)
    }

    @Test func anEvictedEpisodeIsNotDownloadedAutomaticallyAgain() async throws {
        home.publish(episodes: 2)
        let (daemon, client) = try await home.subscribe()
        try await set(client, daemon, "auto_download=1")
        let newest = try daemon.episode(2).id
        try await client.completion(of: newest)
        #expect(try await client.act(.evict, newest).count == 1)
        home.web.clearLog()
        try await client.refresh()
        #expect(try daemon.library.downloads().isEmpty)
        #expect(home.web.requests.map(\.path) == ["/feed.xml"])
        // The eviction has marked the episode as declined. A download command clears the mark.
        try await client.act(.download, newest)
        try await waitUntil(description: "the episode is complete again") { try daemon.episode(2).complete }
    }

    @Test func automaticDownloadsWaitOnAMeteredLinkAndReadersDoNot() async throws {
        home.publish(episodes: 2)
        let isMetered = Mutex(true)
        let (daemon, client) = try await home.subscribe {
            $0.conditions = {
                LinkConditions(isMetered: isMetered.withLock { $0 }, isOnBattery: false)
            }
            $0.conditionLifetime = .milliseconds(50)
            $0.autoDownload = 1
        }
        let newest = try daemon.episode(2).id
        try await waitUntil(description: "the download waits") {
            try await client.tasks().first { $0.episode == newest }?.state == .queued
        }
        #expect(home.web.requests(for: "/feed-2.mp3").isEmpty)
        // A user's read does not wait.
        _ = try await client.read(try daemon.episode(1).id, 0..<200_000)
        #expect(home.web.requests(for: "/feed-2.mp3").isEmpty)
        isMetered.withLock { $0 = false }
        try await client.completion(of: newest)
    }

    @Test func episodesBeyondKeepLeaveTheLibrary() async throws {
        home.publish(episodes: 4)
        let (daemon, client) = try await home.subscribe()
        let ids = try (1...4).map { try daemon.episode($0).id }
        try await client.download(ids[0])
        try await client.act(.pin, ids[1])
        // A cached episode would be removed: the command fails unless it is confirmed.
        let id = try show(daemon).id
        let refusal = await client.failure(of: .set(podcast: id, assignments: ["keep=2 episodes", "auto_download=1"]))
        #expect(refusal?.kind == .refused)
        #expect(
            refusal?.message
                == "keep='2 episodes' removes 1 of 4 episodes of Show, 1 of them cached (195.3 KiB): nothing was changed; "
                + "add --yes to go on")
        #expect(try daemon.library.settings(of: id).isEmpty)
        #expect(try daemon.library.episodes(of: id).count == 4 && home.cacheFiles.count == 1)
        let change = KeepChange(removed: 1, total: 4, bytes: 200_000, returned: 0)
        #expect(
            try await client.perform(.set(podcast: id, assignments: ["keep=2 episodes"], confirmed: true))
                == .settings(["keep": "2 episodes"], kept: change))
        #expect(try daemon.library.episodes(of: show(daemon).id).map(\.id) == [ids[3], ids[2], ids[1]])
        #expect(home.cacheFiles.isEmpty)
        // The next refresh does not add the removed episodes again.
        home.publish(episodes: 4, etag: "\"again\"")
        try await client.refresh()
        #expect(try daemon.library.episodes(of: show(daemon).id).count == 3)
    }

    @Test func aWiderKeepRestoresListedEpisodesWithTheirNames() async throws {
        home.publish(episodes: 5, etag: "\"v1\"")
        let (daemon, client) = try await home.subscribe()
        let id = try show(daemon).id
        let before = try daemon.library.episodes(of: id).map { [$0.name, "\($0.id)"] }
        // No episode is cached or played, so no confirmation is needed. The response counts the removed episodes.
        let narrow = try await client.perform(.set(podcast: id, assignments: ["keep=1 episode"]))
        let removed = KeepChange(removed: 4, total: 5, bytes: 0, returned: 0)
        #expect(narrow == .settings(["keep": "1 episode"], kept: removed))
        #expect(try daemon.library.refreshSubject(of: id)?.etag == "\"v1\"")
        let wider = try await client.perform(.set(podcast: id, assignments: ["keep=3 episodes"]))
        let returned = KeepChange(removed: 0, total: 1, bytes: 0, returned: 2)
        #expect(wider == .settings(["keep": "3 episodes"], kept: returned))
        #expect(try daemon.library.episodes(of: id).map { [$0.name, "\($0.id)"] } == Array(before[..<3]))
        _ = try await client.perform(.set(podcast: id, assignments: ["keep="]))
        #expect(try daemon.library.episodes(of: id).map { [$0.name, "\($0.id)"] } == before)
        // The next refresh fetches the feed unconditionally, and changes nothing.
        #expect(try daemon.library.refreshSubject(of: id)?.etag == nil)
        try await client.refresh()
        #expect(home.web.requests(for: "/feed.xml").last?.headers["if-none-match"] == nil)
        #expect(try daemon.library.episodes(of: id).map { [$0.name, "\($0.id)"] } == before)
    }

    /// The configuration file applies to all shows without a `keep` of their own.
    @Test(arguments: [(Keep.episodes(2), 2), (.all, 3), (.listed, 3), (.episodes(1), 1)])
    func aWiderKeepInTheConfigurationRestoresEpisodes(keep: Keep, left: Int) async throws {
        home.publish(episodes: 3, etag: "\"v1\"")
        home.publish("Other", episodes: 3, path: "/other.xml")
        var daemon = try await home.start { $0.keep = .episodes(1) }
        let client = try await daemon.connect()
        for path in ["/feed.xml", "/other.xml"] { try await client.subscribe(home.web.url(path)) }
        let other = try #require(try daemon.library.podcasts().first { $0.name == "Other" }).id
        _ = try await client.perform(.set(podcast: other, assignments: ["keep=1 episode"]))
        await daemon.stop()
        home.web.clearLog()
        for _ in 0..<2 {
            daemon = try await home.start { $0.keep = keep }
            let shows = try daemon.library.podcasts()
            #expect(shows.first { $0.name == "Show" }?.episodes == left)
            #expect(shows.first { $0.name == "Other" }?.episodes == 1)
            await daemon.stop()
        }
        #expect(home.web.requests.isEmpty)
    }

    /// A mount opens cached files without asking the daemon. A lease, a lock on the file, shows that it is in use.
    @Test func anEpisodeWithALeaseIsNotRemoved() async throws {
        home.publish(episodes: 3)
        let (daemon, client) = try await home.subscribe()
        let ids = try (1...3).map { try daemon.episode($0).id }
        for id in ids[..<2] {
            try await client.download(id)
        }
        let file = try #require(try daemon.library.rendition(of: ids[0])?.file)
        let reader = try MediaReader(name: file, in: FilePath(home.paths.cache))
        _ = try await client.perform(
            .set(podcast: try show(daemon).id, assignments: ["keep=1 episode"], confirmed: true))
        #expect(try daemon.library.episodes(of: show(daemon).id).map(\.id) == [ids[2], ids[0]])
        #expect(home.cacheFiles == [file])
        withExtendedLifetime(reader) {}
    }

    @Test func aTruncatedOrEmptyFeedRemovesNothing() async throws {
        home.publish(episodes: 4)
        let (daemon, client) = try await home.subscribe()
        try await set(client, daemon, "keep=listed")
        let whole = FeedBuilder.show("Show", episodes: 4) { self.home.web.url("/feed-\($0).mp3") }
        let text = whole.text
        home.web.serve("/feed.xml", Resource(text: String(text.prefix(text.count * 2 / 3))))
        try await client.refresh()
        #expect(try show(daemon).episodes == 4)
        var empty = whole
        empty.items = []
        home.web.serve("/feed.xml", Resource(text: empty.text))
        try await client.refresh()
        #expect(try show(daemon).episodes == 4)
        // Episodes that the whole feed no longer lists are removed.
        var shorter = whole
        shorter.items.removeLast()
        home.web.serve("/feed.xml", Resource(text: shorter.text))
        try await client.refresh()
        #expect(try show(daemon).episodes == 3)
    }

    @Test func settingsAreAllSetOrNone() async throws {
        home.publish()
        let (daemon, client) = try await home.subscribe()
        let id = try show(daemon).id
        let failure = await client.failure(of: .set(podcast: id, assignments: ["auto_download=3", "kep=all"]))
        #expect(failure?.kind == .usage && failure?.message.contains("did you mean 'keep'?") == true)
        #expect(try await client.perform(.set(podcast: id, assignments: [])) == .settings([:]))
        let set = try await client.perform(.set(podcast: id, assignments: ["keep=5 episodes", "user_agent=x/1"]))
        #expect(set == .settings(["keep": "5 episodes", "user_agent": "x/1"]))
        _ = try await client.read(try daemon.episode().id, 0..<10)
        #expect(home.web.requests(for: "/feed-1.mp3").first?.headers["user-agent"] == "x/1")
        #expect(try await client.perform(.set(podcast: id, assignments: ["keep="])) == .settings(["user_agent": "x/1"]))
    }
}
