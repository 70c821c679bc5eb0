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
    /// Any other format with a signature.
    case other

    /// The first bytes of formats, as text. Of `other` these are, in order: AMR, Flash video, Core Audio, Sun audio,
    /// MIDI, WavPack, True Audio, Musepack, RealMedia and DSD.
    private static let texts: [(format: MediaFormat, text: String)] = [
        (.ogg, "OggS\0"), (.flac, "fLaC"), (.aac, "ADIF"), (.other, "#!AMR\n"), (.other, "#!AMR-WB\n"),
        (.other, "#!AMR_MC1.0\n"), (.other, "#!AMR-WB_MC1.0\n"), (.other, "FLV\u{1}"), (.other, "caff\0\u{1}"),
        (.other, ".snd\0"), (.other, "MThd\0\0\0\u{6}"), (.other, "wvpk"), (.other, "TTA1"), (.other, "TTA2"),
        (.other, "MPCK"), (.other, ".RMF\0"), (.other, "DSD \u{1C}\0"), (.other, "FRM8\0"),
    ]

    /// The first bytes of formats. The last of `other` are MPEG program streams, RealAudio, AC-3 and DTS.
    private static let signatures: [(format: MediaFormat, bytes: [UInt8])] =
        texts.map { ($0, Array($1.utf8)) } + [
            (.matroska, [0x1A, 0x45, 0xDF, 0xA3]), (.asf, [0x30, 0x26, 0xB2, 0x75, 0x8E, 0x66, 0xCF, 0x11]),
            (.other, [0, 0, 1, 0xBA]), (.other, [0, 0, 1, 0xB3]), (.other, [0x2E, 0x72, 0x61, 0xFD]),
            (.other, [0x0B, 0x77]), (.other, [0x7F, 0xFE, 0x80, 0x01]), (.other, [0xFE, 0x7F, 0x01, 0x80]),
        ]

    /// The first box types of ISO media and QuickTime files, at byte 4.
    private static let boxes = ["ftyp", "moov", "styp", "wide", "skip", "free", "pnot"]

    /// Detects the format from a signature at the start of a body.
    init?(signatureOf bytes: [UInt8], isWhole: Bool) {
        func has(_ text: String, at offset: Int) -> Bool { bytes.dropFirst(offset).starts(with: text.utf8) }
        if let found = Self.signatures.first(where: { bytes.starts(with: $0.bytes) }) {
            self = found.format
        } else if ["RIFF", "RIFX", "RF64", "BW64"].contains(where: { has($0, at: 0) }),
            ["WAVE", "AVI ", "AVIX", "RMID"].contains(where: { has($0, at: 8) })
        {
            self = .riff
        } else if has("FORM", at: 0) && (has("AIFF", at: 8) || has("AIFC", at: 8))
            || has("MAC ", at: 0) && bytes.count > 4 && bytes[4] >= 0x80
            || has("MP+", at: 0) && bytes.count > 3 && bytes[3] & 0x0F == 7
        {
            // AIFF, Monkey's Audio, Musepack of an older version.
            self = .other
        } else if has("mdat", at: 4) || bytes[0] == 0 && Self.boxes.contains(where: { has($0, at: 4) }) {
            // The four bytes before a box's name are its size, most significant byte first. That byte is 0, since a
            // first box is below 16 MiB. Only `mdat` may be larger, or have its size after its name.
            self = .isoMedia
        } else if Self.isTag(bytes) {
            self = .id3
        } else if Self.isTransportStream(bytes) {
            self = .transportStream
        } else if let frame = MPEGFrame(bytes, at: 0), frame.isFollowed(in: bytes, orEnds: isWhole) {
            self = frame.format
        } else {
            return nil
        }
    }

    /// Detects a format by consecutive frames after unknown bytes, as in a part of a stream.
    init?(searchedIn bytes: [UInt8]) {
        for start in bytes.indices where bytes[start] == 0xFF {
            guard let frame = MPEGFrame(bytes, at: start), frame.isFollowed(in: bytes, orEnds: false) else { continue }
            self = frame.format
            return
        }
        for start in bytes.indices.prefix(192) where Self.isTransportStream(bytes.dropFirst(start)) {
            self = .transportStream
            return
        }
        return nil
    }

    /// Returns whether the bytes are the header of an ID3v2 tag (ID3v2.4 §3.1): the version numbers are small, and the
    /// highest bit of each size byte is clear.
    private static func isTag(_ bytes: [UInt8]) -> Bool {
        bytes.count >= 10 && bytes.starts(with: "ID3".utf8) && (2...4).contains(bytes[3]) && bytes[4] < 0xFF
            && bytes[6..<10].allSatisfy { $0 < 0x80 }
    }

    /// Returns whether there are three consecutive packets with sync bytes. In packets of 192 bytes, the sync byte
    /// follows a time stamp.
    private static func isTransportStream(_ bytes: some RandomAccessCollection<UInt8>) -> Bool {
        [(188, 0), (192, 4), (204, 0)].contains { size, offset in
            bytes.count > 2 * size + offset
                && (0..<3).allSatisfy { number in
                    bytes[bytes.index(bytes.startIndex, offsetBy: number * size + offset)] == 0x47
                }
        }
    }
}

