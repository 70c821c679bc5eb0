import Platform
import Testing

struct PlainTextTests {
    @Test func ordinaryTextOfAnyScriptStays() {
        let text = "Ümläüte, 日本語, עברית, العربية, 🎧 e\u{301} — “x”"
        #expect(PlainText.oneLine(text).unicodeScalars.elementsEqual(text.unicodeScalars))
        #expect(PlainText.oneLine("") == "")
    }

    @Test func eachHarmfulScalarIsReplaced() {
        var harmful: [UInt32] = Array(0..<0x20) + Array(0x7F..<0xA0) + [0x2028, 0x2029]
        harmful += (0...0x10FFFF).filter { Unicode.Scalar($0)?.properties.isBidiControl == true }
        #expect(harmful.count > 70)
        for value in harmful.compactMap(Unicode.Scalar.init) {
            let text = PlainText.oneLine("a\(value)b")
            #expect(Array(text.unicodeScalars) == ["a", "\u{FFFD}", "b"], "U+\(String(value.value, radix: 16))")
        }
        #expect(Array(PlainText.oneLine("a\r\nb").unicodeScalars) == ["a", "\u{FFFD}", "\u{FFFD}", "b"])
    }

    /// Marks occur in Arabic and Hebrew names; other controls of the text direction can turn the text after a name.
    @Test func onlyMarksStayInPages() {
        #expect(PlainText.spaced("a\u{200F}b\u{202E}c\u{2066}d\u{9B}e\n") == "a\u{200F}b c d e ")
    }

    @Test func anExcerptEndsAfter64Characters() {
        let text = String(repeating: "x", count: 64)
        #expect(PlainText.excerpt(text) == text && PlainText.excerpt(text + "yz") == text + "…")
        #expect(PlainText.excerpt("a\u{1B}[2Jb") == "a [2Jb")
    }
}
