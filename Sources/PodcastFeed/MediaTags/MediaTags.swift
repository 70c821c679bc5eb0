/// The facts in a media file that help to identify its recording: tags, duration, and whether the end is missing.
///
/// Read from ID3v2 and the Xing header in MP3, from the movie box in MP4, and from Vorbis comments in Ogg.
package struct MediaTags: Sendable, Equatable {
    package var title: String?
    /// The album: podcast programs store the title of the show there.
    package var album: String?
    /// The podcast identifier (`TGID` in ID3, `egid` in MP4): the episode's guid or media URL.
    package var identifier: String?
    /// The duration in seconds.
    package var duration: Double?
    /// Whether the file is shorter than its own headers say, as after an interrupted download.
    package var isTruncated = false
}

extension MediaTags {
    /// The tags of a file without any.
    package static let empty = MediaTags()

    /// Reads the tags of a file; those of an unknown format are empty.
    package init(of media: MediaBytes) {
        self.init()
        let start = media.bytes(at: 0, upTo: 8)
        if start.dropFirst(4).elementsEqual("ftyp".utf8) {
            readMP4(MP4Boxes(media: media))
        } else if start.starts(with: Array("OggS".utf8)) {
            readOgg(media)
        } else {
            readMP3(media)
        }
    }

    // MARK: MP3

    private mutating func readMP3(_ media: MediaBytes) {
        if let tag = ID3Tag(of: media) {
            for frame in tag.frames() {
                switch String(decoding: frame.name, as: UTF8.self) {
                case "TIT2": title = title ?? tag.text(of: frame)
                case "TALB": album = album ?? tag.text(of: frame)
                case "TGID": identifier = identifier ?? tag.text(of: frame)
                default: break
                }
            }
        }
        var tags = LeadingTags(total: media.size)
        while case .read(let range) = tags.step {
            tags.receive(media.bytes(at: range.lowerBound, upTo: Int(range.upperBound - range.lowerBound)))
        }
        if case .audio(let offset) = tags.step { readXing(media, at: offset) }
    }

    /// Reads the Xing or Info header in the first MPEG audio frame: the number of frames, and of bytes from that frame.
    private mutating func readXing(_ media: MediaBytes, at offset: Int64) {
        let frame = media.bytes(at: offset, upTo: 64)
        guard frame.count > 4, frame[0] == 0xFF, frame[1] & 0xE0 == 0xE0,
            let mark = (4..<max(4, frame.count - 16)).first(where: {
                frame[$0...].starts(with: "Xing".utf8) || frame[$0...].starts(with: "Info".utf8)
            })
        else { return }
        let isFirstVersion = frame[1] & 0x18 == 0x18
        let flags = frame[mark + 7]
        if flags & 1 != 0 {
            let base = [44_100.0, 48_000, 32_000, 0][Int(frame[2] >> 2) & 3]
            let rate = isFirstVersion ? base : frame[1] & 0x18 == 0x10 ? base / 2 : base / 4
            let samples = Double(frame[mark + 8..<mark + 12].bigEndian) * (isFirstVersion ? 1_152 : 576)
            if rate > 0, samples > 0 { duration = samples / rate }
        }
        let position = mark + (flags & 1 != 0 ? 12 : 8)
        if flags & 2 != 0, position + 4 <= frame.count {
            // Encoders differ in whether the header's own frame counts; a frame has at most 1,441 bytes.
            let bytes = Int64(frame[position..<position + 4].bigEndian)
            isTruncated = offset + bytes > media.size + 2_048
        }
    }

    // MARK: MP4

