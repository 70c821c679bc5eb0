import Foundation
import TestSupport
import Testing

@testable import PodcastFeed

/// Chapters in media files. FFmpeg (`-map_chapters`) made the files of the fixtures; the tests make the other files.
struct EmbeddedChaptersTests {
    private static let files = ["track.m4a", "track-first.m4a", "chapters.mp3", "chapters-4.mp3"]

    private static func bytes(_ name: String) throws -> [UInt8] {
        try [UInt8](Data(contentsOf: FixtureTests.folder.appendingPathComponent("Chapters/\(name)")))
    }

    @Test(arguments: files) func chaptersOfFilesMadeByFFmpeg(name: String) throws {
        #expect(
            EmbeddedChapters.chapters(of: MediaBytes(try Self.bytes(name))) == [
                Chapter(start: 0, title: "Start"), Chapter(start: 1.5, title: "Größe – 2"),
                Chapter(start: 3, title: "End"),
            ])
    }

    /// `chap` refers to the chapter track, `chpl` is the chapter list. The test renames `chap`, so that the parser
    /// finds only the list, and then also `chpl`, so that it finds neither.
    @Test func theChapterListIsReadWithoutAChapterTrack() throws {
        var bytes = try Self.bytes("track.m4a")
        let reference = try #require(bytes.firstRange(of: Array("chap".utf8)))
        bytes.replaceSubrange(reference, with: Array("none".utf8))
        #expect(EmbeddedChapters.chapters(of: MediaBytes(bytes)).map(\.title) == ["Start", "Größe – 2", "End"])
        let list = try #require(bytes.firstRange(of: Array("chpl".utf8)))
        bytes.replaceSubrange(list, with: Array("none".utf8))
        #expect(EmbeddedChapters.chapters(of: MediaBytes(bytes)).isEmpty)
    }

    @Test(arguments: files) func alteredAndCutFilesYieldSortedChapters(name: String) throws {
        var dice = SeededGenerator(seed: 7)
        let bytes = try Self.bytes(name)
        for _ in 1...300 {
            var altered = bytes
            let end = min(bytes.count, 2_000)
            for _ in 1...3 {
                // Alter only the start and the end of the file, where the structures are.
                let offset = Int.random(in: 0..<end, using: &dice)
                altered[Bool.random(using: &dice) ? offset : bytes.count - 1 - offset] = .random(
                    in: 0...255, using: &dice)
            }
            if Bool.random(using: &dice) { altered.removeLast(.random(in: 0..<altered.count, using: &dice)) }
            let starts = EmbeddedChapters.chapters(of: MediaBytes(altered)).map(\.start)
            #expect(starts == starts.sorted() && starts.count <= 1_000)
        }
    }

    // MARK: ID3

    private static func frame(_ name: String, _ body: [UInt8], flags: UInt8 = 0) -> [UInt8] {
        Array(name.utf8) + syncsafe(body.count) + [0, flags] + body
    }

    private static func syncsafe(_ count: Int) -> [UInt8] { [21, 14, 7, 0].map { UInt8(count >> $0 & 0x7F) } }

    private static func chapter(_ start: UInt32, until end: UInt32 = .max, _ parts: [UInt8]) -> [UInt8] {
        let times = [start, end, .max, .max].flatMap { time in [24, 16, 8, 0].map { UInt8(time >> $0 & 0xFF) } }
        return frame("CHAP", Array("c\(start)".utf8) + [0] + times + parts)
    }

    private static func tag(_ frames: [UInt8]) -> MediaBytes {
        MediaBytes(
            Array("ID3".utf8) + [4, 0, 0] + syncsafe(frames.count + 20) + frames + [UInt8](repeating: 0, count: 20))
    }

    @Test func titlesAndLinksOfChaptersAreRead() {
        let utf16: [UInt8] = [1, 0xFF, 0xFE] + "Zwei".utf8.flatMap { [$0, 0] }
        // In a frame with the unsynchronisation flag, a zero follows each 0xFF.
        let unsynchronised: [UInt8] = [1, 0xFF, 0, 0xFE] + "Drei".utf8.flatMap { [$0, 0] }
        let chapters = EmbeddedChapters.chapters(
            of: Self.tag(
                Self.frame("TIT2", [3] + Array("The episode".utf8))
                    + Self.chapter(
                        90_500,
                        Self.frame("APIC", [UInt8](repeating: 9, count: 70_000)) + Self.frame("TIT2", utf16)
                            + Self.frame("WXXX", [0] + Array("x\0https://x.example/2".utf8)))
                    + Self.chapter(0, Self.frame("TIT2", [0, 0xC4] + Array("ins\0".utf8)))
                    + Self.chapter(100_000, Self.frame("TIT2", unsynchronised, flags: 2))
                    + Self.chapter(.max, []) + Self.chapter(120_000, [])))
        #expect(
            chapters == [
                Chapter(start: 0, title: "Äins"), Chapter(start: 90.5, title: "Zwei", link: "https://x.example/2"),
                Chapter(start: 100, title: "Drei"), Chapter(start: 120),
            ])
    }

    /// Flags say that extra data precedes a frame's content, or that 0xFF 0x00 in the content stands for 0xFF
    /// (ID3v2.4.0-structure §4.1 and §6.1).
    @Test func flagsOfFramesAreUnderstood() {
        // U+00FF in big-endian UTF-16 is 00 FF. Unsynchronisation has inserted the next zero; the one after it belongs
        // to the next character, 00 41.
        let text: [UInt8] = [2, 0x00, 0xFF, 0x00, 0x00, 0x41]
        let chapters = EmbeddedChapters.chapters(
            of: Self.tag(
                Self.chapter(0, Self.frame("TIT2", text, flags: 0x02))
                    + Self.chapter(1_000, Self.frame("TIT2", [0, 0, 0, 4] + [3] + Array("One".utf8), flags: 0x01))
                    + Self.chapter(2_000, Self.frame("TIT2", [7] + [3] + Array("Two".utf8), flags: 0x40))
                    + Self.chapter(3_000, Self.frame("TIT2", [1], flags: 0x41))))
        #expect(
            chapters == [
                Chapter(start: 0, title: "ÿA"), Chapter(start: 1, title: "One"), Chapter(start: 2, title: "Two"),
                Chapter(start: 3),
            ])
    }

    @Test func onlyTheFirstPartsOfAChapterAreRead() {
        let parts = (0..<10_000).flatMap { _ in Self.frame("TIT3", [3]) }
        let bytes = Self.tag(Self.chapter(0, Self.frame("TIT2", [3] + Array("One".utf8)) + parts))
        var reads = 0
        let counted = MediaBytes(size: bytes.size) { offset, count in
            reads += 1
            return bytes.bytes(at: offset, upTo: count)
        }
        #expect(EmbeddedChapters.chapters(of: counted).map(\.title) == ["One"])
        #expect(reads < 50)
    }

    /// The unsynchronisation flag of the CHAP frame itself also applies to the times in that frame. Times that are not
    /// used are 0xFFFFFFFF.
    @Test func aChapterMayBeUnsynchronised() {
        let times: [UInt8] = [0, 0, 0x0F, 0xFF] + [UInt8](repeating: 0xFF, count: 12)
        let body = Array("c".utf8) + [0] + times + Self.frame("TIT2", [3] + Array("One".utf8))
        let unsynchronised = body.flatMap { $0 == 0xFF ? [0xFF, 0] : [$0] }
        let chapters = EmbeddedChapters.chapters(of: Self.tag(Self.frame("CHAP", unsynchronised, flags: 0x02)))
        #expect(chapters == [Chapter(start: 4.095, title: "One")])
    }

    @Test func chaptersThatOverlapKeepTheirStarts() {
        let title = Self.frame("TIT2", [3] + Array("x".utf8))
        let chapters = EmbeddedChapters.chapters(
            of: Self.tag(
                Self.chapter(5_000, until: 1_000, title) + Self.chapter(0, until: 90_000, title)
                    + Self.chapter(5_000, until: 6_000, title) + Self.chapter(5_500, until: 5_500, [])))
        #expect(chapters == [Chapter(start: 0, title: "x"), Chapter(start: 5, title: "x"), Chapter(start: 5.5)])
    }

    /// Media data of 4 GiB is skipped, not read.
    @Test func onlyTheStructureIsRead() throws {
        let bytes = try Self.bytes("track.m4a")
        let index = try #require(bytes.firstRange(of: Array("moov".utf8))).lowerBound - 4
        var head = Array(bytes[..<index])
        // The media data is extended by 4 GiB, and gets a 64-bit size.
        let data = try #require(head.firstRange(of: Array("mdat".utf8)))
        let hole: Int64 = 4 << 30
        let size = Int64(head.count - data.lowerBound + 4 + 8) + hole
        head.replaceSubrange(
            data.lowerBound - 4..<data.upperBound,
            with: [0, 0, 0, 1] + Array("mdat".utf8) + (0..<8).map { UInt8(truncatingIfNeeded: size >> (56 - 8 * $0)) })
        let tail = Array(bytes[index...])
        let end = Int64(head.count) + hole
        var read = 0
        let media = MediaBytes(size: end + Int64(tail.count)) { offset, count in
            read += count
            return (offset..<offset + Int64(count)).map { place in
                place < Int64(head.count) ? head[Int(place)] : place < end ? 0 : tail[Int(place - end)]
            }
        }
        #expect(EmbeddedChapters.chapters(of: media).count == EmbeddedChapters.chapters(of: MediaBytes(bytes)).count)
        #expect(read < 64 << 10)
    }
}
