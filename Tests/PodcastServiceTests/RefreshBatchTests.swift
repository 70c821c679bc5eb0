import Platform
import PodcastFeed
import PodcastProtocol
import Synchronization
import TestSupport
import Testing
import Transfers

@testable import PodcastLibrary
@testable import PodcastService

/// Refreshes of many feeds. The daemon records all unchanged feeds in one transaction, and stores all new shows that
/// arrive together in one transaction.
@Suite(.stopsDaemons) struct RefreshBatchTests {
    private let home = ServiceHome()

    /// Subscribes to `count` shows whose feeds do not change.
    private func subscribe(_ count: Int, with client: ServiceClient) async throws {
        for number in 1...count { publish(number) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...count {
                let item = ImportItem(url: home.web.url("/\(number).xml"))
                group.addTask {
                    let reply = try await client.perform(.importShow(item))
                    #expect(reply == .imported(.added(name: "Show \(number)", episodes: 2)))
                }
            }
            try await group.waitForAll()
        }
    }

    private func publish(_ number: Int, behindItsHead gate: Gate? = nil) {
        let text = FeedBuilder.show("Show \(number)", episodes: 2) { "http://127.0.0.1:9/\($0).mp3" }.text
        let resource = Resource(text: text, etag: "\"\(number)\"")
        if let gate {
            home.web.serve("/\(number).xml", resource) { _ in .holdHead(gate) }
        } else {
            home.web.serve("/\(number).xml", resource)
        }
    }

    private func show(_ number: Int, of daemon: RunningService) throws -> Podcast {
        try #require(try daemon.library.podcast(named: "Show \(number)"))
    }

