/// An ID3v2 tag of version 2.3 or 2.4 at the start of a file.
///
/// The size in a frame's header tells where the next frame begins, so the content of frames that nobody asks for, such
/// as pictures, is not read.
struct ID3Tag {
    /// The maximum number of frames that are read in a tag.
    private static let frameLimit = 10_000
    /// The maximum number of bytes of a title or link that are read.
    private static let textLimit = 4 << 10
    /// The maximum size in bytes of a version 2.3 tag with “unsynchronisation”. Such a tag is read completely, to
    /// remove the zero byte after each 0xFF.
    private static let unsynchronisedLimit = 4 << 20

    struct Frame {
        var name: ArraySlice<UInt8>
        var body: Range<Int64>
        /// Whether a zero byte after each 0xFF has to be removed from the body.
        var isUnsynchronised: Bool
    }

    private(set) var bytes: MediaBytes
    /// 3 or 4.
    private let version: UInt8
    private var area: Range<Int64>

    /// Reads the header of the tag at the start of a file; `nil` if there is none of version 2.3 or 2.4, or if it
    /// cannot be read.
    init?(of media: MediaBytes) {
        guard let head = media.bytes(at: 0, count: 10), head.starts(with: Array("ID3".utf8)),
            head[3] == 3 || head[3] == 4, let size = Self.syncsafe(head[6...])
        else { return nil }
        let flags = head[5]
        let end = min(10 + size, media.size)
        bytes = media
        version = head[3]
        area = 10..<max(10, end)
        // Flag 0x80, unsynchronisation, applies to the whole tag in 2.3. In 2.4 each frame has its own flag.
        if flags & 0x80 != 0, version == 3 {
            guard size <= Self.unsynchronisedLimit else { return nil }
            bytes = MediaBytes(Self.synchronised(media.bytes(at: 10, upTo: Int(size))))
            area = 0..<bytes.size
        }
        if flags & 0x40 != 0 {
            // Skip the extended header. Its size does not include the size field in 2.3, but does in 2.4.
            guard let size = bytes.bytes(at: area.lowerBound, count: 4) else { return nil }
            let length = version == 3 ? Int64(size.bigEndian) + 4 : Self.syncsafe(size[...]) ?? 0
            let start = area.lowerBound + length
            guard area.contains(start) else { return nil }
            area = start..<area.upperBound
        }
    }

    // MARK: Frames

    func frames() -> [Frame] { frames(in: area, limit: Self.frameLimit) }

    func frames(in range: Range<Int64>, limit: Int) -> [Frame] {
        var frames: [Frame] = []
        var offset = range.lowerBound
        while offset + 10 <= range.upperBound, frames.count < limit,
            let head = bytes.bytes(at: offset, count: 10), head[0] != 0
        {
            // Some writers of 2.4 store plain instead of syncsafe sizes. A size with a high bit set in one of its
            // bytes must be plain.
            let plain = Int64(head[4..<8].bigEndian)
            let size = version == 4 ? Self.syncsafe(head[4..<8]) ?? plain : plain
            let end = offset + 10 + size
            guard size >= 0, end <= range.upperBound else { break }
            let flags = version == 4 ? head[9] : 0
            // A group identifier (0x40) and the data length (0x01) precede the content (ID3v2.4.0-structure §4.1).
            let start = offset + 10 + (flags & 0x40 == 0 ? 0 : 1) + (flags & 0x01 == 0 ? 0 : 4)
            if start <= end {
                frames.append(
                    Frame(name: head[..<4], body: start..<end, isUnsynchronised: flags & 0x02 != 0))
            }
            offset = end
        }
        return frames
    }

    /// Returns the frame and its tag after the unsynchronisation of the frame is undone; `nil` if it is too large.
    func synchronised(_ frame: Frame) -> (Frame, ID3Tag)? {
        guard frame.isUnsynchronised else { return (frame, self) }
        let count = frame.body.upperBound - frame.body.lowerBound
        guard count <= Self.unsynchronisedLimit else { return nil }
        var (frame, tag) = (frame, self)
        tag.bytes = MediaBytes(Self.synchronised(bytes.bytes(at: frame.body.lowerBound, upTo: Int(count))))
        frame.body = 0..<tag.bytes.size
        return (frame, tag)
    }

    func text(of frame: Frame) -> String? {
        let bytes = content(of: frame)
        guard let encoding = bytes.first else { return nil }
        return ID3Text.line(bytes.dropFirst(), encoding: encoding)
    }

    /// Returns the URL of a `WXXX` frame, which is an encoding, a description, a terminator, and the URL in Latin-1;
    /// `nil` if it is not http or https.
    func link(of frame: Frame) -> String? {
        let bytes = content(of: frame)
        guard let encoding = bytes.first else { return nil }
        let address = ID3Text.afterTerminator(bytes.dropFirst(), encoding: encoding)
        let text = String(decoding: address.prefix { $0 > 0x20 && $0 < 0x7F }, as: UTF8.self)
        return text.hasPrefix("https://") || text.hasPrefix("http://") ? text : nil
    }

    private func content(of frame: Frame) -> [UInt8] {
        let count = min(Int64(Self.textLimit), frame.body.upperBound - frame.body.lowerBound)
        let bytes = bytes.bytes(at: frame.body.lowerBound, upTo: Int(count))
        return frame.isUnsynchronised ? Self.synchronised(bytes) : bytes
    }

    // MARK: Numbers

