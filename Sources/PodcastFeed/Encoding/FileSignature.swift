/// Recognition of file formats by their first bytes, so that a message can name the format of a file that is no feed.
///
/// The feed parser consults it only after rejecting a document, so that a feed with stray bytes at its beginning is
/// still parsed as a feed.
enum FileSignature {
    /// The formats that servers send in place of feeds, or whose URLs users paste: the media, the cover, an archive.
    /// `offset` is that of the bytes in the file.
    private static let signatures: [(bytes: [UInt8], offset: Int, name: String)] = [
        (Array("ID3".utf8), 0, "an MP3 file"), (Array("OggS".utf8), 0, "an Ogg file"),
        (Array("fLaC".utf8), 0, "a FLAC file"), (Array("WAVE".utf8), 8, "a WAV file"),
        (Array("AVI ".utf8), 8, "an AVI video"), (Array("WEBP".utf8), 8, "a WebP image"),
        (Array("ftypavif".utf8), 4, "an AVIF image"), (Array("ftypheic".utf8), 4, "a HEIC image"),
        (Array("ftypM4A".utf8), 4, "an M4A file"), (Array("ftyp".utf8), 4, "an MP4 file"),
        ([0x1A, 0x45, 0xDF, 0xA3], 0, "a Matroska or WebM file"), ([0x89, 0x50, 0x4E, 0x47], 0, "a PNG image"),
        ([0xFF, 0xD8, 0xFF], 0, "a JPEG image"), (Array("GIF8".utf8), 0, "a GIF image"),
        (Array("%PDF-".utf8), 0, "a PDF document"), ([0x50, 0x4B, 3, 4], 0, "a ZIP archive"),
        ([0x1F, 0x8B], 0, "a gzip archive"), (Array("#EXTM3U".utf8), 0, "a playlist"),
        (Array("[playlist]".utf8), 0, "a playlist"), (Array("WEBVTT".utf8), 0, "a transcript"),
        ([0x7F, 0x45, 0x4C, 0x46], 0, "a program"),
    ]

    /// The number of bytes to pass to `name(of:)`, if the file has as many. The signatures are within the first twelve.
    /// The share of control characters is computed over all bytes.
    static let size = 512

    /// Returns the format with an article, such as `an MP3 file`; `nil` for bytes that may be text.
    static func name(of head: [UInt8]) -> String? {
        if let found = signatures.first(where: { head.dropFirst($0.offset).starts(with: $0.bytes) }) {
            return found.name
        }
        if isAudioFrame(head) { return "an MP3 file" }
        return isBinary(head) ? "binary data" : nil
    }

    /// Whether the bytes are an MPEG audio frame without tags (ISO 11172-3, 2.4.1.3): eleven bits set, layer III, a bit
    /// rate that is neither free nor forbidden, and no reserved version or sampling frequency.
    private static func isAudioFrame(_ head: [UInt8]) -> Bool {
        guard head.count > 3, head[0] == 0xFF, head[1] & 0xE0 == 0xE0 else { return false }
        return head[1] & 0x18 != 0x08 && head[1] & 0x06 == 0x02 && (1...14).contains(head[2] >> 4)
            && head[2] & 0x0C != 0x0C
    }

    /// Whether the bytes cannot be text, because more than one in twenty is a control character that text does not
    /// contain, such as NUL. Bytes that begin with a byte order mark of UTF-16 are regarded as text.
    private static func isBinary(_ head: [UInt8]) -> Bool {
        guard !head.isEmpty, !head.starts(with: [0xFF, 0xFE]), !head.starts(with: [0xFE, 0xFF]) else { return false }
        let controls = head.count { $0 < 0x20 && ![0x09, 0x0A, 0x0C, 0x0D, 0x1B].contains($0) || $0 == 0x7F }
        return controls * 20 > head.count
    }
}