    @Test func refreshesAreReportedAfterTheyAreWritten() async throws {
        let daemon = try await home.start()
        let library = daemon.library
        let statuses = Mutex<[Int?]>([])
        let launcher = DaemonLauncher(paths: home.paths, schema: Library.schemaVersion)
        let found = try launcher.connect(
            role: .mount,
            onEvent: { event in
                guard event.task?.kind == .refresh, event.task?.state == .remote, let path = event.path,
                    let podcast = try? library.podcast(named: path)
                else { return }
                statuses.withLock { $0.append(podcast.httpStatus) }
            })
        let client = ServiceClient(connection: try #require(found), events: Journal<Event>())
        try await subscribe(150, with: client)
        #expect(try await client.perform(.watch) == .done)
        let before = home.web.requests.count
        let results = try await client.refresh()
        #expect(results.count == 150 && results.allSatisfy { $0.error == nil && $0.added == 0 })
        let podcasts = try library.podcasts()
        #expect(podcasts.allSatisfy { $0.httpStatus == 304 && $0.nextRefresh != nil && $0.etag != nil })
        #expect(home.web.requests.dropFirst(before).map(\.status) == Array(repeating: 304, count: 150))
        try await waitUntil(description: "every refresh has ended") { statuses.withLock { $0.count } == 150 }
        #expect(statuses.withLock { $0.allSatisfy { $0 == 304 } })
        #expect(try await client.tasks().isEmpty)
    }

    @Test func aRejectedRefreshDoesNotPreventTheOthers() async throws {
        let (daemon, client) = try await home.connect()
        try await subscribe(40, with: client)
        try home.forbid("BEFORE UPDATE ON podcast WHEN old.name = 'Show 7' AND new.http_status = 304")
        let results = try await client.refresh()
        #expect(results.filter { $0.error != nil }.map(\.name) == ["Show 7"])
        #expect(results.first { $0.name == "Show 7" }?.error?.contains("forbidden") == true)
        for podcast in try daemon.library.podcasts() {
            #expect(podcast.httpStatus == (podcast.name == "Show 7" ? 200 : 304))
        }
    }

    @Test func refreshesThatCannotBeRecordedAreNotRepeatedAtOnce() async throws {
        let (daemon, client) = try await home.connect()
        try await subscribe(2, with: client)
        try home.execute("UPDATE podcast SET next_refresh = 1")
        try home.forbid("BEFORE UPDATE ON podcast")
        // The connection of a client makes the daemon read the due times again.
        _ = try await daemon.connect()
        try await waitUntil(description: "the next refreshes are delayed") {
            guard let next = await daemon.service.refresher.next else { return false }
            return next > WallTime.now + .seconds(30)
        }
        try await waitUntil(description: "both feeds were fetched") { home.web.requests.count >= 4 }
        #expect(home.web.requests.count == 4)
        try home.allow()
        #expect(try await client.refresh().allSatisfy { $0.error == nil })
        #expect(try daemon.library.podcasts().allSatisfy { $0.httpStatus == 304 })
        #expect(await daemon.service.refresher.recordingBackoff.until == nil)
    }

    @Test func changesWhileAFeedWaitsTakeEffect() async throws {
        let (daemon, client) = try await home.connect()
        try await subscribe(5, with: client)
        let gate = Gate(heldAt: 0)
        for number in 1...2 { publish(number, behindItsHead: gate) }
        async let refreshed = client.refresh()
        try await waitUntil(description: "two more feeds are requested") { home.web.requests.count == 7 }
        #expect(try await client.tasks().map(\.path).sorted() == ["Show 1", "Show 2"])
        _ = try await client.perform(
            .set(podcast: try show(3, of: daemon).id, assignments: ["user_agent=Other/1"]))
        _ = try await client.perform(.rename(podcast: try show(4, of: daemon).id, episode: nil, name: "Another"))
        for number in [1, 5] { try await client.perform(.unsubscribe(podcast: try show(number, of: daemon).id)) }
        gate.open()
        let results = try await refreshed
        #expect(results.filter { $0.error == nil }.map(\.name) == ["Another", "Show 2", "Show 3"])
        #expect(results.count == 5)
        #expect(home.web.requests(for: "/3.xml").map { $0.headers["User-Agent"] } == ["podfs-test", "Other/1"])
        #expect(home.web.requests(for: "/3.xml").map(\.status) == [200, 304])
        #expect(home.web.requests(for: "/5.xml").count == 1)
        #expect(home.web.peakConcurrentRequests == 2)
    }

    @Test func anAnswerIsWrittenWhileAnotherIsAwaited() async throws {
        let (daemon, client) = try await home.connect()
        try await subscribe(2, with: client)
        let gate = Gate(heldAt: 0)
        publish(1, behindItsHead: gate)
        async let slow = client.refresh(try show(1, of: daemon).id)
        try await waitUntil(description: "the first feed is requested") { home.web.requests.count == 3 }
        #expect(try await client.refresh(try show(2, of: daemon).id) == [RefreshResult(name: "Show 2", added: 0)])
        #expect(try show(2, of: daemon).httpStatus == 304 && show(1, of: daemon).httpStatus == 200)
        gate.open()
        #expect(try await slow == [RefreshResult(name: "Show 1", added: 0)])
    }

    @Test func anExitIsNotRecordedAsAFeedsFailure() async throws {
        let (daemon, client) = try await home.connect()
        try await subscribe(1, with: client)
        let gate = Gate(heldAt: 0)
        publish(1, behindItsHead: gate)
        let before = try show(1, of: daemon)
        async let refreshed = daemon.service.refresher.refresh([before.id])
        try await waitUntil(description: "the feed is requested") { home.web.requests.count == 2 }
        await daemon.stop()
        #expect(try await refreshed.map { $0.error != nil } == [true])
        #expect(try show(1, of: daemon) == before)
        gate.open()
    }

    @Test func aPermanentRedirectMovesAnUnchangedFeed() async throws {
        let (daemon, client) = try await home.connect()
        try await subscribe(2, with: client)
        let text = FeedBuilder.show("Show 1", episodes: 2) { "http://127.0.0.1:9/\($0).mp3" }.text
        home.web.serve("/new.xml", Resource(text: text, etag: "\"1\""))
        home.web.serve("/1.xml") { _ in .redirect(to: "/new.xml", status: 301) }
        #expect(try await client.refresh().allSatisfy { $0.error == nil && $0.added == 0 })
        #expect(home.web.requests(for: "/new.xml").map(\.status) == [304])
        #expect(try show(1, of: daemon).url == home.web.url("/new.xml"))
    }

    // MARK: New shows

    private func arriving(_ number: Int, episode title: String = "Episode") -> ArrivingShow {
        var item = Item()
        item.title = title
        item.enclosures = [Enclosure(url: "http://127.0.0.1:9/\(number).mp3", length: nil, type: "audio/mpeg")]
        var feed = Feed(format: .rss2)
        feed.title = "Show"
        feed.items = [item]
        let url = "http://127.0.0.1:9/\(number).xml"
        return ArrivingShow(
            url: url, feed: feed, name: nil, response: FeedResponse(finalURL: url, status: 200), now: 1_000)
    }

    @Test func aRejectedShowDoesNotPreventTheOthers() async throws {
        let library = try Library.openForWriting(at: home.paths.library)
        let writer = ArrivalWriter(library: library, template: .standard)
        try home.forbid("BEFORE INSERT ON episode WHEN new.title = 'Bad'")
        let failures = await withTaskGroup(of: Int?.self) { group in
            for number in 1...60 {
                group.addTask {
                    let show = arriving(number, episode: number % 20 == 0 ? "Bad" : "Good")
                    return (try? await writer.store(show)) == nil ? number : nil
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(failures.compactMap(\.self)) == [20, 40, 60])
        let podcasts = try library.podcasts()
        #expect(podcasts.count == 57 && podcasts.allSatisfy { $0.episodes == 1 })
    }
}
