import PodcastFeed
import PodcastProtocol
import Testing
import Transfers

@testable import PodcastLibrary
@testable import PodcastPages

@Suite struct ID3TagTests {
    private static let show = Podcast(
        id: ShowID(1), name: "Show", url: "http://example.com/feed", title: "Show & friends", author: "Ann")

    private static func episode(title: String = "Größe 🎧", notes: String? = nil) -> Episode {
        Episode(
            id: EpisodeID(1), podcast: ShowID(1), name: "Episode.mp3", title: title, published: 1_763_632_800,
            duration: 120, url: "http://example.com/1.mp3", season: 2, episode: 7, notes: notes)
    }

    private static let chapters = [
        Chapter(start: 0, title: "Start"), Chapter(start: 60.5, title: "Finale", link: "https://example.com/end"),
    ]

    private static func number(_ bytes: some Sequence<UInt8>, bits: Int) -> Int {
        bytes.reduce(0) { $0 << bits | Int($1) }
    }

    /// Returns the frames of a tag, parsed independently of podfs.
    private static func frames(_ tag: [UInt8]) -> [(name: String, body: [UInt8])] {
        var frames: [(String, [UInt8])] = []
        var rest = tag.dropFirst(10)
        while rest.count >= 10 {
            let name = String(decoding: rest.prefix(4), as: UTF8.self)
            let size = number(rest.dropFirst(4).prefix(4), bits: 7)
            frames.append((name, Array(rest.dropFirst(10).prefix(size))))
            rest = rest.dropFirst(10 + size)
        }
        return frames
    }

    @Test func theTagContainsTheDataOfTheEpisode() {
        let tag = ID3Tag(
            Self.episode(notes: "<p>One</p><p>Two &amp; three</p>"), of: Self.show, chapters: Self.chapters
        )
        .bytes(before: nil)
        #expect(tag.prefix(6).elementsEqual([0x49, 0x44, 0x33, 4, 0, 0]))
        #expect(Self.number(tag[6..<10], bits: 7) == tag.count - 10)
        let frames = Self.frames(tag)
        #expect(
            frames.map(\.name) == [
                "TIT2", "TALB", "TPE1", "TPE2", "TDRC", "TRCK", "TPOS", "TCON", "COMM", "CTOC", "CHAP", "CHAP",
            ])
        let texts = Dictionary(
            frames.map { ($0.name, String(decoding: $0.body.dropFirst(), as: UTF8.self)) }, uniquingKeysWith: { $1 })
        #expect(texts["TIT2"] == "Größe 🎧" && texts["TALB"] == "Show & friends" && texts["TPE1"] == "Ann")
        #expect(texts["TDRC"] == "2025-11-20T10:00:00" && texts["TRCK"] == "7" && texts["TPOS"] == "2")
        #expect(texts["COMM"] == "XXX\u{0}One\nTwo & three")
        // podfs can read the chapters that it has written.
        let read = EmbeddedChapters.chapters(
            of: MediaBytes(size: Int64(tag.count)) { Array(tag[Int($0)...].prefix($1)) })
        #expect(read == Self.chapters)
    }

    @Test func noChapterEndsBeforeItBegins() {
        let chapters = [
            Chapter(start: 0, title: "a"), Chapter(start: 100, title: "b"), Chapter(start: 150, title: "c"),
        ]
        let tag = ID3Tag(Self.episode(), of: Self.show, chapters: chapters).bytes(before: nil)
        let times = Self.frames(tag).filter { $0.name == "CHAP" }.map { frame in
            let numbers = frame.body.drop { $0 != 0 }.dropFirst()
            return [numbers.prefix(4), numbers.dropFirst(4).prefix(4)].map { Self.number($0, bits: 8) }
        }
        // The episode ends at 120 s. The last chapter starts later, so its end is its start.
        #expect(times == [[0, 100_000], [100_000, 150_000], [150_000, 150_000]])
    }

    @Test func noTextExceedsItsFrame() {
        let hostile = "a\u{0}b\r\nc\u{202E}" + String(repeating: "ö", count: 10_000)
        let chapters = (0..<1_000).map { Chapter(start: Double($0), title: hostile) }
        let tag = ID3Tag(Self.episode(title: hostile, notes: hostile), of: Self.show, chapters: chapters).bytes(
            before: nil)
        #expect(tag.count < 1 << 20)
        let frames = Self.frames(tag)
        #expect(frames.reduce(10) { $0 + 10 + $1.body.count } == tag.count)
        let title = frames[0].body.dropFirst()
        #expect(title.starts(with: Array("a b  c ".utf8)) && title.count <= 2_048 && !title.contains(0))
        #expect(String(validating: title, as: UTF8.self) != nil)
        #expect(frames.count { $0.name == "CHAP" } == 255)
        #expect(frames.first { $0.name == "CTOC" }?.body[5] == 255)
    }

    @Test func thePictureIsTheLastFrameOfTheTag() {
        let picture: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0] + Array(repeating: 7, count: 300_000)
        #expect(ID3Tag.pictureType(of: picture) == "image/jpeg" && ID3Tag.pictureType(of: [1, 2, 3]) == nil)
        var tag = ID3Tag(Self.episode(), of: Self.show, chapters: [])
            .bytes(before: ("image/jpeg", picture.count))
        #expect(Self.number(tag[6..<10], bits: 7) == tag.count + picture.count - 10)
        tag += picture
        let last = Self.frames(tag).last
        #expect(last?.name == "APIC" && last?.body == [0] + Array("image/jpeg".utf8) + [0, 3, 0] + picture)
        #expect(ID3Tag().bytes(before: nil) == [])
    }
}
