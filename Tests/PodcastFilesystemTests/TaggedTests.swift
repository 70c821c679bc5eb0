import Foundation
import Fuse
import Glibc
import PodcastLibrary
import PodcastProtocol
import SystemPackage
import TestSupport
import Testing
import Transfers

@testable import PodcastFilesystem

/// Files in the folder `Tagged`. Each MP3 file there consists of an ID3 tag that podfs generates, and of the bytes that
/// follow the original's own tag.
@Suite struct TaggedTests {
    private let mounted: Mounted
    private let content = TestContent(seed: 7, size: 300_000)

    init() throws { mounted = try Mounted { $0.hasTagged = true } }

    private func path(_ number: Int = 1) -> [String] { ["Tagged", "Show", "2026-01-0\(number) Episode \(number).mp3"] }

    private func entry(_ number: Int = 1) throws -> Entry {
        let path = path(number)
        return try mounted.entry(path[0], path[1], path[2])
    }

    /// Starts a daemon that records versions of tagged files in the library, and grants opens and reads of `content`.
    private func daemon(head: Int = 0) async throws -> FakeDaemon {
        let library = mounted.library
        let content = content
        return try await mounted.daemon { daemon, frame in
            switch frame.kind {
            case .open, .read:
                let grant = Grant(
                    generation: 1, total: Int64(content.size), file: nil, present: ByteRanges(),
                    head: content.bytes(in: 0..<head))
                daemon.answer(frame, grant)
            case .command:
                guard
                    case .setTaggedFile(
                        let episode, let rendition, let size, let fingerprint, let skipped, let total)? =
                        WireJSON.decode(Command.self, frame.payload)
                else { return }
                let version = try? library.setTaggedFile(
                    TaggedFile.Content(
                        rendition: rendition, tagSize: size, fingerprint: fingerprint, skipped: skipped, total: total),
                    of: episode)
                daemon.answer(frame, .taggedFile(version: version ?? -1))
            default: break
            }
        }
    }

