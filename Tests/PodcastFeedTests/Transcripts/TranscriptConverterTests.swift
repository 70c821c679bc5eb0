import Foundation
import PodcastFeed
import TestSupport
import Testing

/// Conversion of transcripts to WebVTT. Each fixture is a transcript and a `.vtt` file with the expected result.
struct TranscriptConverterTests {
    private static var folder: URL { FixtureTests.folder.appendingPathComponent("Transcripts") }

    static var transcripts: [String] {
        get throws {
            try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { !$0.hasSuffix(".vtt") }.sorted()
        }
    }

    private static func bytes(_ name: String) throws -> [UInt8] {
        try [UInt8](Data(contentsOf: folder.appendingPathComponent(name)))
    }

    private func converted(_ bytes: [UInt8]) -> String? {
        TranscriptConverter.webVTT(bytes).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(arguments: try transcripts) func transcriptIsConvertedToItsPair(name: String) throws {
        let bytes = try Self.bytes(name)
        let expected = String(decoding: try Self.bytes("\(name.prefix { $0 != "." }).vtt"), as: UTF8.self)
        #expect(converted(bytes) == expected)
    }

    @Test func theFixturesAreThere() throws { #expect(try Self.transcripts.count == 4) }

    @Test(arguments: [
        "<script>for(i=0;i<n;i++){}</script>", "<style>a<b{}</style >", "<SCRIPT>\"</scripts\"<</Script x='1'>",
        "<head><title>a < b</title><body>", "<!-- a=1, don't -->", "<!-->", "<!-- > --!>",
    ])
    func textAfterAHiddenPartIsRead(_ part: String) {
        let expected = converted(Array("<p><time>0:01</time><p>one</p><p>two</p>".utf8))
        #expect(expected?.contains("two") == true)
        #expect(converted(Array("<p><time>0:01</time><p>one</p>\(part)<p>two</p>".utf8)) == expected)
    }

    @Test func webVTTIsUnchanged() {
        for (text, expected) in [
            ("WEBVTT\n\n00:01.000 --> 00:02.000\nx", "WEBVTT\n\n00:01.000 --> 00:02.000\nx"),
            ("\u{FEFF}WEBVTT - title\n", "WEBVTT - title\n"),
        ] {
            #expect(converted(Array(text.utf8)) == expected)
        }
    }

    @Test(arguments: [
        "", "   ", "Hello, this is plain text.", "<html><p>log in</p>", "[1]", "{\"segments\":[]}", "1\n2\n",
    ])
    func textWithoutTimesIsNoTranscript(_ text: String) { #expect(converted(Array(text.utf8)) == nil) }

    @Test(arguments: try transcripts) func alteredTranscriptsYieldWebVTTOrNothing(name: String) throws {
        var dice = SeededGenerator(seed: 3)
        let bytes = try Self.bytes(name)
        for _ in 1...200 {
            var altered = bytes
            for _ in 1...5 { altered[.random(in: 0..<bytes.count, using: &dice)] = .random(in: 0...255, using: &dice) }
            let text = converted(altered)
            #expect(text?.hasPrefix("WEBVTT\n\n") ?? true)
        }
    }

    /// A cue with a text of 500,000 bytes, and a cue of 100,000 lines, are cut at about 64 KiB
    /// (`TranscriptConverter.textLimit`). Deeply nested JSON is no transcript.
    @Test func endlessPartsAreBounded() throws {
        let long = String(repeating: "word ", count: 100_000)
        let json = try #require(
            converted(
                Array("{\"segments\":[{\"startTime\":1,\"endTime\":2,\"body\":\"\(long)\"}]}".utf8)))
        #expect(json.utf8.count < 70 << 10)
        let html = try #require(converted(Array("<time>0:01</time><p>\(long)</p>".utf8)))
        #expect(html.utf8.count < 70 << 10)
        let lines = String(repeating: "word\n", count: 100_000)
        let subRip = try #require(converted(Array("1\n00:00:01,000 --> 00:00:02,000\n\(lines)".utf8)))
        #expect(subRip.utf8.count < 70 << 10)
        let nested = String(repeating: "{\"a\":[", count: 100_000)
        #expect(converted(Array(nested.utf8)) == nil)
    }

    @Test func aDelimiterBeforeACombiningCharacterIsEscaped() {
        let segment = #"{"speaker": "A&\u0301", "startTime": 1, "endTime": 2, "body": "x <\u0301b&\u0301 -->\u0301"}"#
        let text = converted(Array(#"{"version": "1.0.0", "segments": [\#(segment)]}"#.utf8))
        let line = "\n<v A&amp;\u{301}>x &lt;\u{301}b&amp;\u{301} --&gt;\u{301}\n\n"
        #expect(text?.hasSuffix(line) == true, "\(text ?? "")")
    }

    /// A line of `TranscriptConverter.textLimit` bytes full of marks, such as `<`, that are never closed. If the
    /// converter searched the rest of the line for the end of each mark, the line would take minutes.
    @Test(.timeLimit(.minutes(1)), arguments: [("<", "&lt;"), ("<b", "&lt;b"), ("{\\", "{\\"), ("&", "&amp;")])
    func marksWithoutAnEndTakeLinearTime(mark: String, result: String) {
        let count = (64 << 10) / mark.utf8.count
        let head = "00:00:01,000 --> 00:00:02,000\n"
        let text = converted(Array("1\n\(head)\(String(repeating: mark, count: count))\n".utf8))
        let lines = text?.split(separator: "\n") ?? []
        #expect(lines.count == 3)
        #expect(lines.last.map { String($0) } == String(repeating: result, count: count))
    }

    @Test func theEncodingIsDetected() throws {
        let text = "1\n00:00:01,000 --> 00:00:02,000\nCafé – “naïve”\n"
        let expected = converted(Array(text.utf8))
        #expect(expected?.contains("Café – “naïve”") == true)
        for (encoding, mark) in [
            (.windowsCP1252, []), (.utf16LittleEndian, []), (.utf16LittleEndian, [0xFF, 0xFE]),
            (.utf16BigEndian, []), (.utf16BigEndian, [0xFE, 0xFF]), (.utf8, [0xEF, 0xBB, 0xBF]),
        ] as [(String.Encoding, [UInt8])] {
            let bytes = try mark + Array(#require(text.data(using: encoding)))
            #expect(converted(bytes) == expected, "\(encoding) \(mark)")
        }
        let cue = try Array(#require("1\n00:00:01,000 --> 00:00:02,000\nДа\n".data(using: .windowsCP1251)))
        let labelled = TranscriptConverter.webVTT(cue, contentType: "application/x-subrip; charset=windows-1251")
        #expect(String(decoding: labelled ?? [], as: UTF8.self).contains("Да"))
    }

    @Test func theFirstCueAfterAByteOrderMarkIsRead() {
        let text = "\u{FEFF}00:00:01,000 --> 00:00:02,000\none\n\n2\n00:00:03,000 --> 00:00:04,000\ntwo\n"
        #expect(converted(Array(text.utf8))?.contains("one") == true)
    }
}