    /// Removes the zero bytes that unsynchronisation has inserted after 0xFF.
    private static func synchronised(_ bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var isAfterFF = false
        for byte in bytes {
            if !isAfterFF || byte != 0 { result.append(byte) }
            isAfterFF = byte == 0xFF
        }
        return result
    }

    /// Parses a number of four bytes with seven bits each; `nil` if a high bit is set.
    static func syncsafe(_ bytes: ArraySlice<UInt8>) -> Int64? {
        guard bytes.prefix(4).allSatisfy({ $0 < 0x80 }) else { return nil }
        return bytes.prefix(4).reduce(0) { $0 << 7 | Int64($1) }
    }
}

/// Text in an ID3v2 frame or an MP4 sample.
enum ID3Text {
    /// Decodes a line; `nil` if it is blank.
    ///
    /// - Parameter encoding: 0 for Latin-1, 1 for UTF-16 with a byte order mark, 2 for UTF-16 big-endian, 3 for UTF-8.
    static func line(_ bytes: ArraySlice<UInt8>, encoding: UInt8) -> String? {
        var text: String
        switch encoding {
        case 0: text = String(String.UnicodeScalarView(bytes.prefix { $0 != 0 }.map { Unicode.Scalar($0) }))
        case 1, 2: text = utf16(bytes)
        default: text = String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        text = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        return text.isEmpty ? nil : text
    }

    /// Decodes UTF-16 up to a terminator, as big-endian if it has no byte order mark.
    static func utf16(_ bytes: ArraySlice<UInt8>) -> String {
        let isLittle = bytes.starts(with: [0xFF, 0xFE])
        let text = isLittle || bytes.starts(with: [0xFE, 0xFF]) ? bytes.dropFirst(2) : bytes
        let units = stride(from: text.startIndex, to: text.endIndex - 1, by: 2).map { index in
            let unit = UInt16(text[index]) << 8 | UInt16(text[index + 1])
            return isLittle ? unit.byteSwapped : unit
        }
        return String(decoding: units.prefix { $0 != 0 }, as: UTF16.self)
    }

    /// Returns the bytes after the first terminator, which is two zero bytes in UTF-16, otherwise one; empty if there
    /// is none.
    static func afterTerminator(_ bytes: ArraySlice<UInt8>, encoding: UInt8) -> ArraySlice<UInt8> {
        guard encoding == 1 || encoding == 2 else {
            return bytes.firstIndex(of: 0).map { bytes[($0 + 1)...] } ?? []
        }
        let pairs = stride(from: bytes.startIndex, to: bytes.endIndex - 1, by: 2)
        return pairs.first { bytes[$0] == 0 && bytes[$0 + 1] == 0 }.map { bytes[($0 + 2)...] } ?? []
    }
}

/// A search for the start of the audio in an MP3 file, after the ID3v2 tags.
///
/// A file may begin with several tags, and in version 2.4 a tag may have a footer. Performs no IO: the caller reads the
/// ranges that `step` requests, and passes their bytes to `receive(_:)`. Does not search beyond the first `limit` bytes
/// of the file, so that a tag of 256 MB, the largest possible, costs no more than a small one.
package struct LeadingTags: Sendable {
    /// The next step of the search.
    package enum Step: Sendable, Equatable {
        /// The caller must read this range; if the file ends within it, the bytes before the end.
        case read(Range<Int64>)
        /// The audio starts at this offset.
        case audio(at: Int64)
        /// The file is not MP3.
        case other
    }

    package private(set) var step: Step

    /// The offset in bytes beyond which no further tag is searched for.
    static let limit: Int64 = 1 << 20
    /// The number of bytes read at a time: enough to recognize other formats published as MP3.
    private static let window: Int64 = 64

    private let total: Int64
    private var offset: Int64 = 0

    /// - Parameter total: The size of the file in bytes, if known.
    package init(total: Int64?) {
        self.total = total ?? .max
        step = .other
        read()
    }

    /// Continues the search with `bytes`, the content of the range in `step`.
    package mutating func receive(_ bytes: [UInt8]) {
        guard let size = Self.tagSize(bytes) else {
            // After a tag, any bytes that are not another tag are assumed to be audio. A file without a tag may be MP3
            // if it starts with an audio frame, or with bytes that are neither text nor another known format.
            let isAudio = ["an MP3 file", "binary data"].contains(FileSignature.name(of: bytes))
            step = offset > 0 || isAudio ? .audio(at: offset) : .other
            return
        }
        // A tag that would reach the end of the file, or exceed it, is not a tag.
        guard size < total - offset else {
            step = offset > 0 ? .audio(at: offset) : .other
            return
        }
        offset += size
        if offset > Self.limit { step = .audio(at: offset) } else { read() }
    }

    private mutating func read() {
        let end = min(total, offset + Self.window)
        step = offset < end ? .read(offset..<end) : .other
    }

    /// Returns the size in bytes of the tag at the start of `bytes`, including its header and footer; `nil` if there is
    /// no tag.
    private static func tagSize(_ bytes: [UInt8]) -> Int64? {
        guard bytes.count >= 10, bytes.starts(with: Array("ID3".utf8)), bytes[3] < 0xFF, bytes[4] < 0xFF,
            let size = ID3Tag.syncsafe(bytes[6...])
        else { return nil }
        let hasFooter = bytes[3] == 4 && bytes[5] & 0x10 != 0
        return size + (hasFooter ? 20 : 10)
    }
}
