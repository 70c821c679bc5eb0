import Testing

@testable import PodcastFeed

@Suite struct CharsetConverterTests {
    private func convert(_ bytes: [UInt8], from name: String, piece: Int) throws -> String {
        let converter = try #require(CharsetConverter(from: name))
        var output: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: piece) {
            output += bytes[start..<min(start + piece, bytes.count)].withUnsafeBytes { converter.convert($0) }
        }
        return String(decoding: output + converter.finish(), as: UTF8.self)
    }

    @Test(
        arguments: [
            ("CP932", [0x61, 0x82, 0xA0, 0x62], "aあb"), ("CP932", [0x61, 0x82], "a\u{FFFD}"), ("CP932", [], ""),
            ("UTF-16LE", [0x61, 0, 0x3D], "a\u{FFFD}"), ("UTF-16LE", [0x61, 0, 0x3D, 0xD8], "a\u{FFFD}"),
            ("UTF-32LE", [0x61, 0, 0, 0, 1, 2, 3], "a\u{FFFD}"), ("GB18030", [0x61, 0x81, 0x30, 0x81], "a\u{FFFD}"),
            // iconv writes this letter only at the end of the input, since a following accent would change it.
            ("BIG5-HKSCS", [0x61, 0x88, 0x66], "aÊ"),
        ] as [(String, [UInt8], String)])
    func anIncompleteCharacterAtTheEndIsReplacedOnce(name: String, bytes: [UInt8], text: String) throws {
        for piece in 1...4 { #expect(try convert(bytes, from: name, piece: piece) == text) }
    }
}
