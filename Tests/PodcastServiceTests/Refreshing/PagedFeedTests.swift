import PodcastFeed
import Testing

@testable import PodcastService

struct PagedFeedTests {
    private static let first = "https://feeds.example/show"

    private static func item(_ number: Int) -> Item {
        var item = Item()
        item.guid = "guid-\(number)"
        item.title = "Episode \(number)"
        item.published = PublicationDate(seconds: 1_000_000_000 - Int64(number) * 86_400, offset: 0)
        item.enclosures = [Enclosure(url: "https://m.example/\(number).mp3?t=\(number)")]
        return item
    }

    private static func page(_ numbers: Range<Int>, next: String? = nil) -> Feed {
        var feed = Feed(format: .rss2)
        feed.title = "Page from \(numbers.lowerBound)"
        feed.items = numbers.map(item)
        feed.next = next
        return feed
    }

    private static func url(_ page: Int) -> String { "\(first)?page=\(page)" }

    private func titles(_ feed: Feed) -> [String] { feed.items.compactMap(\.title) }

    /// A subscription whose first page has the episodes `numbers` and names another page.
    private func begin(
        _ numbers: Range<Int>, next: String = url(2), size: Int = 0, limits: FeedLimits = .standard
    ) -> PagedFeed {
        PagedFeed(
            Self.page(numbers, next: next), size: size, from: Self.first, for: .subscription, limits: limits)
    }

    @Test func pagesAreJoinedInTheirOrder() {
        var pages = begin(0..<3)
        #expect(pages.next == Self.url(2) && !pages.feed.isWhole)
        pages.append(Self.page(3..<6, next: Self.url(3)), from: Self.url(2))
        #expect(pages.next == Self.url(3))
        pages.append(Self.page(6..<8), from: Self.url(3))
        #expect(pages.next == nil && pages.feed.isWhole)
        #expect(titles(pages.feed) == (0..<8).map { "Episode \($0)" })
        #expect(pages.feed.title == "Page from 0" && pages.feed.diagnostics.isEmpty && pages.feed.next == nil)
        // No page is requested any more, so none is accepted.
        pages.append(Self.page(8..<9), from: Self.url(4))
        #expect(pages.feed.items.count == 8)
    }

    @Test func aScheduledRefreshStaysOnTheFirstPage() {
        let pages = PagedFeed(Self.page(0..<3, next: Self.url(2)), from: Self.first, for: .schedule)
        #expect(pages.next == nil && !pages.feed.isWhole && pages.feed.items.count == 3)
        #expect(PagedFeed(Self.page(0..<3, next: Self.url(2)), from: Self.first, for: .request).next != nil)
        #expect(PagedFeed(Self.page(0..<3), from: Self.first, for: .schedule).feed.isWhole)
    }

    @Test func anItemThatMovedToTheNextPageIsIncludedOnce() {
        var pages = begin(1..<4)
        var second = Self.page(3..<6)
        // On the second page the item has another token in its URL, and another line number.
        second.items[0].enclosures[0].url = "https://m.example/3.mp3?t=other"
        second.items[0].line = 7
        second.next = Self.url(3)
        pages.append(second, from: Self.url(2))
        #expect(titles(pages.feed) == (1..<6).map { "Episode \($0)" })
        pages.append(Self.page(5..<8), from: Self.url(3))
        #expect(titles(pages.feed) == (1..<8).map { "Episode \($0)" })
    }

    /// Without a guid the media's address identifies an item; a guid alone does not, since some feeds repeat it.
    @Test(arguments: [nil, "always the same"]) func itemsAreRecognizedWithoutAGuidOfTheirOwn(guid: String?) {
        func page(_ numbers: Range<Int>, next: String? = nil) -> Feed {
            var feed = Self.page(numbers, next: next)
            for index in feed.items.indices { feed.items[index].guid = guid }
            return feed
        }
        var pages = PagedFeed(page(0..<2, next: Self.url(2)), from: Self.first, for: .subscription)
        pages.append(page(1..<4), from: Self.url(2))
        #expect(titles(pages.feed) == (0..<4).map { "Episode \($0)" })
    }

    @Test func equalItemsOfOnePageAreNotMerged() {
        var second = Self.page(2..<4)
        second.items.append(second.items[1])
        var pages = begin(0..<2)
        pages.append(second, from: Self.url(2))
        #expect(titles(pages.feed) == ["Episode 0", "Episode 1", "Episode 2", "Episode 3", "Episode 3"])
    }

    @Test func aLoopOfPagesEnds() {
        let own = begin(0..<2, next: Self.first + "/")
        #expect(own.next == nil && own.feed.diagnostics.last?.message.contains("loop") == true)
        var pages = begin(0..<2)
        pages.append(Self.page(2..<4, next: Self.url(3)), from: Self.url(2))
        pages.append(Self.page(4..<6, next: Self.url(2)), from: Self.url(3))
        #expect(pages.next == nil && pages.feed.items.count == 6)
        #expect(pages.feed.diagnostics.last?.message == "the pages form a loop at page 4")
    }

