import Foundation
import Fuse
import PodcastFilesystem
import PodcastLibrary
import PodcastProtocol
import TestSupport
import Testing
import Transfers

/// The HTML pages, as files.
struct PageFileTests {
    private let mounted: Mounted

    init() throws { mounted = try Mounted() }

    private func count(_ part: String, in text: String) -> Int { text.components(separatedBy: part).count - 1 }

    @Test(arguments: [(500, "500 episodes"), (501, "the first 500 episodes")])
    func aViewsPageSaysWhetherItIsCut(episodes: Int, text: String) async throws {
        try mounted.subscribe(episodes: episodes)
        try mounted.library.setView(named: "All", ["limit=none"], now: 0)
        let page = try await mounted.content("All", "index.html")
        #expect(page.contains("<span>\(text)</span>") && count("<details>", in: page) == 500)
    }

    @Test func aShowsPageFollowsTheLibrary() async throws {
        var feed = FeedBuilder.show("Show", episodes: 3, length: 500_000) { "http://127.0.0.1:9/\($0).mp3" }
        feed.items[0].description = "<p>Three</p><script>alert(1)</script>"
        feed.items[0].duration = "1:01"
        feed.items[1].raw = """
            <psc:chapters xmlns:psc="http://podlove.org/simple-chapters">\
            <psc:chapter start="00:01:30.5" title="&lt;Two&gt;"/></psc:chapters>
            """
        let podcast = try mounted.subscribe(feed)
        let before = try await mounted.content("Show", "index.html")
        #expect(count("<audio ", in: before) == 3 && count("class=\"remote\"", in: before) == 3)
        #expect(before.contains("<p>Three</p>") && !before.contains("alert"))
        #expect(before.contains("data-start=\"90.5\"><span>1:30</span><span dir=\"auto\">&lt;Two&gt;</span>"))
        #expect(before.contains("<span>1:01</span><span>488.3 KiB</span>"))
        try mounted.store(TestContent(seed: 1, size: 400_000), of: try mounted.episode(2))
        let after = try await mounted.content("Show", "index.html")
        #expect(count("class=\"remote\"", in: after) == 2 && count("class=\"cached\"", in: after) == 1)
        #expect(after.contains("<span>1 downloaded</span>") && after.contains("<span>390.6 KiB</span>"))
        let attributes = try mounted.entry("Show", "index.html").attributes
        #expect(attributes.inode == NodeNumber(kind: .page, row: podcast.id).inode)
        #expect(attributes.modified == 1_700_000_300)
    }

    /// The size of a page and of a playlist is that of their content, also if the names and titles have many characters
    /// that are escaped, and the rows do not fit. Progress in an episode changes it as little as a download does.
    @Test(arguments: [0, 1, 40, 700])
    func theSizeFollowsFromNamesAndTitles(episodes: Int) async throws {
        var feed = FeedBuilder.show("Show & <more>", episodes: episodes) { "http://127.0.0.1:9/\($0).mp3" }
        let notes = String(repeating: "<a href=\"https://example.com/?a&amp;b\">&quot;notes&quot;</a> ", count: 300)
        for index in feed.items.indices {
            feed.items[index].title = "\"Episode\" #\(index): <a> & <b> 🎧"
            feed.items[index].description = notes
        }
        let show = try mounted.subscribe(feed)
        let folder = try #require(try mounted.library.folder(id: show.id)).name
        let page = try await mounted.content(folder, "index.html")
        let rows = count("<li id=\"e", in: page)
        #expect(rows == min(episodes, rows) && (rows == episodes) == (episodes < 700))
        let older = page.components(separatedBy: "id=\"older\">").dropFirst().first?.components(
            separatedBy: "</script>")
        let data = try older.map { try JSONSerialization.jsonObject(with: Data($0[0].utf8)) as? [Any] ?? [] } ?? []
        #expect(rows + data.count == episodes)
        let playlist = try await mounted.content(folder, "playlist.m3u8")
        #expect(count("#EXTINF", in: playlist) == episodes)
        guard let episode = try mounted.library.episodes(of: show.id).first else { return }
        let before = try mounted.entry(folder, "index.html").attributes
        let listed = try mounted.entry(folder, "playlist.m3u8").attributes
        try mounted.library.setPosition(episode: episode.id, 50, now: 1_800_000_000)
        let after = try mounted.entry(folder, "index.html").attributes
        #expect(after.size == before.size && after.modified == 1_800_000_000)
        #expect(try mounted.entry(folder, "playlist.m3u8").attributes.modified == listed.modified)
        #expect(try await mounted.content(folder, "index.html") != page)
    }

