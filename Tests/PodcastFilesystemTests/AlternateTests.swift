import Fuse
import Glibc
import PodcastLibrary
import PodcastProtocol
import SystemPackage
import TestSupport
import Testing
import Transfers

@testable import PodcastFilesystem

/// The folder `.alternates` of a show, which has a folder for each episode with alternates (other encodings).
struct AlternateTests {
    private let mounted: Mounted
    private let show: Podcast

    private static let episode = "2026-01-01 Episode 1"

    init() throws {
        mounted = try Mounted()
        show = try mounted.subscribe(Self.feed())
    }

    private static func feed(_ alternates: String = Self.alternates) -> FeedBuilder {
        var feed = FeedBuilder.show("Show", episodes: 2, length: 500_000) { "http://127.0.0.1:9/\($0).mp3" }
        feed.items[1].raw = alternates
        return feed
    }

    private static let alternates = """
        <podcast:alternateEnclosure type="audio/opus" length="70000" bitrate="32000" title="Small" lang="en" \
        codecs="opus"><podcast:source uri="http://127.0.0.1:9/1.opus"/></podcast:alternateEnclosure>
        <podcast:alternateEnclosure type="video/mp4" height="720">\
        <podcast:source uri="http://127.0.0.1:9/1.mp4"/></podcast:alternateEnclosure>
        <podcast:alternateEnclosure type="application/x-mpegURL">\
        <podcast:source uri="http://127.0.0.1:9/1.m3u8"/></podcast:alternateEnclosure>

        """

