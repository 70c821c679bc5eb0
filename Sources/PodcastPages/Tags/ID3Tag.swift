internal import Platform
package import PodcastFeed
package import PodcastLibrary

/// A tag that is written before an MP3 file: ID3v2.4 (https://id3.org/id3v2.4.0-structure) with chapters
/// (https://id3.org/id3v2-chapters-1.0).
///
/// Every text is bounded. The largest tag, with 255 chapters that each have a title and a link, has about 1.1 MB
/// without its picture. The picture is the last frame, so the tag ends with the picture's bytes, which the caller
/// appends to `bytes(before:)`.
package struct ID3Tag: Sendable {
    /// The picture at the end of the tag: its MIME type, and its size in bytes.
    package typealias Picture = (type: String, size: Int)

    /// The maximum size of a text in bytes.
    private static let textLimit = 2 << 10
    /// The maximum size of a comment in bytes.
    private static let commentLimit = 32 << 10
    /// The maximum number of chapters. A table of contents has one byte for their number.
    private static let chapterLimit = 255
    /// The text encodings UTF-8 and ISO 8859-1.
    private static let (utf8, latin): (UInt8, UInt8) = (3, 0)

    private var frames: [UInt8] = []

    /// Adds a text frame, unless the text is empty.
    mutating func add(_ name: String, _ text: String?) {
        let text = Self.bounded(text ?? "", Self.textLimit)
        if !text.isEmpty { add(name, [Self.utf8] + text) }
    }

    /// Adds chapters and their table of contents.
    ///
    /// - Parameters:
    ///   - chapters: Sorted by start.
    ///   - duration: The episode's duration in seconds, at which the last chapter ends; `nil` if unknown.
    mutating func add(_ chapters: [Chapter], duration: Double?) {
        let chapters = chapters.prefix(Self.chapterLimit)
        guard !chapters.isEmpty else { return }
        let ids = chapters.indices.map { Array("ch\($0)".utf8) + [0] }
        // The flags 3: the table is at the top of the tree, and its chapters are in order.
        add("CTOC", Array("toc".utf8) + [0, 3, UInt8(chapters.count)] + ids.joined())
        for (index, chapter) in chapters.enumerated() {
            let start = Self.milliseconds(chapter.start)
            let next = index + 1 < chapters.count ? chapters[index + 1].start : duration ?? chapter.start
            let end = max(start, Self.milliseconds(next))
            var inner = ID3Tag()
            inner.add("TIT2", chapter.title)
            if let link = chapter.link.map({ Self.bounded($0, Self.textLimit) }), link.allSatisfy({ $0 < 0x80 }) {
                inner.add("WXXX", [Self.latin, 0] + link)
            }
            // The greatest number means that there is no byte offset.
            let unknown = Self.bigEndian(.max)
            add("CHAP", ids[index] + Self.bigEndian(start) + Self.bigEndian(end) + unknown + unknown + inner.frames)
        }
    }

    /// Returns the tag, up to the bytes of the picture if there is one; empty if it has no frame and no picture.
    package func bytes(before picture: Picture?) -> [UInt8] {
        var frames = frames
        var rest = 0
        if let picture {
            // 3: the front cover.
            let body = [Self.latin] + Array(picture.type.utf8) + [0, 3, 0]
            frames += Self.header("APIC", size: body.count + picture.size) + body
            rest = picture.size
        }
        if frames.isEmpty { return [] }
        return Array("ID3".utf8) + [4, 0, 0] + Self.synchsafe(frames.count + rest) + frames
    }

    private mutating func add(_ name: String, _ body: [UInt8]) { frames += Self.header(name, size: body.count) + body }

    private static func header(_ name: String, size: Int) -> [UInt8] { Array(name.utf8) + synchsafe(size) + [0, 0] }

    /// Returns a size as a synchsafe integer: four bytes, each with seven bits of the number.
    private static func synchsafe(_ size: Int) -> [UInt8] {
        [21, 14, 7, 0].map { UInt8(truncatingIfNeeded: size >> $0) & 0x7F }
    }

    private static func bigEndian(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.bigEndian, Array.init) }

    private static func milliseconds(_ seconds: Double) -> UInt32 {
        // The limit keeps the product within 32 bits.
        UInt32(clamping: WholeNumber.of(min(max(0, seconds), 4_000_000) * 1_000))
    }

    /// Returns the text in UTF-8, cut between code points. Control characters and direction marks become spaces; a NUL
    /// would end the text.
    private static func bounded(_ text: String, _ limit: Int, keepsLines: Bool = false) -> [UInt8] {
        var bytes: [UInt8] = []
        for scalar in text.unicodeScalars {
            let isLineEnd = scalar == "\n" && keepsLines
            let shown = PlainText.isHarmful(scalar) && !isLineEnd ? " " : scalar
            let encoded = UTF8.encode(shown) ?? UTF8.encodedReplacementCharacter
            if bytes.count + encoded.count > limit { break }
            bytes += encoded
        }
        return bytes
    }
}

extension ID3Tag {
    /// Returns the MIME type of art by its first bytes; `nil` for a format that players may not support in tags.
    package static func pictureType(of bytes: some Sequence<UInt8>) -> String? {
        if bytes.starts(with: [0xFF, 0xD8, 0xFF]) { return "image/jpeg" }
        if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47]) { return "image/png" }
        if bytes.starts(with: Array("GIF8".utf8)) { return "image/gif" }
        return bytes.starts(with: Array("RIFF".utf8)) && bytes.dropFirst(8).starts(with: Array("WEBP".utf8))
            ? "image/webp" : nil
    }

    /// Creates the tag of an episode from what the library knows.
    ///
    /// - Parameter chapters: Sorted by start.
    package init(_ episode: Episode, of show: Podcast, chapters: [Chapter]) {
        self.init()
        let maker = show.author ?? show.title
        add("TIT2", episode.title)
        add("TALB", show.title)
        add("TPE1", episode.author ?? maker)
        // The album's artist. It is the same for all episodes, so that players group them as one album.
        add("TPE2", maker)
        if let published = episode.published {
            // `2026-11-20T10:00:00` without the `Z`, because the format of ID3v2.4 has no zone.
            add("TDRC", String(TimeText.iso8601(published).prefix(19)))
        }
        add("TRCK", episode.episode.flatMap { Int(exactly: $0) }.map(String.init))
        add("TPOS", episode.season.map(String.init))
        add("TCON", "Podcast")
        let notes = NotesLines.lines(of: episode.notes ?? "", limit: 64 << 10).joined(separator: "\n")
        let comment = Self.bounded(notes, Self.commentLimit, keepsLines: true)
        // The language is unknown (`XXX` of ISO 639-2).
        if !comment.isEmpty { add("COMM", [Self.utf8] + Array("XXX".utf8) + [0] + comment) }
        add(chapters, duration: episode.duration)
    }
}
