import PodcastFeed
import Testing

@testable import PodcastService
@testable import Transfers

struct RefreshFactsTests {
    @Test func factsAreTakenFromTheFeed() {
        var feed = Feed(format: .rss2)
        feed.updateInterval = 3_600
        var item = Item()
        item.published = PublicationDate(seconds: 5, offset: 0)
        feed.items = [item, Item()]
        let head = ResponseHead(status: 200)
        #expect(
            RefreshFacts(head: head, feed: feed)
                == RefreshFacts(head: head, updateInterval: 3_600, published: [5]))
    }
}
