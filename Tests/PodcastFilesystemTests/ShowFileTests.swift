import Foundation
import Fuse
import Glibc
import PodcastFeed
import PodcastFilesystem
import PodcastLibrary
import PodcastProtocol
import SystemPackage
import TestSupport
import Testing
import Transfers

/// The generated files in a show's folder.
struct ShowFileTests {
    private let mounted: Mounted
    private let podcast: Podcast

    init() throws {
        mounted = try Mounted(script: "touch \"$0.started\"")
        var feed = FeedBuilder.show("Show", episodes: 3, length: 500_000) { "http://127.0.0.1:9/\($0).mp3" }
        feed.items[0].description = "<p>Three</p><script>alert(1)</script>"
        feed.items[0].duration = "1:01"
        feed.items[1].raw = """
            <psc:chapters xmlns:psc="http://podlove.org/simple-chapters">\
            <psc:chapter start="0" title="One"/><psc:chapter start="00:01:30.5" title="Two"/></psc:chapters>
            """
        feed.items[2].raw = "<podcast:chapters url=\"http://127.0.0.1:9/c.json\" type=\"application/json+chapters\"/>"
        podcast = try mounted.subscribe(feed)
    }

    private func keepDocuments(_ xml: String = "<rss/>", json: String = "{\n  \"title\": \"Show\"\n}\n") throws {
        try Data(xml.utf8).write(to: URL(fileURLWithPath: "\(mounted.paths.feeds)/\(podcast.id).xml"))
        try Data(json.utf8).write(to: URL(fileURLWithPath: "\(mounted.paths.feeds)/\(podcast.id).json"))
    }

    @Test func notesAndChaptersOfTheFeedAreFiles() async throws {
        #expect(try mounted.names("Show", ".notes") == ["2026-01-03 Episode 3.html"])
        #expect(try mounted.names("Show", ".chapters") == ["2026-01-01 Episode 1.json", "2026-01-02 Episode 2.json"])
        let text = try await mounted.content("Show", ".chapters", "2026-01-02 Episode 2.json")
        let json = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        let chapters = try #require(json["chapters"] as? [[String: Any]])
        #expect(chapters.map { $0["startTime"] as? Double } == [0, 90.5])
        let folder = try mounted.entry("Show", ".chapters").node
        // The first episode's chapters have a URL and are not fetched yet: the size is an estimate.
        #expect(try mounted.entry("Show", ".chapters", "2026-01-01 Episode 1.json").attributes.size == 65_536)
        #expect(mounted.lookup("2026-01-03 Episode 3.json", in: folder) == .error(.noSuchFileOrDirectory))
    }

    /// Only the media file of the third episode has chapters. So `.chapters` lists them only while the whole file is
    /// cached. The mount shows those that the daemon has read, and does not read the file.
    @Test func chaptersOfACachedFileAreListed() async throws {
        let episode = try mounted.episode(3)
        try mounted.store(TestContent(seed: 1, size: 10_000), of: episode, complete: true)
        let folder = try mounted.entry("Show", ".chapters").node
        #expect(mounted.lookup("2026-01-03 Episode 3.json", in: folder) == .error(.noSuchFileOrDirectory))
        let rendition = try #require(try mounted.library.rendition(of: episode.id))
        _ = try mounted.library.record(
            chapters: [Chapter(start: 15, title: "Inside")], of: rendition, now: 1_700_000_300)
        #expect(try mounted.names("Show", ".chapters").contains("2026-01-03 Episode 3.json"))
        #expect(try await mounted.content("Show", ".chapters", "2026-01-03 Episode 3.json").contains("Inside"))
        #expect(try await mounted.content("Show", "index.html").contains("Inside"))
        _ = try mounted.library.dropRendition(episode: episode.id, now: 1_700_000_400)
        #expect(try !mounted.names("Show", ".chapters").contains("2026-01-03 Episode 3.json"))
        #expect(mounted.lookup("2026-01-03 Episode 3.json", in: folder) == .error(.noSuchFileOrDirectory))
    }

