import PodcastFeed
import Testing

@testable import PodcastLibrary

struct LibrarySubscriptionsTests {
    private var (folder, library) = makeLibrary()

    @Test func aShowIsSubscribedBeforeItsFeedIsFetched() throws {
        let kept = try library.subscribeUnfetched(
            [UnfetchedShow(url: feedURL, title: " My Show ", link: "https://e.com/", error: "down", httpStatus: 503)],
            now: noon)
        let id = try #require(kept.first).podcast
        #expect(kept == [UnfetchedShowResult(podcast: id, name: "My Show", isNew: true)])
        let podcast = try #require(try library.podcast(id: id))
        #expect(podcast.state == Podcast.failed && podcast.error == "down" && podcast.httpStatus == 503)
        #expect(podcast.title == "My Show" && podcast.link == "https://e.com/" && podcast.lastRefresh == nil)
        #expect(podcast.episodes == 0 && !podcast.ephemeral)
        #expect(try library.refreshSubjects(dueAt: noon).map(\.id) == [id])
        _ = try library.merge([makeItem("One", url: "https://e.com/1.mp3")], into: id)
        let fetched = try #require(try library.podcast(id: id))
        #expect(fetched.state == Podcast.active && fetched.error == nil && fetched.episodes == 1)
        #expect(fetched.title == "Show" && fetched.name == "My Show")
    }

    @Test func requestedNamesAreUsedIfFree() throws {
        let wanted: [(String?, String?, String)] = [
            ("Folder", "Title", "Folder"), ("folder", nil, "folder (2)"), (nil, nil, "e.com"),
            (nil, "e.com", "e.com (2)"),
            ("../x", "Good", "Good"), ("Latest", nil, "e.com (3)"), ("A  B", nil, "A  B"),
        ]
        let shows = wanted.enumerated().map { index, show in
            UnfetchedShow(url: "https://u:p@e.com/\(index)", name: show.0, title: show.1, error: "x")
        }
        #expect(try library.subscribeUnfetched(shows, now: noon).map(\.name) == wanted.map(\.2))
        // The second time, the shows are known under the same names.
        let again = try library.subscribeUnfetched(shows, now: noon)
        #expect(again.map(\.name) == wanted.map(\.2))
        #expect(again.allSatisfy { !$0.isNew })
    }

    @Test func aSearchResultBecomesTheSubscription() throws {
        let found = try library.subscribe(
            feed: makeFeed([makeItem("One", url: "https://e.com/1.mp3")]), ephemeral: true
        ).podcast
        var show = UnfetchedShow(
            url: feedURL, name: "Mine", title: "Outline", link: "https://e.com/", error: "down", httpStatus: 503,
            next: noon + 60)
        show.tags = ["News"]
        let result = UnfetchedShowResult(podcast: found.id, name: "Mine", isNew: true)
        #expect(try library.subscribeUnfetched([show], now: noon) == [result])
        let podcast = try #require(try library.podcast(id: found.id))
        #expect(!podcast.ephemeral && podcast.episodes == 1 && podcast.title == "Show")
        #expect(podcast.state == Podcast.failed && podcast.error == "down" && podcast.httpStatus == 503)
        #expect(podcast.nextRefresh == noon + 60 && podcast.link == "https://e.com/")
        #expect(try library.tagsOfShows() == [found.id: ["News"]])
    }

    @Test func credentialsAreStoredBesideTheSettingsAndHideQueries() throws {
        let show = try library.subscribe([], url: "https://e.com/a?token=2").podcast
        #expect(!show.hasCredentials && show.visibleURL == "https://e.com/a?token=2")
        try library.setHasCredentials(podcast: show.id, true)
        try library.set(podcast: show.id, key: "keep", value: "3 days")
        #expect(try library.settings(of: show.id) == ["keep": "3 days"])
        let noted = try #require(try library.podcast(id: show.id))
        #expect(noted.hasCredentials && noted.visibleURL == "https://e.com/a")
        #expect(noted.visible("https://x:y@cdn.example/1.mp3?key=1#t") == "https://cdn.example/1.mp3")
        try library.setHasCredentials(podcast: show.id, false)
        #expect(try library.podcast(id: show.id)?.hasCredentials == false)
    }
}
