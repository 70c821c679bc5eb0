import Testing

@testable import PodcastFeed

/// Tags, duration and completeness of media files, read from bytes made by hand.
struct MediaTagsTests {
    private func number(_ value: Int, _ count: Int = 4) -> [UInt8] {
        (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }

    private func text(_ text: String) -> [UInt8] { Array(text.utf8) }

    // MARK: MP3

    private func id3(_ frames: [(name: String, text: String)]) -> [UInt8] {
        let body = frames.flatMap { frame -> [UInt8] in
            let content: [UInt8] = [0, 0, 3] + text(frame.text)
            return text(frame.name) + number(frame.text.utf8.count + 1) + content
        }
        let size: [UInt8] = [21, 14, 7, 0].map { UInt8(body.count >> $0 & 0x7F) }
        return text("ID3") + [3, 0, 0] + size + body
    }

    /// An audio frame of 44.1 kHz stereo with a Xing header, then `count` bytes of audio.
    private func audio(frames: Int, bytes: Int, count: Int) -> [UInt8] {
        [0xFF, 0xFB, 0x90, 0x00] + Array(repeating: 0, count: 32) + text("Xing") + number(3) + number(frames)
            + number(bytes) + Array(repeating: 0x55, count: count)
    }

    @Test func tagsAndDurationOfAnMP3AreRead() {
        let bytes =
            id3([("TIT2", "Wings"), ("TALB", "Hard Fork & Friends"), ("TGID", "https://e.com/1")])
            + audio(frames: 38_281, bytes: 5_000, count: 4_900)
        let tags = MediaTags(of: MediaBytes(bytes))
        #expect(tags.title == "Wings")
        #expect(tags.album == "Hard Fork & Friends")
        #expect(tags.identifier == "https://e.com/1")
        #expect(abs((tags.duration ?? 0) - 1_000) < 0.1)
        #expect(!tags.isTruncated)
    }

    @Test func anMP3ThatEndsBeforeItsHeaderSaysIsTruncated() {
        let bytes = id3([("TIT2", "Wings")]) + audio(frames: 38_281, bytes: 16_000_000, count: 4_900)
        #expect(MediaTags(of: MediaBytes(bytes)).isTruncated)
        let noHeader: [UInt8] = [0xFF, 0xFB, 0x90, 0x00] + Array(repeating: 0, count: 500)
        #expect(MediaTags(of: MediaBytes(noHeader)) == MediaTags())
    }

    // MARK: MP4

    private func box(_ name: [UInt8], _ body: [UInt8]) -> [UInt8] { number(body.count + 8) + name + body }

    private func movie(_ items: [(name: [UInt8], text: String)]) -> [UInt8] {
        let list = items.flatMap { box($0.name, box(text("data"), number(1) + number(0) + text($0.text))) }
        let meta = box(text("meta"), number(0) + box(text("ilst"), list))
        let header = box(text("mvhd"), number(0) + number(0) + number(0) + number(1_000) + number(90_500) + number(0))
        return box(text("moov"), header + box(text("udta"), meta))
    }

    @Test func tagsAndDurationOfAnMP4AreRead() {
        let name = { (text: String) in [0xA9] + Array(text.utf8) }
        let bytes =
            box(text("ftyp"), text("M4A ") + number(0))
            + movie([(name("nam"), "Wings"), (name("alb"), "Owls"), (text("egid"), "g-1")])
            + box(text("mdat"), Array(repeating: 7, count: 100))
        let tags = MediaTags(of: MediaBytes(bytes))
        #expect(tags == MediaTags(title: "Wings", album: "Owls", identifier: "g-1", duration: 90.5))
        let cut = MediaTags(of: MediaBytes(Array(bytes.dropLast(40))))
        #expect(cut.isTruncated)
        #expect(cut.title == "Wings")
    }

    // MARK: Ogg

    private func little(_ value: Int, _ count: Int = 4) -> [UInt8] { number(value, count).reversed() }

    private func comments(_ lines: [String]) -> [UInt8] {
        little(3) + text("enc") + little(lines.count) + lines.flatMap { little($0.utf8.count) + text($0) }
    }

    private func page(_ packet: [UInt8], position: Int) -> [UInt8] {
        let segments = Array(repeating: UInt8(255), count: packet.count / 255) + [UInt8(packet.count % 255)]
        return text("OggS") + [0, 0] + little(position, 8) + little(77) + little(0) + little(0)
            + [UInt8(segments.count)] + segments + packet
    }

    @Test func tagsAndDurationOfOpusAreRead() {
        let head = text("OpusHead") + [1, 2] + little(312, 2) + little(48_000) + [0, 0, 0]
        let long = "DESCRIPTION=" + String(repeating: "x", count: 600)
        let bytes =
            page(head, position: 0)
            + page(text("OpusTags") + comments([long, "title=Wings", "ALBUM=Owls"]), position: 0)
            + page(Array(repeating: 1, count: 700), position: 48_000 * 60 + 312)
        #expect(MediaTags(of: MediaBytes(bytes)) == MediaTags(title: "Wings", album: "Owls", duration: 60))
    }

    // MARK: Damage

    @Test func cutAndDamagedFilesAreRead() {
        let head = text("OpusHead") + [1, 2] + little(312, 2) + little(48_000) + [0, 0, 0]
        let files = [
            id3([("TIT2", "Wings"), ("TALB", "Owls")]) + audio(frames: 9, bytes: 90, count: 90),
            box(text("ftyp"), text("M4A ") + number(0)) + movie([([0xA9] + text("nam"), "Wings")]),
            page(head, position: 0) + page(text("OpusTags") + comments(["TITLE=Wings"]), position: 90),
        ]
        for file in files {
            for count in 0...file.count { _ = MediaTags(of: MediaBytes(Array(file.prefix(count)))) }
            for index in file.indices {
                for value: UInt8 in [0, 0x7F, 0xFF] {
                    var damaged = file
                    damaged[index] = value
                    _ = MediaTags(of: MediaBytes(damaged))
                }
            }
        }
    }
}
