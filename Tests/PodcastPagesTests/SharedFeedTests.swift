import Foundation
import PodcastFeed
import TestSupport
import Testing
import Transfers

@testable import PodcastLibrary
@testable import PodcastPages

@Suite struct SharedFeedTests {
    private static let base = "https://nas.example/podcasts"

    private static func document() -> [UInt8] {
        var show = Podcast(
            id: 1, name: "Größe & \"more\"?", url: "http://example.com/feed", title: "Größe & <more>", author: "Ann")
        show.image = "http://example.com/cover.jpg"
        show.language = "de"
        show.type = "serial"
        show.explicit = false
        var feed = SharedFeed(show, base: base)
        feed.add(
            EpisodeSummary(
                id: 1, name: "2026-01-01 A #1.mp3", title: "A & B", published: 1_763_632_800, duration: 3_725.4,
                type: "audio/mpeg", link: "https://example.com/1", size: 123_456, season: 2,
                sidecars: [.art, .vtt, .chapters],
                notes: "<p>Notes & more</p>", guid: "guid-1", number: 7, kind: "full", explicit: true),
            folder: show.name, isPrivate: false)
        feed.add(
            EpisodeSummary(
                id: 2, name: "B.opus", title: "B", link: "https://example.com/2?token=hush",
                guid: "https://example.com/2?token=hush"),
            folder: show.name, isPrivate: false)
        feed.add(EpisodeSummary(id: 3, name: "C.bin", title: "C\u{0}\u{1B}"), folder: show.name, isPrivate: false)
        return feed.finish()
    }

    @Test(arguments: [false, true]) func linksHaveNoSecrets(isPrivate: Bool) throws {
        var show = Podcast(id: 1, name: "Show", url: "http://example.com/feed", title: "Show")
        show.link = "https://me:hush@example.com/?token=hush"
        var feed = SharedFeed(show, base: Self.base)
        for link in ["https://me:hush@example.com/1?token=hush", "https://example.com/2?id=7"] {
            let episode = EpisodeSummary(id: 2, name: "B.opus", title: "B", link: link)
            feed.add(episode, folder: "Show", isPrivate: isPrivate)
        }
        let document = String(decoding: feed.finish(), as: UTF8.self)
        #expect(!document.contains("hush"))
        #expect(document.contains("<link>https://example.com/</link>"))
        #expect(document.contains("<link>https://example.com/1</link>"))
        #expect(document.contains("<link>https://example.com/2\(isPrivate ? "" : "?id=7")</link>"))
    }

    @Test func podfsReadsItsOwnFeed() throws {
        let bytes = Self.document()
        let feed = try FeedParser.parse(bytes, contentType: "application/rss+xml", base: "https://elsewhere.example/")
        let folder = "https://nas.example/podcasts/Gr%C3%B6%C3%9Fe%20%26%20%22more%22%3F"
        #expect(
            feed.title == "Größe & <more>" && feed.author == "Ann" && feed.language == "de" && feed.type == "serial")
        #expect(feed.image == "\(folder)/cover.jpg" && feed.explicit == false && feed.isBlocked)
        #expect(feed.items.count == 3 && feed.diagnostics.isEmpty, "\(feed.diagnostics)")
        let first = feed.items[0]
        #expect(first.guid == "guid-1" && first.title == "A & B" && first.published?.seconds == 1_763_632_800)
        #expect(first.duration == 3_725 && first.season == 2 && first.episode == 7 && first.episodeType == "full")
        #expect(
            first.explicit == true && first.link == "https://example.com/1"
                && first.description == "<p>Notes & more</p>")
        #expect(
            first.enclosures == [
                Enclosure(url: "\(folder)/2026-01-01%20A%20%231.mp3", length: 123_456, type: "audio/mpeg")
            ])
        #expect(first.image == "\(folder)/2026-01-01%20A%20%231.jpg")
        #expect(first.transcripts.map(\.url) == ["\(folder)/2026-01-01%20A%20%231.vtt"])
        #expect(first.chaptersURL == "\(folder)/.chapters/2026-01-01%20A%20%231.json")
        // A guid that is a URL may contain a secret, so a hash replaces it. An episode without a guid gets one that is
        // made from its row number.
        #expect(feed.items[1].guid?.hasPrefix("podfs-") == true && feed.items[1].guid?.utf8.count == 38)
        #expect(
            feed.items[1].enclosures.first?.type == "audio/ogg" || feed.items[1].enclosures.first?.type == "audio/opus")
        #expect(feed.items[2].guid == "podfs-episode-3" && feed.items[2].title == "C")
        #expect(!String(decoding: bytes, as: UTF8.self).contains("hush"))
        #expect(Self.document() == bytes)
    }

    /// Reads the feed with podcastparser, gPodder's Python library, which returns durations and dates as numbers of
    /// seconds.
    @Test(
        .enabled("needs the Debian package python3-podcastparser") {
            FileManager.default.fileExists(atPath: "/usr/lib/python3/dist-packages/podcastparser.py")
        })
    func gPodderReadsTheSame() async throws {
        let folder = try TemporaryDirectory()
        let path = folder.file("feed.xml")
        try Data(Self.document()).write(to: URL(fileURLWithPath: path))
        let script = """
            import sys, podcastparser
            d = podcastparser.parse("http://example.com/feed.xml", open(sys.argv[1], "rb"), max_episodes=0)
            print(d["title"], d["cover_url"])
            for e in sorted(d["episodes"], key=lambda e: e["title"]):
                m = e["enclosures"][0]
                print(e["guid"][:6], e["title"], e["published"], e["total_time"], m["file_size"], m["mime_type"])
                print(m["url"])
            """
        let read = try await ChildProcess.run("/usr/bin/python3", ["-c", script, path])
        let folderAddress = "https://nas.example/podcasts/Gr%C3%B6%C3%9Fe%20%26%20%22more%22%3F"
        #expect(
            read.output == """
                Größe & <more> \(folderAddress)/cover.jpg
                guid-1 A & B 1763632800 3725 123456 audio/mpeg
                \(folderAddress)/2026-01-01%20A%20%231.mp3
                podfs- B 0 0 -1 audio/ogg
                \(folderAddress)/B.opus
                podfs- C 0 0 -1 application/octet-stream
                \(folderAddress)/C.bin

                """, "\(read.error)")
    }
}
