import GRDB
import PodcastFeed
import PodcastProtocol
import Testing
import Transfers

@testable import PodcastLibrary

/// Library reads and writes for feed refreshes, and subscriptions to several shows in one transaction.
struct LibraryRefreshTests {
    private var (folder, library) = makeLibrary()

    private func subscribe(_ number: Int) throws -> ShowID {
        let url = "https://e.com/\(number)"
        return try library.subscribe([makeItem("One", url: url + ".mp3")], url: url, title: "Show \(number)").podcast.id
    }

    private func unchanged(_ id: ShowID, etag: String? = nil, next: Int64? = nil) -> UnchangedFeed {
        (
            podcast: id, response: FeedResponse(finalURL: "https://e.com/x", status: 304, etag: etag, nextRefresh: next)
        )
    }

    @Test func unchangedFeedsAreWrittenTogether() throws {
        let ids = try (1...3).map(subscribe)
        try library.refreshFailed(podcast: ids[0], status: 500, error: "no", next: noon, now: noon + 1)
        try library.refreshFailed(podcast: ids[0], status: 500, error: "no", next: noon, now: noon + 2)
        #expect(try library.refreshRecord(of: ids[0]).failures == 2)
        _ = try library.merge(feed: makeFeed([]), into: ids[1], now: noon)
        let gone = try library.recordUnchanged(
            [unchanged(ids[0], next: noon + 9), unchanged(999), unchanged(ids[1]), unchanged(ids[2], etag: "\"2\"")],
            now: noon + 5)
        #expect(gone == [999])
        #expect(try library.refreshRecord(of: ids[0]).failures == 0)
        let podcasts = try ids.map { try #require(try library.podcast(id: $0)) }
        #expect(
            podcasts.map(\.httpStatus) == [304, 304, 304] && podcasts.map(\.lastRefresh) == [5, 5, 5].map { noon + $0 })
        #expect(podcasts.map(\.etag) == [nil, "\"1\"", "\"2\""])
        #expect(podcasts[0].state == "active" && podcasts[0].error == nil && podcasts[0].nextRefresh == noon + 9)
        #expect(podcasts[0].changed == noon + 5 && podcasts[2].changed == noon)
    }

    @Test func eachResponseRecordsItsAddressSpace() throws {
        let id = try subscribe(1)
        func response(_ status: Int, _ space: AddressSpace?) -> FeedResponse {
            FeedResponse(finalURL: "https://e.com/1", status: status, space: space, reach: space)
        }
        _ = try library.merge(feed: makeFeed([]), into: id, response: response(226, .local), now: noon)
        #expect(try library.showAccess(of: id)?.space == .local && library.showAccess(of: id)?.reach == .local)
        _ = try library.merge(feed: makeFeed([]), into: id, response: response(226, .public), now: noon)
        #expect(try library.showAccess(of: id)?.space == .public && library.showAccess(of: id)?.reach == .local)
        _ = try library.merge(feed: makeFeed([]), into: id, response: response(226, nil), now: noon)
        #expect(try library.showAccess(of: id)?.space == .public)
    }

    @Test func refreshSubjectsHaveTheSettingsOfTheirShows() throws {
        let ids = try (1...3).map(subscribe)
        try library.set(podcast: ids[1], key: "keep", value: "5")
        try library.setHasCredentials(podcast: ids[1], true)
        try library.set(podcast: ids[2], key: "user_agent", value: "x")
        let all = try library.refreshSubjects()
        #expect(all.map(\.id) == ids && all.map(\.name) == ["Show 1", "Show 2", "Show 3"])
        #expect(all.map(\.settings) == [[:], ["keep": "5"], ["user_agent": "x"]])
        #expect(try library.refreshSubjects(dueAt: noon) == all)
        #expect(try library.refreshSubject(of: ids[1]) == all[1])
        let found = try library.subscribe(feed: makeFeed([]), ephemeral: true)
        #expect(try library.refreshSubject(of: found.podcast.id) == nil)
        #expect(try library.refreshSubject(of: found.podcast.id, evenFound: true)?.etag == "\"1\"")
        #expect(try library.refreshSubjects() == all)
    }

