import Foundation
import Fuse
import PodcastLibrary
import PodcastProtocol
import SystemPackage
import TestSupport
import Testing

@testable import PodcastFilesystem

/// The folder `.find`.
struct FindFolderTests {
    private let mounted: Mounted

    init() throws {
        // No daemon runs, and none is started.
        mounted = try Mounted(script: "touch \"$0.started\"")
    }

    private func publish(_ title: String, _ titles: [String]) throws -> Podcast {
        try mounted.subscribe(
            FeedBuilder(
                title: title,
                items: titles.enumerated().map { index, item in
                    .init(
                        title: item, guid: item, url: "http://127.0.0.1:9/\(title.count)/\(index).mp3",
                        published: FeedBuilder.date(day: index + 1), description: "notes of \(item)")
                }), url: "http://127.0.0.1:9/\(title.count).xml")
    }

    private func index() throws {
        let writer = try FindIndexWriter(
            path: mounted.paths.findIndex, transcripts: TranscriptFiles(folder: mounted.paths.assets))
        var update = try writer.update(from: mounted.library)
        while try update.perform() {}
    }

    @Test func theFolderListsNothingAndEveryNameInItIsAFolder() throws {
        let find = try mounted.entry(".find").node
        #expect(try mounted.names(".find") == [])
        for name in ["squid", "a b", "\"", "🦑", String(repeating: "x", count: 255), "AND"] {
            #expect(try mounted.entry(".find", name).attributes.kind == .directory)
            #expect(try mounted.names(".find", name) == ["playlist.m3u8", ".nomedia"])
        }
        #expect(mounted.lookup(".git", in: find) == .error(.noSuchFileOrDirectory))
        #expect(mounted.attributes(NodeNumber(kind: .findTerm, row: 5).node) == nil)
        #expect(!mounted.wasStarted)
    }

    @Test func aTermListsLinksToItsEpisodesTheBestFirst() throws {
        _ = try publish("Sea", ["One", "The Squid", "Two squid notes and a longer title"])
        _ = try publish("Other", ["Squid", "Octopus"])
        try index()
        let found = try mounted.names(".find", "squid")
        #expect(
            found == [
                "playlist.m3u8", ".nomedia", "2026-01-01 Squid - Other.mp3", "2026-01-02 The Squid - Sea.mp3",
                "2026-01-03 Two squid notes and a longer title - Sea.mp3",
            ])
        let link = try mounted.entry(".find", "squid", "2026-01-02 The Squid - Sea.mp3")
        #expect(link.attributes.kind == .symlink)
        #expect(
            mounted.request { mounted.filesystem.readlink($0, node: link.node) }.answer
                == .link("../../Sea/2026-01-02 The Squid.mp3"))
        #expect(mounted.attributes(link.node) == link.attributes)
        #expect(
            mounted.lookup("2026-01-01 One - Sea.mp3", in: try mounted.entry(".find", "squid").node)
                == .error(.noSuchFileOrDirectory))
        // A lookup without a listing searches, too.
        #expect(try mounted.entry(".find", "octopus", "2026-01-02 Octopus - Other.mp3").node != link.node)
        #expect(!mounted.wasStarted)
    }

    @Test func thePlaylistHasTheOrderOfTheLinks() async throws {
        _ = try publish("Sea", ["Squid and other things", "Squid"])
        try index()
        #expect(
            try await mounted.content(".find", "squid", "playlist.m3u8") == """
                #EXTM3U
                #PLAYLIST:squid
                #EXTINF:-1,Squid
                2026-01-02 Squid - Sea.mp3
                #EXTINF:-1,Squid and other things
                2026-01-01 Squid and other things - Sea.mp3

                """)
        #expect(try mounted.entry(".find", "squid", ".nomedia").attributes.size == 0)
    }

    @Test func removedEpisodesDisappear() throws {
        let show = try publish("Sea", ["Squid", "Squid two"])
        try index()
        #expect(try mounted.names(".find", "squid").count == 4)
        let link = try mounted.entry(".find", "squid", "2026-01-01 Squid - Sea.mp3").node
        _ = try mounted.library.unsubscribe(podcast: show.id)
        #expect(try mounted.names(".find", "squid").count == 2)
        #expect(mounted.request { mounted.filesystem.readlink($0, node: link) }.answer == .error(.staleNFSFileHandle))
    }

    @Test func playersFindTheEpisodeOfALink() throws {
        _ = try publish("Sea", ["Squid"])
        try index()
        let path = [".find", "squid", "2026-01-01 Squid - Sea.mp3"]
        #expect(mounted.filesystem.episode(at: path) == nil)
        _ = try mounted.entry(".find", "squid")
        #expect(
            try mounted.filesystem.episode(at: path)
                == mounted.library.podcasts().first.map { show in
                    try #require(try mounted.library.entries(of: show.id).first).id
                })
    }
}
