import PodcastFeed
import Testing
import Transfers

@testable import PodcastLibrary

@Suite struct SharingTests {
    @Test(arguments: [
        "https://www.patreon.com/rss/show?auth=Zx81", "https://example.com/feed?token=a",
        "https://ann:hush@example.com/feed", "https://example.com/private/feed.rss",
        "https://example.com/rss/0123456789abcdef0123456789abcdef", "https://example.com/feed?x=0123456789abcdefg",
        "https://example.com/feed;a?b&KEY=1", "https://api.example.com/privatefeed/x",
    ])
    func anAddressForOnePersonIsSecret(url: String) { #expect(SecretAddress.isLikely(url)) }

    @Test(arguments: [
        "https://example.com/feed.xml", "https://feeds.example.com/54nAGcIl", "https://example.com/?feed=podcast",
        "https://feeds.acast.com/public/shows/5ea17537-f11f-4532-8202-294d976b9d5c",
        "https://www.omnycontent.com/d/playlist/5ea17537-f11f-4532-8202-294d976b9d5c/podcast.rss",
        "https://example.com/a-very-long-name-of-a-show-without-numbers", "https://example.com/feed?format=mp3&page=2",
        "not an address", "",
    ])
    func aPublicAddressIsNotSecret(url: String) { #expect(!SecretAddress.isLikely(url)) }

    @Test func aShowIsSharedUnlessItIsPrivateOrBlocked() throws {
        let folder = try TemporaryFolder()
        let library = try Library.openForWriting(at: folder.library)
        func subscribe(_ name: String, _ url: String, blocked: Bool = false) throws -> Podcast {
            var feed = makeFeed([makeItem(name, url: "https://example.com/\(name).mp3")], title: name)
            feed.isBlocked = blocked
            return try library.subscribe(url: url, feed: feed, response: FeedResponse(finalURL: url, status: 200))
                .podcast
        }
        let plain = try subscribe("A", "https://example.com/feed")
        let blocked = try subscribe("B", "https://example.com/blocked", blocked: true)
        let secret = try subscribe("C", "https://example.com/feed?auth=abc")
        func shared() throws -> [Bool] { try [plain, blocked, secret].map { try library.isShared($0) } }
        #expect(try shared() == [true, false, false])
        for show in [plain, blocked, secret] { try library.set(podcast: show.id, key: "share", value: "true") }
        #expect(try shared() == [true, true, true])
        try library.set(podcast: plain.id, key: "share", value: "false")
        #expect(try shared() == [false, true, true])
    }

    @Test func blockedShowsAndEpisodesAreMarked() throws {
        func feed(_ show: String, _ episode: String) throws -> Feed {
            let item = "<item>\(episode)<enclosure url='https://example.com/1.mp3'/></item>"
            let text =
                "<rss xmlns:itunes='http://www.itunes.com/dtds/podcast-1.0.dtd'><channel>\(show)\(item)</channel></rss>"
            return try FeedParser.parse(Array(text.utf8), contentType: "application/rss+xml", base: feedURL)
        }
        let block = "<itunes:block> Yes </itunes:block>"
        let whole = try feed(block, "")
        #expect(whole.isBlocked && whole.details?.isBlocked == true && whole.items.first?.details == nil)
        let one = try feed("<itunes:block>no</itunes:block>", block)
        #expect(!one.isBlocked && one.details == nil && one.items.first?.details?.isBlocked == true)
    }

    @Test func aTaggedFileWithOtherContentIsANewVersion() throws {
        let folder = try TemporaryFolder()
        let library = try Library.openForWriting(at: folder.library)
        let show = try library.subscribe([makeItem("1", url: "https://example.com/1.mp3")]).podcast
        let id = try #require(library.episodes(of: show.id).first).id
        var content = TaggedFile.Content(rendition: 1, tagSize: 100, fingerprint: .min, skipped: 10, total: nil)
        #expect(try library.taggedFile(of: id) == nil)
        #expect(try library.setTaggedFile(content, of: id) == 0)
        // The size becomes known. A later call without a size does not erase it.
        content.total = 1_000
        #expect(try library.setTaggedFile(content, of: id) == 0)
        content.total = nil
        #expect(try library.setTaggedFile(content, of: id) == 0)
        #expect(try library.taggedFile(of: id)?.content.size == 1_090)
        content.fingerprint = 5
        #expect(try library.setTaggedFile(content, of: id) == 1)
        content.rendition = 2
        content.total = 2_000
        #expect(try library.setTaggedFile(content, of: id) == 2)
        #expect(try library.setTaggedFile(content, of: id) == 2)
        #expect(try library.taggedFiles(of: show.id) == [id: TaggedFile(generation: 2, content: content)])
        #expect(try library.taggedFolder() == "Tagged")
    }
}