    /// If a chapter file cannot be fetched, the chapters come from the next source: here from the notes.
    @Test func chaptersInTheNotesReplaceAFileThatIsGone() async throws {
        let daemon = try await mounted.daemon()
        var feed = FeedBuilder.show("Show", episodes: 3, length: 500_000) { "http://127.0.0.1:9/\($0).mp3" }
        feed.items[2].raw = "<podcast:chapters url=\"http://127.0.0.1:9/c.json\" type=\"application/json+chapters\"/>"
        feed.items[2].description = "00:00 In the notes<br>01:00 Two<br>02:00 Three"
        _ = try mounted.refresh(podcast, feed)
        let node = try mounted.entry("Show", ".chapters", "2026-01-01 Episode 1.json").node
        let opening = mounted.open(node)
        let frame = try #require(try await daemon.wait(for: .command).last)
        daemon.answer(frame, Failure(errorNumber: ENODATA, message: "the server answered 404"))
        let handle = try await opening.handle()
        let bytes = try mounted.read(node, handle, 0, 10_000).answer.bytes
        #expect(String(decoding: bytes, as: UTF8.self).contains("In the notes"))
        #expect(mounted.fact(node, "user.podfs.error") == "the server answered 404")
    }

    @Test func onlyTheOwnerAndRootReadTheFeed() async throws {
        #expect(
            try mounted.names("Show").prefix(5) == ["playlist.m3u8", ".feed.json", ".notes", ".chapters", "index.html"])
        #expect(mounted.lookup(".feed.xml.txt", in: try mounted.entry("Show").node) == .error(.noSuchFileOrDirectory))
        let alone = try await mounted.content("Show", ".feed.json")
        #expect(alone.hasPrefix("{\n  \"health\": {") && alone.hasSuffix("\n  }\n}\n"))
        try keepDocuments()
        #expect(try mounted.names("Show").prefix(4) == ["playlist.m3u8", ".feed.json", ".feed.xml.txt", ".notes"])
        #expect(try await mounted.content("Show", ".feed.xml.txt") == "<rss/>")
        let text = try await mounted.content("Show", ".feed.json")
        let json = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        #expect(json["title"] as? String == "Show")
        #expect((json["health"] as? [String: Any])?["status"] as? Int == 200)
        for name in [".feed.xml.txt", ".feed.json"] {
            let entry = try mounted.entry("Show", name)
            #expect(entry.attributes.permissions == 0o400 && entry.attributeTimeout == 0)
            let stranger = mounted.request(uid: 77) { mounted.filesystem.open($0, node: entry.node, flags: 0) }
            #expect(stranger.answer == .error(.permissionDenied))
        }
        #expect(try await mounted.content("Show", ".feed.xml.txt", uid: 0) == "<rss/>")
    }

    @Test func anOpenDocumentDoesNotChange() async throws {
        try keepDocuments("old")
        let node = try mounted.entry("Show", ".feed.xml.txt").node
        let handle = try await mounted.open(node).handle()
        let new = mounted.directory.file("new")
        try Data("newer".utf8).write(to: URL(fileURLWithPath: new))
        #expect(rename(new, "\(mounted.paths.feeds)/\(podcast.id).xml") == 0)
        #expect(mounted.read(node, handle, 0, 100).answer == .bytes(Array("old".utf8)))
        #expect(mounted.attributes(node, handle: handle)?.size == 3 && mounted.attributes(node)?.size == 5)
    }

    @Test func listingRendersNothingAndNeedsNoDaemon() throws {
        try keepDocuments()
        let show = try mounted.entry("Show").node
        let entries = try #require(mounted.list(show, try mounted.opendir(show)))
        let feeds = entries.filter { [".feed.json", ".feed.xml.txt"].contains($0.name) }
        #expect(feeds.count == 2 && feeds.allSatisfy { $0.node == NodeID(rawValue: 0) && $0.inode != 0 })
        for name in ["playlist.m3u8", "index.html"] {
            let entry = try #require(entries.first { $0.name == name })
            let found = try mounted.entry("Show", name)
            #expect(entry.node == found.node && entry.size == found.attributes.size)
        }
        for name in [".notes", ".chapters"] {
            let folder = try mounted.entry("Show", name)
            #expect(folder.attributes.kind == .directory && folder.attributes.permissions == 0o555)
            let listed = try #require(mounted.list(folder.node, try mounted.opendir(folder.node)))
            #expect(listed[1].inode == show.rawValue && listed.count == (name == ".notes" ? 3 : 4))
            #expect(entries.first { $0.name == name }?.node == folder.node)
            for entry in listed.dropFirst(2) {
                #expect(entry.inode == (try mounted.entry("Show", name, entry.name)).attributes.inode)
            }
        }
        #expect(!mounted.link.isConnected && !mounted.wasStarted)
    }

    @Test func aRemovedNodeIsStale() throws {
        try keepDocuments()
        let nodes = try ["playlist.m3u8", "index.html", ".feed.json", ".feed.xml.txt", ".notes"].map {
            try mounted.entry("Show", $0).node
        }
        _ = try mounted.library.unsubscribe(podcast: podcast.id)
        for node in nodes { #expect(mounted.attributes(node) == nil) }
        for node in nodes.dropLast() { #expect(mounted.open(node).answer == .error(.staleNFSFileHandle)) }
    }
}

/// The playlist files of episodes that are streams.
struct StreamTests {
    private let mounted: Mounted

    init() throws { mounted = try Mounted() }

    private static let url = "http://127.0.0.1:9/live/a.m3u8"
    private static let text = "#EXTM3U\n#EXTINF:-1,Episode 1\n\(url)\n"

    private func subscribe() throws -> Entry {
        var feed = FeedBuilder.show("Show", episodes: 1, length: 70_000_000) { _ in Self.url }
        feed.items[0].type = "application/vnd.apple.mpegurl"
        try mounted.subscribe(feed)
        return try mounted.entry("Show", "2026-01-01 Episode 1.m3u8")
    }

    @Test func aStreamIsListedAsASmallPlaylistWithoutTheDaemon() throws {
        let entry = try subscribe()
        #expect(entry.attributes.size == Int64(Self.text.utf8.count))
        #expect(mounted.fact(entry.node, "user.podfs.state") == "stream")
        #expect(mounted.fact(entry.node, "user.mime_type") == "application/vnd.apple.mpegurl")
        for name in ["progress", "bytes_received", "ranges", "size_source", "error", "sha256"] {
            #expect(mounted.fact(entry.node, "user.podfs.\(name)") == nil, "\(name)")
        }
        let show = try mounted.entry("Show").node
        let listed = try #require(mounted.list(show, try mounted.opendir(show)))
        let item = try #require(listed.first { $0.name == "2026-01-01 Episode 1.m3u8" })
        #expect(item.size == Int64(Self.text.utf8.count))
        #expect(!mounted.wasStarted)
    }

    @Test func aStreamIsReadAfterTheDaemonHasCheckedIt() async throws {
        let entry = try subscribe()
        let id = try mounted.episode().id
        let daemon = try FakeDaemon(mounted.paths) { daemon, frame in
            daemon.answer(frame, .asset(file: AssetKind.stream.fileName(id.rawValue), size: 0))
        }
        let handle = try await mounted.open(entry.node).handle()
        #expect(daemon.commands == [.asset(.stream, id: id.rawValue)])
        let bytes = mounted.read(entry.node, handle, 0, 4_096).answer
        #expect(bytes == .bytes(Array(Self.text.utf8)))
        #expect(mounted.attributes(entry.node, handle: handle)?.size == Int64(Self.text.utf8.count))
        mounted.release(entry.node, handle)
        try await waitUntil { daemon.opened == [id] }
        #expect(daemon.frames.count == 1, "the check is the only request")
    }

    @Test func aFailureIsReported() async throws {
        let entry = try subscribe()
        let daemon = try FakeDaemon(mounted.paths) { daemon, frame in
            daemon.answer(frame, Failure(errorNumber: ENODATA, message: "the server answered 404"))
        }
        #expect(try await mounted.open(entry.node).answered() == .error(.noData))
        #expect(mounted.fact(entry.node, "user.podfs.error") == "the server answered 404")
        #expect(mounted.fact(entry.node, "user.podfs.state") == "stream")
        _ = daemon
    }
}