    @Test func eachEncodingIsAFileInTheEpisodesFolder() throws {
        let folder = try mounted.entry("Show", ".alternates")
        #expect(folder.attributes.kind == .directory)
        #expect(try mounted.names("Show").contains(".alternates"))
        #expect(try mounted.names("Show", ".alternates") == [Self.episode])
        let files = try mounted.entry("Show", ".alternates", Self.episode)
        #expect(files.attributes.kind == .directory && files.attributes.permissions == 0o555)
        #expect(
            try mounted.names("Show", ".alternates", Self.episode) == [
                "Small 32k en.opus", "Video 720p.mp4", "Stream.m3u8",
            ])
        for name in ["small 32k en.opus", "Small", "", ".alternates", Self.episode] {
            #expect(mounted.lookup(name, in: files.node) == .error(.noSuchFileOrDirectory), "\(name)")
        }
        for name in [Self.episode + ".mp3", "2026-01-02 Episode 2", ""] {
            #expect(mounted.lookup(name, in: folder.node) == .error(.noSuchFileOrDirectory), "\(name)")
        }
        #expect(!mounted.wasStarted, "listing starts no daemon")
    }

    @Test func attributesDistinguishTheAlternateFromTheMainFile() throws {
        let main = try mounted.entry("Show", Self.episode + ".mp3")
        let file = try mounted.entry("Show", ".alternates", Self.episode, "Small 32k en.opus")
        #expect(file.node != main.node && file.attributes.inode != main.attributes.inode)
        #expect(file.attributes.size == 70_000 && file.attributes.modified == main.attributes.modified)
        #expect(file.attributes.kind == .regular && file.attributes.permissions == 0o444)
        let facts = [
            "alternate.title": "Small", "alternate.bit_rate": "32000", "alternate.language": "en",
            "alternate.codecs": "opus", "alternate.of": mounted.fact(main.node, "user.podfs.id"), "state": "remote",
            "bytes_expected": "70000", "size_source": "feed", "guid": "1", "alternates": nil,
        ]
        for (name, value) in facts { #expect(mounted.fact(file.node, "user.podfs." + name) == value, "\(name)") }
        #expect(mounted.fact(file.node, "user.mime_type") == "audio/opus")
        #expect(mounted.fact(file.node, "user.xdg.origin.url") == "http://127.0.0.1:9/1.opus")
        #expect(mounted.fact(file.node, "user.dublincore.title") == "Episode 1")
        #expect(mounted.fact(main.node, "user.podfs.alternates") == "3")
        #expect(mounted.fact(main.node, "user.podfs.alternate.of") == nil)
        let video = try mounted.entry("Show", ".alternates", Self.episode, "Video 720p.mp4")
        #expect(mounted.fact(video.node, "user.podfs.alternate.height") == "720")
        let stream = try mounted.entry("Show", ".alternates", Self.episode, "Stream.m3u8")
        #expect(mounted.fact(stream.node, "user.podfs.state") == "stream" && stream.attributes.size > 40)
    }

    @Test func anAlternateHasThePlayedStateOfItsEpisode() async throws {
        let file = try mounted.entry("Show", ".alternates", Self.episode, "Small 32k en.opus")
        #expect(mounted.fact(file.node, "user.podfs.played") == "0")
        try mounted.library.setPlayed(episode: try mounted.episode().id, true, now: 1_700_000_500)
        #expect(mounted.fact(file.node, "user.podfs.played") == "1")
        let path = ["Show", ".alternates", Self.episode, "Small 32k en.opus"]
        #expect(mounted.filesystem.episode(at: path).map { "\($0)" } == mounted.fact(file.node, "user.podfs.id"))
        #expect(mounted.filesystem.episode(at: path.dropLast()) == nil)
        #expect(mounted.filesystem.episode(at: path + ["x"]) == nil)
    }

    /// A playlist percent-encodes a name with `#` or `?`. mpv opens the encoded name, and reports it as the path.
    @Test func aPlayersPathMayBeAnEncodedName() async throws {
        let mounted = try Mounted()
        try mounted.subscribe("Show", episodes: 1)
        let id = try mounted.episode().id
        _ = try mounted.library.renameEpisode(id: id, to: "Episode #12")
        #expect(mounted.filesystem.episode(at: ["Show", "Episode #12.mp3"]) == id)
        #expect(mounted.filesystem.episode(at: ["Show", "Episode %2312.mp3"]) == id)
        #expect(mounted.filesystem.episode(at: ["Show", "Episode %2313.mp3"]) == nil)
    }

    @Test func anAlternateIsReadFromItsOwnRendition() async throws {
        let file = try mounted.entry("Show", ".alternates", Self.episode, "Small 32k en.opus")
        let number = try #require(NodeNumber(file.node))
        let row = try #require(try mounted.library.episode(id: number.episode))
        let content = TestContent(seed: 7, size: 70_000)
        try mounted.store(content, of: row)
        #expect(mounted.fact(file.node, "user.podfs.state") == "cached")
        #expect(mounted.fact(try mounted.entry("Show", Self.episode + ".mp3").node, "user.podfs.state") == "remote")
        let handle = try await mounted.open(file.node).handle()
        #expect(mounted.read(file.node, handle, 0, 100).answer == .bytes(content.bytes(in: 0..<100)))
        mounted.release(file.node, handle)
    }

    @Test func theShowsPageLinksAlternatesWithTheirCurrentSizes() async throws {
        let before = try await mounted.content("Show", "index.html")
        let modified = try mounted.entry("Show", "index.html").attributes.modified
        let folder = ".alternates/2026-01-01%20Episode%201"
        #expect(
            before.contains("<a href=\"\(folder)/Small%2032k%20en.opus\">Small 32k en</a> (audio/opus, 68.4 KiB)"))
        #expect(
            before.contains("<a href=\"\(folder)/Video%20720p.mp4\">") && before.contains("Stream.m3u8\">"))
        let file = try mounted.entry("Show", ".alternates", Self.episode, "Small 32k en.opus")
        let number = try #require(NodeNumber(file.node))
        try mounted.store(
            TestContent(seed: 7, size: 100_000), of: try #require(try mounted.library.episode(id: number.episode)))
        let after = try await mounted.content("Show", "index.html")
        #expect(after.contains("Small 32k en</a> (audio/opus, 97.7 KiB)"))
        #expect(try mounted.entry("Show", "index.html").attributes.modified > modified)
    }

    @Test func changesInvalidateTheNameInTheAlternatesFolderOnly() async throws {
        let daemon = try await mounted.daemon()
        let id = try mounted.episode().id
        let gone = try #require(try mounted.library.alternates(of: id).first)
        try mounted.refresh(show, Self.feed(""), now: 1_800_000_000)
        #expect(mounted.lookup(".alternates", in: try mounted.entry("Show").node) == .error(.noSuchFileOrDirectory))
        let folder = NodeNumber(kind: .episodeAlternates, row: id).node
        mounted.notifier.clear()
        daemon.send(Event(sequence: 1, time: 1_800_000_001, .show(show.id, name: "Show", formerName: nil)))
        try await waitUntil {
            mounted.notifier.messages.contains(.entry(parent: folder, name: gone.fileName))
        }
        let ofShow = NodeNumber(kind: .show, row: show.id).node
        #expect(!mounted.notifier.messages.contains(.entry(parent: ofShow, name: gone.name)))
    }

    /// To resolve a file handle of an exported mount (NFS, open_by_handle_at(2)), the kernel looks up `.` and `..`.
    @Test func handlesOfAnExportAreAnswered() throws {
        let show = try mounted.entry("Show")
        let folder = try mounted.entry("Show", ".alternates")
        let files = try mounted.entry("Show", ".alternates", Self.episode)
        #expect(mounted.lookup("..", in: folder.node) == .entry(show))
        #expect(mounted.lookup("..", in: files.node) == .entry(folder))
        #expect(mounted.lookup(".", in: files.node) == .entry(files))
        let file = try mounted.entry("Show", ".alternates", Self.episode, "Video 720p.mp4")
        #expect(mounted.lookup(".", in: file.node) == .entry(file))
    }
}