    private mutating func readMP4(_ file: MP4Boxes) {
        isTruncated = file.isTruncated
        guard let movie = file.child("moov", of: file.whole) else { return }
        if let header = file.child("mvhd", of: movie), let version = file.bytes(header, at: 0, count: 1) {
            let isLong = version == [1]
            let scale = file.bytes(header, at: isLong ? 20 : 12, count: 4)?.bigEndian ?? 0
            let length = file.bytes(header, at: isLong ? 24 : 16, count: isLong ? 8 : 4)?.bigEndian ?? 0
            if scale > 0, length > 0, Double(length) / Double(scale) < 1e8 { duration = Double(length) / Double(scale) }
        }
        guard let meta = file.child("udta/meta", of: movie) else { return }
        // `meta` begins with a version and flags in ISO files, but not in QuickTime files.
        let inside = meta.lowerBound + 4 <= meta.upperBound ? meta.lowerBound + 4..<meta.upperBound : meta
        guard let list = file.child("ilst", of: inside) ?? file.child("ilst", of: meta) else { return }
        for item in file.boxes(in: list) {
            guard let value = file.child("data", of: item.body) else { continue }
            // A type and a locale precede the text.
            let count = Int(min(value.upperBound - value.lowerBound, 4 << 10)) - 8
            guard count > 0, let bytes = file.bytes(value, at: 8, count: count) else { continue }
            let text = ID3Text.line(bytes[...], encoding: 3)
            switch Array(item.name) {
            case [0xA9] + Array("nam".utf8): title = title ?? text
            case [0xA9] + Array("alb".utf8): album = album ?? text
            case Array("egid".utf8): identifier = identifier ?? text
            default: break
            }
        }
    }

    // MARK: Ogg

    /// The maximum number of bytes that are read at either end of an Ogg file (RFC 3533): a comment with a cover may be
    /// longer, but its texts come first in practice.
    private static let oggWindow = 64 << 10

    private mutating func readOgg(_ media: MediaBytes) {
        let start = media.bytes(at: 0, upTo: Self.oggWindow)
        /// Returns what follows the mark of a header. A header fits into a page, except for a long comment.
        func header(_ mark: String) -> ArraySlice<UInt8>? {
            start.firstRange(of: Array(mark.utf8)).map { start[$0.upperBound...] }
        }
        var rate = 48_000.0
        var skipped: UInt64 = 0
        if let head = header("OpusHead"), let comments = header("OpusTags") {
            skipped = head.dropFirst(2).prefix(2).littleEndian
            readComments(comments)
        } else if let head = header("\u{1}vorbis"), let comments = header("\u{3}vorbis") {
            rate = Double(head.dropFirst(5).prefix(4).littleEndian)
            readComments(comments)
        } else {
            return
        }
        let count = Int(min(Int64(Self.oggWindow), media.size))
        let end = media.bytes(at: media.size - Int64(count), upTo: count)
        // The granule position of the last page counts samples from the start. No packet ends on a page of position -1.
        let pages = end.indices.dropLast(26).reversed().lazy.filter { end[$0...].starts(with: "OggS".utf8) }
        let positions = pages.map { end[$0 + 6..<$0 + 14].littleEndian }
        if let last = positions.first(where: { $0 != .max }), last > skipped, rate > 0 {
            duration = Double(last - skipped) / rate
        }
    }

    /// Reads a Vorbis comment: the encoder's name, then `KEY=value` texts, each with its length before it.
    private mutating func readComments(_ bytes: ArraySlice<UInt8>) {
        var rest = bytes
        func number() -> Int? {
            guard rest.count >= 4 else { return nil }
            defer { rest = rest.dropFirst(4) }
            return Int(rest.prefix(4).littleEndian)
        }
        guard let vendor = number(), vendor <= rest.count else { return }
        rest = rest.dropFirst(vendor)
        guard let count = number() else { return }
        for _ in 0..<min(count, 1_000) {
            guard let length = number(), length <= rest.count else { return }
            let comment = rest.prefix(length)
            rest = rest.dropFirst(length)
            guard let equals = comment.prefix(32).firstIndex(of: UInt8(ascii: "=")) else { continue }
            let text = ID3Text.line(comment[(equals + 1)...].prefix(4 << 10), encoding: 3)
            switch String(decoding: comment[..<equals], as: UTF8.self).uppercased() {
            case "TITLE": title = title ?? text
            case "ALBUM": album = album ?? text
            default: break
            }
        }
    }
}

extension Collection<UInt8> {
    /// The bytes, at most eight, as an unsigned little-endian number.
    fileprivate var littleEndian: UInt64 { reversed().bigEndian }
}
