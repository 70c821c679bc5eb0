import Testing
import Transfers

/// The kind of content of a response body, recognized by its first bytes.
@Suite struct BodyContentTests {
    private static func text(_ text: String, _ rest: [UInt8] = []) -> [UInt8] { Array(text.utf8) + rest }

    private static func packets(_ size: Int, sync: Int) -> [UInt8] {
        (0..<4 * size).map { $0 % size == sync ? 0x47 : 0x10 }
    }

    /// Bytes that are neither text nor a known format.
    private static let noise = (0..<700).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 1) & 0x7F }

    static let media: [(MediaFormat, [UInt8])] = [
        (.id3, text("ID3", [3, 0, 0, 0, 0, 1, 0x76])), (.id3, text("ID3", [4, 0, 0x10, 0, 0, 0, 0])),
        // MPEG-1 layers III, II and I, MPEG-2 layer III, MPEG-2.5.
        (.mpegAudio, [0xFF, 0xFB, 0x90, 0x64]), (.mpegAudio, [0xFF, 0xFD, 0xA4, 0]),
        (.mpegAudio, [0xFF, 0xFF, 0xC0, 0]), (.mpegAudio, [0xFF, 0xF3, 0x80, 0xC4]),
        (.mpegAudio, [0xFF, 0xE3, 0x40, 0xC4]), (.aac, [0xFF, 0xF1, 0x50, 0x80]), (.aac, [0xFF, 0xF8, 0x4C, 0x80]),
        (.aac, text("ADIF", [0, 1])), (.ogg, text("OggS", [0, 2, 0, 0])), (.flac, text("fLaC", [0, 0, 0, 0x22])),
        (.riff, text("RIFF", [1, 2, 3, 4]) + text("WAVEfmt ")), (.riff, text("RIFF\u{1}\u{2}\u{3}\u{4}AVI LIST")),
        (.matroska, [0x1A, 0x45, 0xDF, 0xA3, 0x9F]), (.isoMedia, [0, 0, 0, 0x20] + text("ftypM4A ")),
        (.isoMedia, [0, 1, 2, 3] + text("moov")), (.isoMedia, [0x12, 1, 2, 3] + text("mdat")),
        (.transportStream, packets(188, sync: 0)), (.transportStream, packets(192, sync: 4)),
        (.asf, [0x30, 0x26, 0xB2, 0x75, 0x8E, 0x66, 0xCF, 0x11, 0xA6]),
    ]

    @Test func everyFormatIsKnownByItsFirstBytes() {
        for (format, bytes) in Self.media {
            #expect(BodyContent(bytes, isWhole: true) == .media(format))
            #expect(BodyContent(bytes + Self.noise, isWhole: false) == .media(format))
        }
        #expect(Set(Self.media.map(\.0)) == Set(MediaFormat.allCases))
    }

    @Test(
        arguments: [
            [0xFF, 0xEB, 0x90, 0x64], [0xFF, 0xF9, 0xFC, 0x00], [0xFF, 0xFB, 0xF0, 0x64], [0xFF, 0xFB, 0x9C, 0x64],
            [0xFE, 0xFB, 0x90, 0x64], [0xFF, 0x00, 0x90, 0x64],
        ] as [[UInt8]])
    func anInvalidFrameHeaderIsNotMedia(header: [UInt8]) {
        #expect(BodyContent(header + [UInt8](repeating: 0, count: 600), isWhole: false) == .binary)
    }

    static let documents: [(BodyContent.Document, [String])] = [
        (
            .webPage,
            [
                "<!DOCTYPE html><html>", "\r\n\t <HTML lang=en>", "<!-- one -->\n<!-- two -->\n<!doctype HTML>",
                "<?xml version=\"1.0\"?><!DOCTYPE html><html>", "<h1>502 Bad Gateway</h1>", "\u{FEFF}<!DOCTYPE html>",
                "<script>location='/'",
            ]
        ),
        (
            .xml,
            [
                "<?xml version=\"1.0\"?><Error><Code>AccessDenied", "\u{FEFF}<?xml version='1.0'?><!-- c --><rss>",
                "<!ENTITY x>", "<ASX version=\"3.0\">", "<s:Envelope>", "<!-- never ends",
            ]
        ),
        (.json, ["{\"error\":\"expired\"}", "\n  { \"a\" : 1 }", "{}", "[{\"a\":1}]", "[1, 2]", "\u{FEFF}[\"a\"]"]),
        (
            .playlist,
            [
                "#EXTM3U\n#EXTINF:1,a\nhttp://example.com/a.mp3", "\u{FEFF}#EXTM3U", "\n\n#extm3u",
                "[playlist]\nFile1=http://example.com/", "[Reference]\nRef1=http://example.com/",
                "# mpv EDL v0\n/etc/passwd,0,1", "ffconcat version 1.0\nfile /etc/passwd",
                "[InternetShortcut]\nURL=http:", "FILE \"/etc/passwd\" WAVE\n",
            ]
        ),
        (
            .text,
            [
                "Forbidden", "{not JSON", "[section]", "", "Nicht verf\u{FC}gbar \u{2013} sp\u{E4}ter",
                "ID3 tags are nice", "RIFF raff", "<3",
            ]
        ),
        (.signedChunks, ["10000;chunk-signature=ad80c730a21e5b8d\r\nID3"]),
    ]

    /// Bytes after the first characters do not turn a body that starts as markup or a playlist into media.
    @Test func aDocumentIsKnownByItsFirstBytes() {
        for (document, texts) in Self.documents {
            for text in texts {
                #expect(BodyContent(text.utf8, isWhole: true) == .document(document), "\(text)")
                if document == .text { continue }
                let more = text.utf8 + (document == .json ? [] : Self.noise)
                #expect(BodyContent(more, isWhole: true) == .document(document), "\(text)")
            }
        }
    }

    @Test func asciiInUTF16IsText() {
        for bytes in [[0xFF, 0xFE, 0x23, 0, 0x45, 0], [0xFE, 0xFF, 0, 0x23, 0, 0x45]] as [[UInt8]] {
            #expect(BodyContent(bytes, isWhole: true) == .document(.text))
        }
    }

    @Test func aRefusalNamesTheExpectedContent() {
        let nouns: [(ContentExpectation, String)] = [
            (.media, "media"), (.playlist, "a playlist"), (.other, "the file itself"),
        ]
        for (expectation, noun) in nouns {
            let error = TransferError(.unusable, "the server sent a web page instead of \(noun)")
            #expect(expectation.refusal(of: .document(.webPage)) == error)
        }
    }

    /// The result for each prefix is `nil` or the result for the whole.
    @Test func moreBytesDoNotChangeTheResult() {
        for (document, texts) in Self.documents {
            for text in texts {
                let bytes = text.utf8 + [UInt8](repeating: 0x20, count: BodyContent.window)
                for count in 0...bytes.count {
                    let early = BodyContent(bytes.prefix(count), isWhole: false)
                    #expect(early == nil || early == .document(document), "\(count): \(text)")
                }
            }
        }
    }

    @Test func oneControlByteTurnsTextIntoBinaryContent() {
        let text = [UInt8](repeating: UInt8(ascii: "a"), count: BodyContent.window)
        #expect(BodyContent(text.dropLast(), isWhole: false) == nil)
        #expect(BodyContent(text, isWhole: false) == .document(.text))
        for byte in [0x00, 0x01, 0x0B, 0x1F, 0x7F] as [UInt8] {
            #expect(BodyContent(text.dropLast() + [byte], isWhole: false) == .binary)
            #expect(BodyContent([byte, 0x61], isWhole: false) == .binary)
        }
        #expect(BodyContent([0xFF] + text, isWhole: false) == .binary)
        // A character truncated at the end of the window is still text.
        #expect(BodyContent(text.dropLast() + [0xC3, 0xA4], isWhole: false) == .document(.text))
    }
}
