/// Untrusted text made safe for a terminal.
package enum PlainText {
    /// Returns the text on one line: control characters, line ends and marks that change the text direction become
    /// U+FFFD.
    package static func oneLine(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map { isHarmful($0) ? "\u{FFFD}" : $0 }))
    }

    /// Returns whether the character controls a terminal, ends a line or changes the text direction.
    package static func isHarmful(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029: return true
        // Bidi_Control of the Unicode Character Database.
        case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: return true
        default: return false
        }
    }
}
