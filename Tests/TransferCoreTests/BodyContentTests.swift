import Testing
import Transfers

/// The kind of content of a response body, recognized by its first bytes.
@Suite struct BodyContentTests {
    /// The first bytes of a body, and the kind of content that they are recognized as.
    struct Fixture: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var bytes: [UInt8]
        var content: BodyContent

        init(_ name: String, _ bytes: [UInt8], _ content: BodyContent) {
            testDescription = name
            self.bytes = bytes
            self.content = content
        }

        init(_ format: MediaFormat, _ name: String, _ bytes: [UInt8]) {
            self.init("\(format) \(name)", bytes, .media(format))
        }

        init(_ format: MediaFormat, _ bytes: [UInt8]) { self.init(format, "", bytes) }

        init(_ document: BodyContent.Document, _ text: String) {
            self.init(text, Array(text.utf8), .document(document))
        }
    }

    private static func text(_ text: String, _ rest: [UInt8] = []) -> [UInt8] { Array(text.utf8) + rest }

    /// Returns `junk` followed by two frames, each of which is `header` padded with zeros to `length` bytes.
    private static func frames(_ header: [UInt8], _ length: Int, after junk: [UInt8] = []) -> [UInt8] {
        let frame = header + [UInt8](repeating: 0, count: length - header.count)
        return junk + frame + frame
    }

    private static func packets(_ size: Int, sync: Int) -> [UInt8] {
        (0..<4 * size).map { $0 % size == sync ? 0x47 : 0x10 }
    }

    /// Bytes that are neither text nor a known format.
    private static let noise = (0..<700).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 1) & 0x7F }

    static let media: [Fixture] = [
        Fixture(.id3, "2.3", text("ID3", [3, 0, 0, 0, 0, 1, 0x76])),
        Fixture(.id3, "2.4", text("ID3", [4, 0, 0x10, 0, 0, 0, 0])),
        Fixture(.mpegAudio, "MPEG-1 III 128k 44.1k", frames([0xFF, 0xFB, 0x90, 0x64], 417)),
        Fixture(.mpegAudio, "padded", frames([0xFF, 0xFB, 0x92, 0x64], 418)),
        Fixture(.mpegAudio, "MPEG-1 III 320k 32k", frames([0xFF, 0xFA, 0xE8, 0], 1_440)),
        Fixture(.mpegAudio, "MPEG-1 II 192k 48k", frames([0xFF, 0xFD, 0xA4, 0], 576)),
        Fixture(.mpegAudio, "MPEG-1 I 384k 44.1k", frames([0xFF, 0xFF, 0xC0, 0], 416)),
        Fixture(.mpegAudio, "MPEG-2 III 64k 22.05k", frames([0xFF, 0xF3, 0x80, 0xC4], 208)),
        Fixture(.mpegAudio, "MPEG-2 II 64k 24k", frames([0xFF, 0xF5, 0x84, 0], 384)),
        Fixture(.mpegAudio, "MPEG-2.5 III 32k 11.025k", frames([0xFF, 0xE3, 0x40, 0xC4], 208)),
        Fixture(.aac, "ADTS", frames([0xFF, 0xF1, 0x50, 0x80, 0x10, 0x1F, 0xFC], 128)),
        Fixture(.aac, "ADTS with CRC", frames([0xFF, 0xF8, 0x4C, 0x80, 0x10, 0x1F, 0xFC], 128)),
        Fixture(.aac, "ADIF", text("ADIF", [0, 1])), Fixture(.ogg, text("OggS", [0, 2, 0, 0])),
        Fixture(.flac, text("fLaC", [0, 0, 0, 0x22])),
        Fixture(.riff, "WAV", text("RIFF", [1, 2, 3, 4]) + text("WAVEfmt ")),
        Fixture(.riff, "AVI", text("RIFF\u{1}\u{2}\u{3}\u{4}AVI LIST")),
        Fixture(.riff, "RF64", text("RF64~~~~WAVEds64")),
        Fixture(.matroska, [0x1A, 0x45, 0xDF, 0xA3, 0x9F]),
        Fixture(.isoMedia, "M4A", [0, 0, 0, 0x20] + text("ftypM4A ")),
        Fixture(.isoMedia, "QuickTime", [0, 0, 0, 8] + text("wide")),
        Fixture(.isoMedia, "moov", [0, 1, 2, 3] + text("moov")),
        Fixture(.isoMedia, "mdat", [0x12, 1, 2, 3] + text("mdat")),
        Fixture(.transportStream, packets(188, sync: 0)),
        Fixture(.transportStream, "M2TS", packets(192, sync: 4)),
        Fixture(.asf, [0x30, 0x26, 0xB2, 0x75, 0x8E, 0x66, 0xCF, 0x11, 0xA6]),
        Fixture(.other, "MPEG program", [0, 0, 1, 0xBA, 0x44]),
        Fixture(.other, "MPEG elementary", [0, 0, 1, 0xB3, 0x14]),
        Fixture(.other, "AIFF", text("FORM\0\0\u{1}\u{2}AIFFCOMM")),
        Fixture(.other, "AIFC", text("FORM\0\0\u{1}\u{2}AIFCFVER")),
        Fixture(.other, "AMR", text("#!AMR\n", [0x3C, 0x91])), Fixture(.other, "AMR-WB", text("#!AMR-WB\n", [0x24])),
        Fixture(.other, "Flash", text("FLV\u{1}\u{5}")), Fixture(.other, "Core Audio", text("caff\0\u{1}\0\0")),
        Fixture(.other, "Sun audio", text(".snd\0\0\0\u{18}")), Fixture(.other, "MIDI", text("MThd\0\0\0\u{6}\0\u{1}")),
        Fixture(.other, "Monkey's Audio", text("MAC ", [0x96, 0x0F])),
        Fixture(.other, "WavPack", text("wvpk", [0x12, 0])), Fixture(.other, "True Audio", text("TTA1\u{1}\0")),
        Fixture(.other, "Musepack", text("MPCKSH")), Fixture(.other, "Musepack SV7", text("MP+", [0x17, 0])),
        Fixture(.other, "RealMedia", text(".RMF\0\0")), Fixture(.other, "RealAudio", [0x2E, 0x72, 0x61, 0xFD, 0]),
        Fixture(.other, "AC-3", [0x0B, 0x77, 0x12, 0x34]), Fixture(.other, "DTS", [0x7F, 0xFE, 0x80, 0x01]),
        Fixture(.other, "DSD", text("DSD \u{1C}\0\0\0")),
    ]

    @Test(arguments: media) func aFormatIsKnownByItsFirstBytes(_ fixture: Fixture) {
        #expect(BodyContent(fixture.bytes, isWhole: true) == fixture.content)
        #expect(BodyContent(fixture.bytes + Self.noise, isWhole: false, searches: true) == fixture.content)
    }

    @Test func everyFormatHasAFixture() {
        let formats = Set(Self.media.compactMap { if case .media(let format) = $0.content { format } else { nil } })
        #expect(formats == Set(MediaFormat.allCases))
    }

    /// The body is a piece cut out of a stream, or a file with padding before its first frame.
    @Test(arguments: [1, 100, 4_000]) func framesAreFoundAfterOtherBytes(junk: Int) {
        let junk = [UInt8](repeating: 0, count: junk - 1) + [0xFF]
        for (header, length, format) in [
            ([0xFF, 0xFB, 0x90, 0x64], 417, MediaFormat.mpegAudio),
            ([0xFF, 0xF1, 0x50, 0x80, 0x10, 0x1F, 0xFC], 128, .aac),
        ] as [([UInt8], Int, MediaFormat)] {
            let bytes = Self.frames(header, length, after: junk)
            #expect(BodyContent(bytes, isWhole: false, searches: true) == .media(format))
            #expect(BodyContent(bytes, isWhole: false) == .binary)
        }
    }

    @Test(
        arguments: [
            [0xFF, 0xEB, 0x90, 0x64], [0xFF, 0xF9, 0x00, 0x00], [0xFF, 0xFB, 0xF0, 0x64], [0xFF, 0xFB, 0x9C, 0x64],
            [0xFE, 0xFB, 0x90, 0x64], [0xFF, 0x00, 0x90, 0x64],
        ] as [[UInt8]])
    func anInvalidFrameHeaderIsNotMedia(header: [UInt8]) {
        let bytes = header + [UInt8](repeating: 0, count: BodyContent.searchWindow)
        #expect(BodyContent(bytes, isWhole: false, searches: true) == .binary)
    }

    @Test func aSingleFrameIsNotMedia() {
        let bytes = [0xFF, 0xFB, 0x90, 0x64] + [UInt8](repeating: 1, count: BodyContent.searchWindow)
        #expect(BodyContent(bytes, isWhole: false, searches: true) == .binary)
    }

    static let documents: [Fixture] = [
        Fixture(.webPage, "<!DOCTYPE html><html>"), Fixture(.webPage, "<HTML><body>"), Fixture(.webPage, "<head>"),
        Fixture(.webPage, "\r\n\t <html lang=en>"), Fixture(.webPage, "<!-- a comment --><html>"),
        Fixture(.webPage, "<!-- one -->\n<!-- two -->\n<!doctype HTML>"), Fixture(.webPage, "<script>location='/'"),
        Fixture(.webPage, "<?xml version=\"1.0\"?><!DOCTYPE html><html>"),
        Fixture(.webPage, "<h1>502 Bad Gateway</h1>"),
        Fixture(.webPage, "\u{FEFF}<!DOCTYPE html>"), Fixture(.webPage, "<!-- never ends"),
        Fixture(.xml, "<?xml version=\"1.0\"?><Error><Code>AccessDenied"),
        Fixture(.xml, "<Error><Code>NoSuchKey</Code>"),
        Fixture(.xml, "\u{FEFF}<?xml version='1.0'?><!-- c --><rss>"), Fixture(.xml, "<?xml version=\"1.0\"?>"),
        Fixture(.xml, "<!ENTITY x>"), Fixture(.xml, "<ASX version=\"3.0\">"), Fixture(.xml, "<s:Envelope>"),
        Fixture(.json, "{\"error\":\"expired\"}"), Fixture(.json, "\n  { \"a\" : 1 }"), Fixture(.json, "{}"),
        Fixture(.json, "[{\"a\":1}]"), Fixture(.json, "[]"), Fixture(.json, "[1, 2]"),
        Fixture(.json, "\u{FEFF}[\"a\"]"),
        Fixture(.playlist, "#EXTM3U\n#EXTINF:1,a\nhttp://example.com/a.mp3"), Fixture(.playlist, "\u{FEFF}#EXTM3U"),
        Fixture(.playlist, "\n\n#extm3u"), Fixture(.playlist, "[playlist]\nFile1=http://example.com/"),
        Fixture(.playlist, "[Reference]\nRef1=http://example.com/"),
        Fixture(.playlist, "# mpv EDL v0\n/etc/passwd,0,1"),
        Fixture(.playlist, "ffconcat version 1.0\nfile /etc/passwd"),
        Fixture(.playlist, "[InternetShortcut]\nURL=http:"),
        Fixture(.playlist, "FILE \"/etc/passwd\" WAVE\n"), Fixture(.text, "Forbidden"),
        Fixture(.text, "404 not found\n"),
        Fixture(.text, "{not JSON"), Fixture(.text, "[section]"), Fixture(.text, "Get out of here"), Fixture(.text, ""),
        Fixture(.text, "Nicht verf\u{FC}gbar \u{2013} sp\u{E4}ter"), Fixture(.text, "ID3 tags are nice"),
        Fixture(.text, "RIFF raff"), Fixture(.text, "<3"), Fixture(.text, "http://example.com/a.mp3"),
        Fixture(.signedChunks, "10000;chunk-signature=ad80c730a21e5b8d\r\nID3"),
    ]

    @Test(arguments: documents) func aDocumentIsKnownByItsFirstBytes(_ fixture: Fixture) {
        #expect(BodyContent(fixture.bytes, isWhole: true) == fixture.content)
        #expect(BodyContent(fixture.bytes, isWhole: true, searches: true) == fixture.content)
    }

    /// Bytes after the first characters do not turn a body that starts as markup or a playlist into media.
    @Test(arguments: documents) func bytesBehindADocumentDoNotMakeItMedia(_ fixture: Fixture) {
        guard fixture.content != .document(.text), fixture.content != .document(.json) else { return }
        let content = BodyContent(
            fixture.bytes + Self.noise + Self.frames([0xFF, 0xFB, 0x90, 0x64], 417), isWhole: true)
        guard case .document = content else {
            Issue.record("\(String(describing: content))")
            return
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

    @Test func documentsInUTF16AreKnown() {
        for text in ["<html><body>", "{\"error\": true}", "#EXTM3U\nhttp:", "Forbidden"] {
            let units = Array(text.utf16)
            let little = units.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
            let big = units.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
            let plain = BodyContent(Array(text.utf8), isWhole: true)
            for bytes in [[0xFF, 0xFE] + little, [0xFE, 0xFF] + big, little, big] {
                #expect(BodyContent(bytes, isWhole: true) == plain, "\(text)")
            }
        }
    }

    /// The result for each prefix is `nil` or the result for the whole.
    @Test(arguments: media + documents) func moreBytesDoNotChangeTheResult(_ fixture: Fixture) {
        let bytes = fixture.bytes + [UInt8](repeating: 0x20, count: BodyContent.searchWindow)
        let last = BodyContent(bytes, isWhole: false, searches: true)
        #expect(last == fixture.content || last == .document(.webPage), "\(String(describing: last))")
        for count in 0..<min(fixture.bytes.count, 40) {
            let early = BodyContent(bytes.prefix(count), isWhole: false, searches: true)
            #expect(early == nil || early == last, "\(count): \(String(describing: early))")
            if case .document = last {
                // For a document, this also holds without the search for frames.
                let unsearched = BodyContent(bytes.prefix(count), isWhole: false)
                #expect(unsearched == nil || unsearched == last, "\(count): \(String(describing: unsearched))")
            }
        }
    }

    @Test(arguments: ["<!-- ", "<?php ", "<!-- --><!d"]) func markupIsDecidedOnceTheWindowIsFull(start: String) {
        let page = start + String(repeating: "a", count: BodyContent.textWindow)
        let little = page.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }.prefix(BodyContent.textWindow)
        let marked: [UInt8] = [0xFF, 0xFE] + little
        for bytes in [Array(little), marked] {
            #expect(BodyContent(bytes, isWhole: false) == BodyContent(bytes, isWhole: true))
        }
        let spaces = String(repeating: " ", count: BodyContent.searchWindow - start.utf8.count)
        let plain = Array((spaces + page).utf8)
        #expect(BodyContent(plain, isWhole: false) == BodyContent(plain, isWhole: true))
    }

    @Test func oneControlByteTurnsTextIntoBinaryContent() {
        let text = [UInt8](repeating: UInt8(ascii: "a"), count: BodyContent.textWindow)
        #expect(BodyContent(text.dropLast(), isWhole: false) == nil)
        #expect(BodyContent(text, isWhole: false) == .document(.text))
        for byte in [0x00, 0x01, 0x0B, 0x1F, 0x7F, 0xFF] as [UInt8] {
            #expect(BodyContent(text.dropLast() + [byte], isWhole: false) == .binary)
            #expect(BodyContent([byte, 0x61], isWhole: false) == .binary)
        }
        // A character truncated at the end of the window is still text.
        #expect(BodyContent(text.dropLast() + [0xC3, 0xA4], isWhole: false) == .document(.text))
    }
}
