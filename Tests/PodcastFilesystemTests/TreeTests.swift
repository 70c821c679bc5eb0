import Fuse
import Glibc
import PodcastFilesystem
import PodcastLibrary
import PodcastProtocol
import SystemPackage
import TestSupport
import Testing

struct TreeTests {
    private let mounted: Mounted

    init() throws { mounted = try Mounted() }

    // MARK: Lookup

    @Test func showsAndEpisodesAreFoundByTheirNames() throws {
        let podcast = try mounted.subscribe(episodes: 3)
        let show = try mounted.entry("Show")
        #expect(show.node == NodeNumber(kind: .show, row: podcast.id).node)
        #expect(show.attributes.kind == .directory && show.attributes.permissions == 0o555)
        // The mtime of a show's folder is the date of its newest episode.
        #expect(show.attributes.modified == 1_767_254_400 + 2 * 86_400)

        let row = try mounted.episode(2)
        let episode = try mounted.entry("Show", "2026-01-02 Episode 2.mp3")
        let number = NodeNumber(kind: .episode, generation: 1, row: row.id)
        #expect(episode.node == number.node)
        let attributes = episode.attributes
        #expect(attributes.inode == number.inode && attributes.kind == .regular && attributes.permissions == 0o444)
        #expect(attributes.uid == 1_000 && attributes.gid == 1_001 && attributes.links == 1)
        #expect(attributes.size == 500_000)
        #expect(attributes.modified == 1_767_254_400 + 86_400)
        #expect(attributes.changed == 1_700_000_000)
        // A program may take a file with 0 blocks for a sparse file without data, and not read it.
        #expect(attributes.blocks == 1)
        #expect(episode.entryTimeout > 3_600 && episode.attributeTimeout > 3_600)
        #expect(mounted.attributes(episode.node) == attributes)
        #expect(mounted.attributes(show.node) == show.attributes)
        for name in ["show", "Sho", "", "Tagged"] { #expect(mounted.lookup(name) == .error(.noSuchFileOrDirectory)) }
    }

    @Test func accessReportsThatNothingIsWritable() throws {
        try mounted.subscribe()
        let show = try mounted.entry("Show").node
        let file = try mounted.entry("Show", "2026-01-01 Episode 1.mp3").node
        let feed = try mounted.entry("Show", ".feed.json").node
        func access(_ node: NodeID, _ mask: Int32, uid: UInt32 = 1_000) -> RecordedAnswer? {
            mounted.request(uid: uid) { mounted.filesystem.access($0, node: node, mask: mask) }.answer
        }
        for node in [NodeID.root, show, file, feed] {
            #expect(access(node, R_OK) == .done)
            #expect(access(node, W_OK) == .error(.readOnlyFileSystem))
            #expect(access(node, R_OK | W_OK, uid: 0) == .error(.readOnlyFileSystem))
        }
        #expect(access(.root, R_OK | X_OK, uid: 7) == .done)
        #expect(access(show, X_OK) == .done)
        #expect(access(file, X_OK, uid: 0) == .error(.permissionDenied))
        // The feed may contain the secrets of a private URL.
        #expect(access(feed, R_OK, uid: 7) == .error(.permissionDenied))
        #expect(access(feed, R_OK, uid: 0) == .done)
        #expect(access(NodeID(rawValue: .max), R_OK) == .error(.staleNFSFileHandle))
    }

    @Test func namesAreComparedAsBytes() throws {
        // Swift considers the two spellings equal, the kernel does not: only the listed name may be found.
        try mounted.subscribe("Caf\u{E9}")
        #expect(try mounted.entry("Caf\u{E9}").attributes.kind == .directory)
        #expect(mounted.lookup("Cafe\u{301}") == .error(.noSuchFileOrDirectory))
    }

    // MARK: Stale nodes

    @Test func unknownNodesAndNodesOfARemovedShowAreStale() throws {
        let podcast = try mounted.subscribe()
        let show = try mounted.entry("Show").node
        let episode = try mounted.entry("Show", "2026-01-01 Episode 1.mp3").node
        _ = try mounted.library.unsubscribe(podcast: podcast.id)
        for node in [show, episode, NodeID(rawValue: .max), NodeNumber(kind: .fixed, row: 99).node] {
            let reply = mounted.request { mounted.filesystem.getattr($0, node: node, handle: nil) }
            #expect(reply.answer == .error(.staleNFSFileHandle))
        }
        for node in [show, episode, NodeID(rawValue: .max)] {
            #expect(mounted.xattr(node, "user.podfs.id") == .error(.staleNFSFileHandle))
        }
        #expect(mounted.open(episode).answer == .error(.noSuchFileOrDirectory))
        let reply = mounted.request { mounted.filesystem.opendir($0, node: show) }
        #expect(reply.answer == .error(.noSuchFileOrDirectory))
    }

    @Test func anOldGenerationsNodeStillHasAttributes() throws {
        try mounted.subscribe()
        let node = try mounted.entry("Show", "2026-01-01 Episode 1.mp3").node
        try mounted.library.dropRendition(episode: try mounted.episode().id, now: 1_700_000_009)
        let new = try mounted.entry("Show", "2026-01-01 Episode 1.mp3")
        #expect(new.node != node)
        #expect(mounted.attributes(node) == new.attributes)
    }

    // MARK: Generated files

    @Test func generatedFilesAreFoundAndRead() async throws {
        #expect(try await mounted.content("index.html").contains("No shows yet"))
        for (name, text) in [(".status", "no active tasks\n"), (".nomedia", ""), (".trackerignore", "")] {
            let entry = try mounted.entry(name)
            #expect(entry.attributes.size == Int64(text.utf8.count) && entry.attributes.permissions == 0o444)
            #expect(mounted.attributes(entry.node)?.size == Int64(text.utf8.count))
            let reply = mounted.open(entry.node)
            let open = try reply.answer.opened
            #expect(open.directIO)
            #expect(mounted.read(entry.node, open.handle, 0, 4_096).answer == .bytes(Array(text.utf8)))
            #expect(
                mounted.read(entry.node, open.handle, 3, 2).answer == .bytes(Array(text.utf8.dropFirst(3).prefix(2))))
            #expect(mounted.read(entry.node, open.handle, 1 << 40, 10).answer == .bytes([]))
            mounted.release(entry.node, open.handle)
            #expect(mounted.read(entry.node, open.handle, 0, 10).answer == .error(.badFileDescriptor))
        }
        #expect(try mounted.entry(".status").attributeTimeout == 0)
        #expect(try mounted.entry(".status.json").attributeTimeout == 0)
        #expect(try mounted.entry(".nomedia").attributeTimeout > 0)
    }