    @Test func showsWithAutomaticDownloadsAreListed() throws {
        let ids = try (1...4).map(subscribe)
        let episodes = try ids.map { try #require(try library.episodes(of: $0).first).id }
        _ = try library.enqueue(episode: episodes[0], session: "s", automatic: true, now: noon)
        _ = try library.enqueue(episode: episodes[1], session: "s", now: noon)
        let partial = try library.enqueue(episode: episodes[2], session: "s", automatic: true, now: noon)
        try library.pin(Rendition(episode: episodes[2], generation: 1, file: "f"), now: noon)
        try library.removeDownload(id: partial.id)
        #expect(try library.podcastsFetchingAhead() == [ids[0], ids[2]])
        try library.complete(episode: episodes[2], generation: 1, size: 1, sha256: "", now: noon)
        #expect(try library.podcastsFetchingAhead() == [ids[0]])
    }

    // MARK: Groups of new shows

    private func arriving(_ url: String, title: String, name: String? = nil) -> ArrivingShow {
        ArrivingShow(
            url: url, feed: makeFeed([makeItem("One", url: url + ".mp3")], title: title), name: name,
            response: FeedResponse(finalURL: url, status: 200), now: noon)
    }

    @Test func newShowsOfOneTransactionGetDistinctNames() throws {
        let results = try library.subscribe(
            [
                arriving("https://e.com/1", title: "Show"), arriving("https://e.com/2", title: "SHOW"),
                arriving("https://e.com/1", title: "Show"), arriving("https://e.com/3", title: "Three", name: "show"),
                arriving("https://e.com/4", title: "Four", name: "a/b"), arriving("https://e.com/5", title: "Latest"),
            ], template: .standard)
        #expect(results.map { try? $0.get().podcast.name } == ["Show", "SHOW (2)", nil, nil, nil, "Latest (2)"])
        #expect(throws: LibraryError.alreadySubscribed(name: "Show")) { try results[2].get() }
        #expect(throws: LibraryError.nameTaken("show")) { try results[3].get() }
        #expect(throws: LibraryError.self) { try results[4].get() }
        let podcasts = try library.podcasts()
        #expect(podcasts.map(\.name) == ["Latest (2)", "Show", "SHOW (2)"])
        #expect(podcasts.allSatisfy { $0.episodes == 1 && $0.httpStatus == 200 })
    }

    @Test func aTransactionThatFailsLeavesNoneOfItsShows() throws {
        try DatabaseQueue(path: folder.library).write { db in
            try db.execute(
                sql: """
                    CREATE TRIGGER forbid BEFORE INSERT ON episode WHEN new.url LIKE '%/2.mp3'
                    BEGIN SELECT RAISE(ABORT, 'forbidden'); END
                    """)
        }
        let shows = (1...3).map { arriving("https://e.com/\($0)", title: "Show \($0)") }
        #expect(throws: LibraryError.self) { try library.subscribe(shows, template: .standard) }
        #expect(try library.podcasts().isEmpty)
        #expect(try library.subscribe([shows[0], shows[2]], template: .standard).count == 2)
        #expect(try library.podcasts().map(\.name) == ["Show 1", "Show 3"])
    }

    private func clearFutureSchedules(now: Int64) throws {
        try library.clearFutureSchedules(
            now: now, longestRefresh: .seconds(8 * 86_400), longestSync: .seconds(86_400))
    }

    /// The clock was a year ahead at the last refresh, and has been corrected since.
    @Test func refreshesScheduledTooFarAheadAreDue() throws {
        let now: Int64 = 1_800_000_000
        let year: Int64 = 365 * 86_400
        var response = FeedResponse(finalURL: feedURL, status: 200, nextRefresh: now + year + 3_600)
        let show = try library.subscribe([makeItem("One", url: "https://e.com/1.mp3")]).podcast.id
        _ = try library.merge(
            feed: makeFeed([makeItem("One", url: "https://e.com/1.mp3")]), into: show, response: response,
            now: now + year)
        #expect(try library.nextRefresh() == now + year + 3_600)
        try clearFutureSchedules(now: now)
        #expect(try library.nextRefresh() == now)
        // A plausible schedule is left unchanged.
        response.nextRefresh = now + 3_600
        _ = try library.merge(
            feed: makeFeed([makeItem("One", url: "https://e.com/1.mp3")]), into: show, response: response, now: now)
        try clearFutureSchedules(now: now)
        #expect(try library.nextRefresh() == now + 3_600)
    }

    /// Every refresh failed while the clock was a year ahead, since the servers' certificates seemed to have expired.
    @Test func failuresScheduledTooFarAheadAreDue() throws {
        let now: Int64 = 1_800_000_000
        let ahead = now + 365 * 86_400
        let (old, new) = (try subscribe(1), try subscribe(2))
        _ = try library.recordUnchanged([unchanged(old, next: now)], now: now - 3_600)
        for show in [old, new] {
            try library.refreshFailed(podcast: show, status: nil, error: "expired", next: ahead + 900, now: ahead)
        }
        try library.beginSync(SyncAccount(url: "https://s", user: "u", device: "d", kind: .gpodder), now: now)
        try library.recordSync(error: nil, isStopped: false, next: now, now: now - 3_600)
        try library.recordSync(
            error: "expired", isStopped: false, next: ahead + 60, heldUntil: ahead + 60, now: ahead)
        try clearFutureSchedules(now: now)
        #expect(try [old, new].map { try library.podcast(id: $0)?.nextRefresh } == [now, now])
        // The times of the last successes are left unchanged.
        #expect(try [old, new].map { try library.podcast(id: $0)?.lastRefresh } == [now - 3_600, noon])
        let account = try #require(try library.syncAccount())
        #expect(account.nextSync == now && account.heldUntil == nil && account.lastSync == now - 3_600)
        // Schedules with the longest permitted delays are left unchanged.
        let (refresh, sync) = (now + 8 * 86_400, now + 86_400)
        try library.refreshFailed(podcast: old, status: 503, error: "later", next: refresh, now: now)
        try library.recordSync(error: "later", isStopped: false, next: sync, heldUntil: sync, now: now)
        try clearFutureSchedules(now: now)
        #expect(try library.podcast(id: old)?.nextRefresh == refresh)
        #expect(try library.syncAccount()?.heldUntil == sync)
    }
}