/// The header of an MPEG audio frame (ISO 11172-3 §2.4.1.3) or of an AAC frame in ADTS (ISO 13818-7 §6.2).
private struct MPEGFrame {
    let format: MediaFormat
    private let start: Int
    /// The length of the frame in bytes; 0 for a free bit rate.
    private let length: Int
    /// The bits that all frames of a stream share.
    private let signature: [UInt8]

    init?(_ bytes: [UInt8], at start: Int) {
        guard start + 4 <= bytes.count, bytes[start] == 0xFF, bytes[start + 1] & 0xE0 == 0xE0 else { return nil }
        self.start = start
        let second = bytes[start + 1]
        if second & 0xF6 == 0xF0 {
            guard start + 6 <= bytes.count else { return nil }
            format = .aac
            signature = [second, bytes[start + 2] & 0xFC]
            length =
                Int(bytes[start + 3] & 3) << 11 | Int(bytes[start + 4]) << 3 | Int(bytes[start + 5]) >> 5
            guard length > 7, (bytes[start + 2] >> 2) & 0x0F < 13 else { return nil }
            return
        }
        let version = Int(second >> 3) & 3
        let layer = 4 - Int(second >> 1) & 3
        let rate = Int(bytes[start + 2] >> 4)
        let frequency = Int(bytes[start + 2] >> 2) & 3
        guard version != 1, layer != 4, rate != 15, frequency != 3 else { return nil }
        format = .mpegAudio
        signature = [second & 0xFE, bytes[start + 2] & 0x0C]
        let isMPEG1 = version == 3
        let bits = Self.rates[isMPEG1 ? layer - 1 : layer == 1 ? 3 : 4][rate] * 1_000
        let hertz = [44_100, 48_000, 32_000][frequency] >> (isMPEG1 ? 0 : version == 2 ? 1 : 2)
        let padding = Int(bytes[start + 2] >> 1) & 1
        if bits == 0 {
            length = 0
        } else if layer == 1 {
            length = (12 * bits / hertz + padding) * 4
        } else {
            length = (layer == 3 && !isMPEG1 ? 72 : 144) * bits / hertz + padding
        }
    }

    /// Returns whether the next frame starts where this one ends, and belongs to the same stream.
    ///
    /// - Parameter orEnds: Whether the end of the bytes is accepted instead of the next frame.
    func isFollowed(in bytes: [UInt8], orEnds: Bool) -> Bool {
        guard length > 0 else { return false }
        guard let next = MPEGFrame(bytes, at: start + length) else { return orEnds && start + length + 6 > bytes.count }
        return next.signature == signature
    }

    /// The bit rates in kbit/s by index: MPEG-1 layers I, II, III; MPEG-2 layer I; MPEG-2 layers II and III.
    private static let rates = [
        [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
        [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
        [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
        [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
        [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
    ]
}