    @Test func anOpenGeneratedFileKeepsItsContent() async throws {
        let podcast = try mounted.subscribe()
        let node = try mounted.entry(".status").node
        let handle = try await mounted.open(node).handle()
        _ = try mounted.library.enqueue(episode: try mounted.episode().id, session: "x", now: 1_700_000_000)
        let old = Array("no active tasks\n".utf8)
        #expect(mounted.read(node, handle, 0, 4_096).answer == .bytes(old))
        #expect(mounted.attributes(node, handle: handle)?.size == Int64(old.count))
        let size = try #require(mounted.attributes(node)?.size)
        #expect(size > 100)
        let second = try await mounted.open(node).handle()
        let bytes = try mounted.read(node, second, 0, 4_096).answer.bytes
        #expect(String(decoding: bytes, as: UTF8.self).contains("\(podcast.name)/2026-01-01 Episode 1.mp3"))
        #expect(bytes.count == Int(size))
    }

    // MARK: The file system

    @Test func statfsReportsTheCachesLimitAndFreeSpace() throws {
        let mounted = try Mounted(cacheLimit: 4_096 * 1_000)
        try mounted.subscribe()
        // A cache above its limit has 0 bytes free, not a huge unsigned number.
        for (generation, size, free) in [(1, 409_600, 900), (2, 5_000_000, 0)] as [(Int, Int, UInt64)] {
            try mounted.store(TestContent(seed: 1, size: size), of: try mounted.episode(), generation: generation)
            let reply = mounted.request { mounted.filesystem.statfs($0, node: .root) }
            #expect(
                reply.answer == .statistics(FilesystemStatistics(blockSize: 4_096, blocks: 1_000, freeBlocks: free)))
        }
    }
}