    @Test func chaptersThatWereFetchedAreOnThePage() async throws {
        var feed = FeedBuilder.show("Show", episodes: 1) { "http://127.0.0.1:9/\($0).mp3" }
        feed.items[0].raw = "<podcast:chapters url=\"http://127.0.0.1:9/c.json\" type=\"application/json+chapters\"/>"
        try mounted.subscribe(feed)
        let link = "href=\".chapters/2026-01-01%20Episode%201.json\""
        #expect(try await mounted.content("Show", "index.html").contains(link))
        let file = AssetKind.chapters.fileName(try mounted.episode().id.rawValue)
        let text = "{\"version\":\"1.2.0\",\"chapters\":[{\"startTime\":7,\"title\":\"A & B\"}]}"
        try Data(text.utf8).write(to: URL(fileURLWithPath: "\(mounted.paths.assets)/\(file)"))
        let page = try await mounted.content("Show", "index.html")
        #expect(!page.contains(link) && page.contains("<span>0:07</span><span dir=\"auto\">A &amp; B</span>"))
        try Data("<html>".utf8).write(to: URL(fileURLWithPath: "\(mounted.paths.assets)/\(file)"))
        #expect(try await mounted.content("Show", "index.html").contains(link))
    }

    /// A page contains at most 3,000 chapters that the feed itself lists. Fetched chapters have a second budget of
    /// 3,000, from which both kinds of chapters are subtracted in the order of the episodes. Here the first 17 episodes
    /// have 2,200 fetched and 1,200 listed chapters, which exceed that budget. Eleven episodes with fetched chapters
    /// follow.
    @Test func aPageWithMoreChaptersThanItsLimitIsRendered() async throws {
        var feed = FeedBuilder.show("Show", episodes: 28) { "http://127.0.0.1:9/\($0).mp3" }
        let listed = (0..<200).map { "<psc:chapter start=\"\($0)\" title=\"Listed\"/>" }.joined()
        let fetched = (0..<200).map { "{\"startTime\":\($0),\"title\":\"Fetched\"}" }.joined(separator: ",")
        for index in feed.items.indices {
            feed.items[index].raw =
                (11..<17).contains(index)
                ? "<psc:chapters xmlns:psc=\"http://podlove.org/simple-chapters\">\(listed)</psc:chapters>"
                : "<podcast:chapters url=\"http://127.0.0.1:9/c.json\" type=\"application/json+chapters\"/>"
        }
        try mounted.subscribe(feed)
        for episode in try mounted.library.episodes(of: try #require(try mounted.library.podcasts().first).id) {
            let file = AssetKind.chapters.fileName(episode.id.rawValue)
            let text = "{\"version\":\"1.2.0\",\"chapters\":[\(fetched)]}"
            try Data(text.utf8).write(to: URL(fileURLWithPath: "\(mounted.paths.assets)/\(file)"))
        }
        let page = try await mounted.content("Show", "index.html")
        #expect(page.components(separatedBy: ">Fetched<").count > 2_000)
        #expect(page.contains(">Listed<") && page.contains("</html>"))
    }