    /// Reads a whole file in reads of `size` bytes.
    private func read(_ node: NodeID, _ handle: Fuse.FileHandle, by size: Int, total: Int64) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while Int64(bytes.count) < total {
            guard case .bytes(let part)? = mounted.read(node, handle, Int64(bytes.count), size).answer, !part.isEmpty
            else { throw Errno.ioError }
            bytes += part
        }
        return bytes
    }

    private func title(_ tag: [UInt8]) -> String? {
        guard let frame = Data(tag).firstRange(of: Data("TIT2".utf8)) else { return nil }
        let size = Int(tag[frame.upperBound + 3])
        return String(decoding: tag[(frame.upperBound + 7)..<(frame.upperBound + 6 + size)], as: UTF8.self)
    }

    @Test func anyOffsetCanBeReadBehindALargeTag() {
        let tag = ReplacementTag(content: GeneratedContent([UInt8](repeating: 0, count: 100)), skipped: 5_000)
        let last = tag.split((.max - 1)..<(.max))
        #expect(last.tag.isEmpty && last.original.isEmpty)
        let across = tag.split(90..<110)
        #expect(across.tag == 90..<100 && across.original == 5_000..<5_010)
        #expect(tag.split(10..<20).original.isEmpty)
    }

    @Test func aCachedEpisodeHasATagInPlaceOfItsOwn() async throws {
        try mounted.subscribe(episodes: 2)
        try mounted.store(content, of: try mounted.episode())
        let daemon = try await daemon()
        let node = try entry().node
        let handle = try await mounted.open(node).handle()
        let size = try #require(mounted.attributes(node, handle: handle)?.size)
        let tagSize = size - 299_990
        #expect(tagSize > 40 && mounted.notifier.messages.contains(.attributes(node)))
        for step in [1_000, 4_096, 131_072] {
            let bytes = try read(node, handle, by: step, total: size)
            #expect(
                bytes.count == Int(size) && Array(bytes.dropFirst(Int(tagSize))) == Array(content.bytes.dropFirst(10)))
            #expect(bytes.starts(with: Array("ID3".utf8) + [4, 0, 0]) && title(bytes) == "Episode 1")
        }
        // Reads across the boundary between the tag and the audio, and at the end.
        for offset in [tagSize - 3, tagSize, tagSize + 5, size - 4] {
            guard case .bytes(let part)? = mounted.read(node, handle, offset, 8).answer else { throw Errno.ioError }
            #expect(part.count == Int(min(8, size - offset)))
        }
        #expect(mounted.readTail(node, handle, size, 10) == .bytes([]))
        mounted.release(node, handle)
        // The size stays exact, and the second open needs no daemon.
        #expect(try entry().attributes.size == size && entry().node == node)
        daemon.die()
        mounted.release(node, try await mounted.open(node).handle())
        // The other episode was never opened: its size is an estimate, made without a request.
        #expect(try entry(2).attributes.size == 500_000 + 256 << 10)
        #expect(mounted.fact(node, "user.podfs.state") == "cached" && mounted.fact(node, "user.podfs.sha256") == nil)
    }

    @Test func anUncachedEpisodeHasItsExactSizeAtOpen() async throws {
        try mounted.subscribe(episodes: 1, length: 111_111)
        let daemon = try await daemon(head: 4_096)
        let node = try entry().node
        #expect(try entry().attributes.size == 111_111 + 256 << 10)
        let handle = try await mounted.open(node).handle()
        let size = try #require(mounted.attributes(node, handle: handle)?.size)
        // The first bytes in the grant suffice to find the audio. So the mount sends no read, only the open and the
        // command that records the version.
        #expect(daemon.frames.map(\.kind) == [.open, .command])
        guard case .bytes(let bytes)? = mounted.read(node, handle, 0, 3_000).answer else { throw Errno.ioError }
        let tag = Int(size - 299_990)
        #expect(bytes.count == 3_000 && Array(bytes.dropFirst(tag)) == content.bytes(in: 10..<(3_010 - tag)))
        mounted.release(node, handle)
        try await daemon.wait(for: .close)
    }

    @Test func aChangedTitleMakesANewVersionAndTheOldOneStaysReadable() async throws {
        let show = try mounted.subscribe(episodes: 1)
        try mounted.store(content, of: try mounted.episode())
        let daemon = try await daemon()
        let node = try entry().node
        let handle = try await mounted.open(node).handle()
        let size = try #require(mounted.attributes(node, handle: handle)?.size)
        let before = try read(node, handle, by: 65_536, total: size)
        var feed = FeedBuilder.show("Show", episodes: 1, length: 500_000) { "http://127.0.0.1:9/Show/\($0).mp3" }
        feed.items[0].title = "Quite another title of this episode"
        try mounted.refresh(show, feed)
        // The kernel looks the name up again after ESTALE.
        #expect(try await mounted.open(node).answered() == .error(.staleNFSFileHandle))
        let next = try entry()
        #expect(next.node != node && next.attributes.inode == mounted.attributes(node)?.inode)
        let second = try await mounted.open(next.node).handle()
        let newSize = try #require(mounted.attributes(next.node, handle: second)?.size)
        #expect(title(try read(next.node, second, by: 65_536, total: newSize)) == "Quite another title of this episode")
        #expect(mounted.attributes(node, handle: handle)?.size == size)
        #expect(try read(node, handle, by: 65_536, total: size) == before)
        #expect(daemon.frames.count { $0.kind == .command } == 2)
    }

    /// Art of up to 10 MiB is fetched, but only art of up to 1 MiB goes into a tag.
    @Test(arguments: [(20_000_000, 300_000, 300_000), (1 << 20, 300_000, 1 << 20), (0, (1 << 20) + 1, 0)])
    func tooLargeArtIsNotInTheTag(art: Int, cover: Int, expected: Int) async throws {
        let show = try mounted.subscribe(episodes: 1)
        let episode = try mounted.episode()
        try mounted.store(content, of: episode)
        for (kind, row, size) in [(AssetKind.art, episode.id.rawValue, art), (.cover, show.id.rawValue, cover)] {
            let path = "\(mounted.paths.assets)/\(kind.fileName(row))"
            try Data([0xFF, 0xD8, 0xFF, 0xE0]).write(to: URL(fileURLWithPath: path))
            // The rest is a hole: zeros.
            if size > 0 { try #require(truncate(path, size) == 0) }
        }
        let daemon = try await daemon()
        let node = try entry().node
        let handle = try await mounted.open(node).handle()
        let size = try #require(mounted.attributes(node, handle: handle)?.size)
        let tag = Int(size) - 299_990
        #expect(expected..<(expected + 2_000) ~= tag)
        let bytes = try read(node, handle, by: 65_536, total: size)
        #expect(Array(bytes.dropFirst(tag)) == Array(content.bytes.dropFirst(10)))
        let picture = bytes.prefix(tag).suffix(expected)
        #expect(
            expected == 0
                || picture.starts(with: [0xFF, 0xD8, 0xFF, 0xE0]) && picture.dropFirst(4).allSatisfy { $0 == 0 })
        #expect(daemon.frames.count { $0.kind == .command } == 1)
        mounted.release(node, handle)
    }

    @Test func anInterruptedOpenIsClosedAtTheDaemon() async throws {
        try mounted.subscribe(episodes: 1)
        let content = content
        let daemon = try await mounted.daemon { daemon, frame in
            // Opens are granted, reads and commands stay unanswered.
            if frame.kind == .open {
                daemon.answer(frame, Grant(generation: 1, total: Int64(content.size), file: nil, present: ByteRanges()))
            }
        }
        let open = mounted.open(try entry().node)
        try await daemon.wait(for: .read)
        open.interrupt()
        #expect(try await open.answered() == .error(.interrupted))
        try await daemon.wait(for: .close)
    }
}
