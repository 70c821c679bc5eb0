/// An audio or video format with a recognizable beginning.
package enum MediaFormat: Sendable, CaseIterable {
    /// An ID3v2 tag, which precedes MPEG audio and other formats.
    case id3
    /// MPEG-1 and -2 audio, layers I to III.
    case mpegAudio
    /// AAC in ADTS frames, or with an ADIF header.
    case aac
    case ogg
    case flac
    /// WAV, AVI and their 64-bit variants.
    case riff
    /// Matroska and WebM.
    case matroska
    /// MP4, M4A, 3GP and QuickTime.
    case isoMedia
    case transportStream
    case asf

    /// The first bytes of formats.
    private static let signatures: [(format: MediaFormat, bytes: [UInt8])] = [
        (.ogg, Array("OggS\0".utf8)), (.flac, Array("fLaC".utf8)), (.aac, Array("ADIF".utf8)),
        (.matroska, [0x1A, 0x45, 0xDF, 0xA3]), (.asf, [0x30, 0x26, 0xB2, 0x75, 0x8E, 0x66, 0xCF, 0x11]),
    ]

    /// The first box types of ISO media and QuickTime files, at byte 4.
    private static let boxes = ["ftyp", "moov", "styp", "wide", "skip", "free", "pnot"]

    /// Detects the format from a signature at the start of a body.
    init?(signatureOf bytes: [UInt8]) {
        func has(_ text: String, at offset: Int) -> Bool { bytes.dropFirst(offset).starts(with: text.utf8) }
        if let found = Self.signatures.first(where: { bytes.starts(with: $0.bytes) }) {
            self = found.format
        } else if ["RIFF", "RIFX", "RF64", "BW64"].contains(where: { has($0, at: 0) }),
            ["WAVE", "AVI ", "AVIX", "RMID"].contains(where: { has($0, at: 8) })
        {
            self = .riff
        } else if has("mdat", at: 4) || bytes.first == 0 && Self.boxes.contains(where: { has($0, at: 4) }) {
            // The four bytes before a box's name are its size, most significant byte first. That byte is 0, since a
            // first box is below 16 MiB. Only `mdat` may be larger, or have its size after its name.
            self = .isoMedia
        } else if Self.isTag(bytes) {
            self = .id3
        } else if Self.isTransportStream(bytes) {
            self = .transportStream
        } else if let format = Self.mpegFormat(bytes) {
            self = format
        } else {
            return nil
        }
    }

    /// Returns the format if the bytes are the header of an MPEG audio frame (ISO 11172-3 §2.4.1.3), or of an AAC frame
    /// in ADTS (ISO 13818-7 §6.2).
    private static func mpegFormat(_ bytes: [UInt8]) -> MediaFormat? {
        guard bytes.count >= 4, bytes[0] == 0xFF, bytes[1] & 0xE0 == 0xE0 else { return nil }
        if bytes[1] & 0xF6 == 0xF0 { return (bytes[2] >> 2) & 0x0F < 13 ? .aac : nil }
        // The version and the layer, the bit rate, and the sampling rate: each has one reserved value.
        return bytes[1] & 0x18 != 0x08 && bytes[1] & 6 != 0 && bytes[2] >> 4 != 15 && bytes[2] & 0x0C != 0x0C
            ? .mpegAudio : nil
    }

    /// Returns whether the bytes are the header of an ID3v2 tag (ID3v2.4 §3.1): the version numbers are small, and the
    /// highest bit of each size byte is clear.
    private static func isTag(_ bytes: [UInt8]) -> Bool {
        bytes.count >= 10 && bytes.starts(with: "ID3".utf8) && (2...4).contains(bytes[3]) && bytes[4] < 0xFF
            && bytes[6..<10].allSatisfy { $0 < 0x80 }
    }

    /// Returns whether there are three consecutive packets with sync bytes. In packets of 192 bytes, the sync byte
    /// follows a time stamp.
    private static func isTransportStream(_ bytes: [UInt8]) -> Bool {
        [(188, 0), (192, 4), (204, 0)].contains { size, offset in
            bytes.count > 2 * size + offset
                && (0..<3).allSatisfy { bytes[$0 * size + offset] == 0x47 }
        }
    }
}
