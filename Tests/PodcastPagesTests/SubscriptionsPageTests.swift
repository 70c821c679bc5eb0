import PodcastFeed
import PodcastPages
import Testing
import Transfers

@testable import PodcastLibrary

struct SubscriptionsPageTests {
    @Test func theListIsOPMLWithoutSecrets() throws {
        let document = SubscriptionsPage.document([
            Subscription(
                podcast: 1, name: "A", url: "https://a.example/f?x=1&y=2", title: "A & B", link: "https://a.example/"),
            Subscription(
                podcast: 2, name: "Mine", url: "https://b.example/f?token=hush", title: "Private",
                link: "https://me:hush@b.example/", hasCredentials: true),
            Subscription(podcast: 3, name: "C", url: "https://u:hush@c.example/f?token=hush", title: "C"),
        ])
        let text = String(decoding: document, as: UTF8.self)
        #expect(!text.contains("hush"))
        #expect(text.hasPrefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<opml version=\"2.0\">"))
        let list = try OPML.parse(document)
        #expect(list.title == "podfs subscriptions" && list.diagnostics.isEmpty)
        #expect(
            list.subscriptions.map(\.url)
                == ["https://a.example/f?x=1&y=2", "https://b.example/f", "https://c.example/f"])
        #expect(list.subscriptions.map(\.title) == ["A & B", "Private", "C"])
        #expect(list.subscriptions.map(\.text) == ["A", "Mine", "C"])
        #expect(list.subscriptions.map(\.link) == ["https://a.example/", "https://b.example/", nil])
    }

    @Test func anEmptyListIsAValidDocument() throws {
        #expect(try OPML.parse(SubscriptionsPage.document([])).subscriptions.isEmpty)
    }
}