    @Test func theStatusPageShowsTasksAndTheirRate() async throws {
        try mounted.subscribe()
        let task = TaskInfo(
            id: 4, kind: .download, path: "Show/2026-01-01 Episode 1.mp3", episode: try mounted.episode().id,
            state: .running, received: 250_000, expected: 500_000, rate: 1_024, error: nil, started: 1_700_000_000)
        let daemon = try await mounted.daemon(tasks: [task])
        try await waitUntil { try await mounted.content(".status.html").contains("<span>1 running</span>") }
        let page = try await mounted.content(".status.html")
        #expect(page.contains("value=\"50.0\"") && page.contains("peak 1.0 KiB/s in the last 120 seconds"))
        #expect(try mounted.entry(".status.html").attributeTimeout == 0)
        var report = TaskInfo(id: 4, state: .cached)
        report.episode = task.episode
        daemon.send(Event(sequence: 1, time: 1_700_000_000, .completed(report)))
        try await waitUntil { try await mounted.content(".status.html").contains("no active tasks") }
    }
}

struct RateHistoryTests {
    @Test func aRateAppliesUntilTheNextReport() {
        var history = RateHistory()
        #expect(history.values(until: 1_000) == Array(repeating: 0, count: RateHistory.length))
        history.record(5, at: 997)
        history.record(7, at: 999)
        history.record(8, at: 999)
        #expect(history.values(until: 1_000).suffix(5) == [0, 5, 5, 8, 8])
        #expect(history.values(until: 1_000).count == RateHistory.length)
        // A sample from a clock set back by a second replaces the newest one.
        history.record(9, at: 998)
        #expect(history.values(until: 1_000).suffix(5) == [0, 5, 5, 9, 9])
    }

    @Test func oldSamplesAreDroppedExceptTheLastThatApplies() {
        var history = RateHistory()
        for second in 0..<10_000 { history.record(Double(second), at: Int64(second)) }
        #expect(history.values(until: 9_999) == (9_880..<10_000).map(Double.init))
        #expect(history.values(until: 100_000) == Array(repeating: 9_999, count: RateHistory.length))
        history.record(1, at: 100_000)
        #expect(history.values(until: 100_000) == Array(repeating: 9_999, count: RateHistory.length - 1) + [1])
    }
}

/// The feeds for other people's podcast clients. A client that sends If-Modified-Since fetches a changed feed only if
/// its mtime has moved.
struct SharedFeedFileTests {
    private let mounted: Mounted
    private let show: Podcast

    init() throws {
        mounted = try Mounted { $0.shareBase = "https://nas.example/podcasts" }
        show = try mounted.subscribe("Show", episodes: 2)
    }

    private func feed(of folder: String) async throws -> (text: String, modified: Int64) {
        let modified = try mounted.entry(folder, "feed.xml").attributes.modified
        return (try await mounted.content(folder, "feed.xml"), modified)
    }

    @Test func renamingAShowMovesTheTimeOfTheFeedsThatContainItsFolder() async throws {
        let before = try await feed(of: "Latest")
        #expect(before.text.contains("https://nas.example/podcasts/Show/2026-01-02%20Episode%202.mp3"))
        try mounted.library.renamePodcast(id: show.id, to: "Other", now: before.modified + 100)
        let after = try await feed(of: "Latest")
        #expect(after.text.contains("https://nas.example/podcasts/Other/2026-01-02%20Episode%202.mp3"))
        #expect(after.modified == before.modified + 100)
        #expect(try await feed(of: "Other").modified == before.modified + 100)
    }

    @Test func theSettingShareMovesTheTimeOfTheFeeds() async throws {
        let before = try await feed(of: "Latest")
        try mounted.library.set(podcast: show.id, key: "share", value: "false", now: before.modified + 100)
        let without = try await feed(of: "Latest")
        #expect(!without.text.contains("<item>") && without.modified == before.modified + 100)
        try mounted.library.set(podcast: show.id, key: "share", value: nil, now: before.modified + 200)
        let again = try await feed(of: "Latest")
        #expect(again.text.contains("<item>") && again.modified == before.modified + 200)
        #expect(try await feed(of: "Show").modified == before.modified + 200)
        try mounted.library.set(podcast: show.id, key: "keep", value: "3", now: before.modified + 300)
        #expect(try await feed(of: "Latest").modified == before.modified + 200)
    }
}
