/// Chapters inside a media file: ID3v2 in MP3, a chapter track or list in MP4.
package enum EmbeddedChapters {
    /// The maximum number of chapters; an episode of ten hours with a chapter each minute has 600.
    static let maxCount = 1_000

    /// Returns the chapters of a complete file, sorted by start; empty if it has none or they are malformed.
    package static func chapters(of media: MediaBytes) -> [Chapter] {
        let start = media.bytes(at: 0, upTo: 8)
        let chapters =
            start.starts(with: Array("ID3".utf8))
            ? ID3Chapters.chapters(of: media)
            : start.dropFirst(4).elementsEqual("ftyp".utf8) ? MP4Chapters.chapters(of: media) : []
        return chapters.playable(until: nil)
    }
}

/// Chapters of an ID3v2 tag: `CHAP` frames (https://id3.org/id3v2-chapters-1.0) in versions 2.3 and 2.4.
enum ID3Chapters {
    /// The maximum number of frames that are read in a chapter.
    private static let partLimit = 16

    static func chapters(of media: MediaBytes) -> [Chapter] {
        guard let tag = ID3Tag(of: media) else { return [] }
        let frames = tag.frames().filter { $0.name.elementsEqual("CHAP".utf8) }
        return frames.prefix(EmbeddedChapters.maxCount).compactMap { chapter($0, tag) }
    }

    private static func chapter(_ frame: ID3Tag.Frame, _ tag: ID3Tag) -> Chapter? {
        guard let (frame, tag) = tag.synchronised(frame) else { return nil }
        // The chapter's identifier and a zero byte, then four numbers of four bytes: start and end in milliseconds,
        // then start and end as byte offsets. Only the start in milliseconds is used.
        let start = tag.bytes.bytes(at: frame.body.lowerBound, upTo: 1_024)
        guard let end = start.firstIndex(of: 0), frame.body.lowerBound + Int64(end) + 17 <= frame.body.upperBound,
            let numbers = tag.bytes.bytes(at: frame.body.lowerBound + Int64(end) + 1, count: 16)
        else { return nil }
        let milliseconds = numbers[..<4].bigEndian
        guard milliseconds != 0xFFFF_FFFF else { return nil }
        var chapter = Chapter(start: Double(milliseconds) / 1_000)
        let rest = frame.body.lowerBound + Int64(end) + 17..<frame.body.upperBound
        for part in tag.frames(in: rest, limit: partLimit) {
            switch String(decoding: part.name, as: UTF8.self) {
            case "TIT2": chapter.title = chapter.title ?? tag.text(of: part)
            case "WXXX": chapter.link = chapter.link ?? tag.link(of: part)
            default: break
            }
        }
        return chapter
    }
}

extension Sequence<Chapter> {
    /// Returns the chapters that a player can use: sorted by start, one for each start, none at or after `duration`.
    ///
    /// A duration that would remove more than half of the chapters is ignored: it is more likely to be wrong than the
    /// chapters are.
    ///
    /// - Parameter duration: The episode's duration in seconds, if known.
    package func playable(until duration: Double?) -> [Chapter] {
        var result: [Chapter] = []
        let sorted = enumerated().filter { $0.element.start.isFinite && $0.element.start >= 0 }
            .sorted { ($0.element.start, $0.offset) < ($1.element.start, $1.offset) }
        for (_, chapter) in sorted where result.last?.start != chapter.start { result.append(chapter) }
        guard let duration, duration > 0 else { return result }
        let inside = result.prefix { $0.start < duration }
        return inside.count * 2 >= result.count ? Array(inside) : result
    }
}

/// Random access to the bytes of a media file.
package struct MediaBytes {
    /// The size in bytes.
    package let size: Int64
    /// Reads the bytes at an offset; fewer than requested at the end of the file or after an error.
    private let source: (_ offset: Int64, _ count: Int) -> [UInt8]

    package init(size: Int64, source: @escaping (_ offset: Int64, _ count: Int) -> [UInt8]) {
        self.size = size
        self.source = source
    }

    init(_ bytes: [UInt8]) {
        self.init(size: Int64(bytes.count)) { offset, count in
            Array(bytes[min(Int(offset), bytes.count)..<min(Int(offset) + count, bytes.count)])
        }
    }

    /// Returns `count` bytes at an offset; `nil` if not all of them exist.
    func bytes(at offset: Int64, count: Int) -> [UInt8]? {
        guard offset >= 0, count >= 0, Int64(count) <= size, offset <= size - Int64(count) else { return nil }
        let bytes = source(offset, count)
        return bytes.count == count ? bytes : nil
    }

    /// Returns up to `count` bytes at an offset, fewer at the end of the file; empty after an error.
    package func bytes(at offset: Int64, upTo count: Int) -> [UInt8] {
        bytes(at: offset, count: Int(max(0, min(Int64(count), size - offset)))) ?? []
    }
}

extension Collection<UInt8> {
    /// The bytes, at most eight, as an unsigned big-endian number.
    var bigEndian: UInt64 { reduce(0) { $0 << 8 | UInt64($1) } }
}