    @Test func aRepeatedPageEndsThePaging() {
        var pages = begin(0..<2)
        pages.append(Self.page(0..<2, next: Self.url(3)), from: Self.url(2))
        #expect(pages.next == nil && pages.feed.items.count == 2)
        #expect(pages.feed.diagnostics.last?.message.contains("no new items") == true)
    }

    @Test func atMostAHundredPagesAreRead() {
        var pages = begin(0..<1)
        var number = 1
        while let next = pages.next {
            number += 1
            #expect(next == Self.url(number))
            pages.append(Self.page(number - 1..<number, next: Self.url(number + 1)), from: next)
        }
        #expect(number == 100 && pages.feed.items.count == 100 && !pages.feed.isWhole)
        #expect(pages.feed.diagnostics.map(\.message) == ["there are more than 100 pages; the rest is ignored"])
    }

    @Test func theItemsOfAllPagesTogetherAreBounded() {
        var limits = FeedLimits.standard
        limits.items = 5
        var pages = begin(0..<3, limits: limits)
        pages.append(Self.page(3..<6, next: Self.url(3)), from: Self.url(2))
        #expect(pages.next == nil && pages.feed.items.count == 5)
        #expect(pages.feed.diagnostics.last?.message.contains("more than 5 items") == true)
        #expect(FeedLimits.standard.items == 100_000)
        // A feed whose last page is cut is not whole: the library must not take the rest for removed.
        var last = begin(0..<3, limits: limits)
        last.append(Self.page(3..<6), from: Self.url(2))
        #expect(last.next == nil && last.feed.items.count == 5 && !last.feed.isWhole)
    }

    @Test func theBytesOfAllPagesTogetherAreBounded() {
        var limits = FeedLimits.standard
        limits.bytes = 100
        var pages = begin(0..<3, size: 40, limits: limits)
        #expect(pages.room == 60)
        pages.append(Self.page(3..<6, next: Self.url(3)), size: 35, from: Self.url(2))
        #expect(pages.room == 25 && pages.next == Self.url(3))
        pages.append(Self.page(6..<8, next: Self.url(4)), size: 25, from: Self.url(3))
        #expect(pages.next == nil && pages.feed.items.count == 8 && !pages.feed.isWhole)
        #expect(pages.problem == "the pages are larger than 100 bytes; the rest is ignored")
        let full = begin(0..<3, size: 100, limits: limits)
        #expect(full.next == nil && full.problem == pages.problem)
        // A last page that just fits completes the feed.
        var fitting = begin(0..<3, size: 40, limits: limits)
        fitting.append(Self.page(3..<6), size: 60, from: Self.url(2))
        #expect(fitting.feed.isWhole && fitting.problem == nil)
    }

    private static let plain = "http://feeds.example/show"

    /// A show over HTTP stays on its host.
    @Test(
        arguments: [
            (first, "https://other.example/p2", "https://other.example/p2"), (first, "http://other.example/p2", nil),
            (first, "http://feeds.example/p2", "https://feeds.example/p2"),
            (first, "http://feeds.example:8080/p2", nil), (first, "/p2", nil), (first, "file:///p2", nil),
            (first, "https://me:pw@feeds.example/p2", nil),
            (plain, "http://feeds.example/p2", "http://feeds.example/p2"),
            (plain, "https://other.example/p2", "https://other.example/p2"), (plain, "http://other.example/p2", nil),
        ] as [(String, String, String?)])
    func onlySafeAddressesAreFollowed(feed: String, next: String, expected: String?) {
        let pages = PagedFeed(Self.page(0..<2, next: next), from: feed, for: .subscription)
        #expect(pages.next == expected)
        #expect(pages.feed.diagnostics.isEmpty == (expected != nil))
    }

    @Test func aFailedPageKeepsTheEarlierPages() {
        var pages = begin(0..<2)
        pages.fail("the server answered 500")
        #expect(pages.next == nil && !pages.feed.isWhole && pages.feed.items.count == 2)
        #expect(
            pages.feed.diagnostics.map(\.message) == [
                "page 2: the server answered 500; that page and later ones are ignored"
            ])
        pages.fail("again")
        #expect(pages.feed.diagnostics.count == 1)
    }

    @Test func diagnosticsAreBounded() {
        func noisy(_ numbers: Range<Int>, next: String?) -> Feed {
            var feed = Self.page(numbers, next: next)
            feed.diagnostics = (0..<70).map { Diagnostic(line: $0, message: "x") }
            return feed
        }
        var pages = PagedFeed(noisy(0..<2, next: Self.url(2)), from: Self.first, for: .subscription)
        pages.append(noisy(2..<4, next: Self.first), from: Self.url(2))
        #expect(pages.feed.diagnostics.count == 100)
        #expect(pages.feed.diagnostics.last?.message.contains("loop") == true)
    }
}
