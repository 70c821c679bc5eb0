import Fuse
import PodcastFilesystem
import PodcastLibrary
import PodcastProtocol
import SystemPackage
import TestSupport
import Testing

struct ListingTests {
    private let mounted: Mounted

    init() throws { mounted = try Mounted() }

    private let madeInShow = ["playlist.m3u8", "index.html", ".feed.json", ".notes", ".chapters"]

    @Test func aShowListsItsEpisodesAndFiles() throws {
        try mounted.subscribe(episodes: 3)
        let show = try mounted.entry("Show").node
        let handle = try mounted.opendir(show)
        let entries = try #require(mounted.list(show, handle))
        #expect(
            Set(entries.map(\.name))
                == Set([".", ".."] + madeInShow + [3, 2, 1].map { "2026-01-0\($0) Episode \($0).mp3" }))
        #expect(entries[0].inode == show.rawValue && entries[1].inode == 0x8000_0001)
        for entry in entries.dropFirst(2) where !madeInShow.contains(entry.name) {
            let looked = try mounted.entry("Show", entry.name)
            #expect(entry.node == looked.node && entry.inode == looked.attributes.inode && entry.size == 500_000)
        }
        let plain = try #require(mounted.list(show, handle, plus: false))
        #expect(plain.map(\.name) == entries.map(\.name))
        #expect(plain.map(\.inode) == entries.map(\.inode))
        #expect(plain.allSatisfy { $0.node == nil })
    }

    @Test func aContinuedListingHasTheNamesFromItsStart() throws {
        let podcast = try mounted.subscribe(episodes: 20)
        let show = try mounted.entry("Show").node
        let handle = try mounted.opendir(show)
        let whole = try #require(mounted.list(show, handle))
        let half = Array(whole.prefix(10))
        // Add episodes at the top, rename one and remove one.
        try mounted.refresh(
            podcast, .show("Show", episodes: 25, length: 500_000) { "http://127.0.0.1:9/Show/\($0).mp3" })
        try mounted.library.renameEpisode(id: try mounted.episode(3).id, to: "Renamed")
        _ = try mounted.library.bury(episodes: [try mounted.episode(5).id], now: 1_700_000_100)
        let rest = try #require(mounted.list(show, handle, from: half[9].nextOffset))
        #expect(half + rest == whole)
        // Another opendir returns the current names, and so does rewinddir(3).
        let now = try #require(mounted.list(show, try mounted.opendir(show)))
        #expect(now.count == 31 && now.contains { $0.name == "Renamed.mp3" })
        #expect(!now.contains { $0.name.contains("Episode 5.") })
        #expect(mounted.list(show, handle, from: 0) == now)
        #expect(mounted.list(show, handle, from: now[9].nextOffset) == Array(now.dropFirst(10)))
    }

    @Test func aContinuedListingReturnsCurrentSizes() async throws {
        let podcast = try mounted.subscribe(episodes: 20)
        let daemon = try await mounted.daemon()
        let show = try mounted.entry("Show").node
        let handle = try mounted.opendir(show)
        let whole = try #require(mounted.list(show, handle))
        let (changed, renamed) = (try mounted.episode(18), try mounted.episode(19))
        try mounted.library.confirm(episode: changed.id, size: 99_999, now: 1_700_000_100)
        try mounted.library.renameEpisode(id: renamed.id, to: "Renamed")
        let event = Event(sequence: 1, time: 1_700_000_100, .episode(changed.id, formerName: nil))
        daemon.send(event)
        let number = NodeNumber(kind: .episode, generation: 1, row: changed.id)
        try await waitUntil { mounted.notifier.messages.contains(.attributes(number.node)) }
        // The kernel was notified to drop the attributes of the changed episode before this listing returns it.
        let rest = try #require(mounted.list(show, handle, from: whole[9].nextOffset))
        #expect(rest.map(\.name) == whole.dropFirst(10).map(\.name))
        #expect(rest.first { $0.name == changed.name }?.size == 99_999)
        // A renamed episode cannot be looked up by its old name.
        let gone = try #require(rest.first { $0.name == renamed.name })
        #expect(gone.node == NodeID(rawValue: 0) && gone.size == nil && gone.kind == .regular)
        #expect(gone.inode == NodeNumber(kind: .episode, row: renamed.id).inode)
        #expect(rest.filter { $0.size == 500_000 }.count == rest.count - 2)
        #expect(podcast.name == "Show")
    }

    @Test func browsingNeedsNoDaemon() throws {
        // No daemon runs, and browsing starts none.
        let mounted = try Mounted(script: "touch \"$0.started\"")
        try mounted.subscribe(episodes: 5)
        let show = try mounted.entry("Show").node
        for entry in try #require(mounted.list(show, try mounted.opendir(show))).dropFirst(2) {
            let node = try mounted.entry("Show", entry.name).node
            #expect(mounted.attributes(node) != nil)
            for name in mounted.xattrNames(node) { #expect(mounted.fact(node, name) != nil) }
        }
        #expect(!mounted.link.isConnected)
        #expect(!mounted.wasStarted)
    }
}
