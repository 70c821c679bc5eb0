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
            // After a tag, any bytes that are not another tag are assumed to be audio.
            step = offset > 0 || Self.isAudio(bytes) ? .audio(at: offset) : .other
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

    /// Whether a file without a tag may be MP3: it starts with an audio frame, or with bytes that are neither text nor
    /// another known format.
    private static func isAudio(_ bytes: [UInt8]) -> Bool {
        switch FileSignature.name(of: bytes) {
        case "an MP3 file", "binary data": true
        default: false
        }
    }
}
