/// The number of columns that a terminal needs for a text: two for East Asian wide characters and emoji, none for
/// characters that combine with the previous one.
enum TextWidth {
    /// Returns the width of a text in columns.
    static func columns(_ text: String) -> Int { text.reduce(0) { $0 + columns($1) } }

    /// Returns the width of a character, which may consist of several scalars.
    static func columns(_ character: Character) -> Int {
        let scalars = character.unicodeScalars
        // An emoji of several scalars: one with a skin tone or VARIATION SELECTOR-16, a family, or a flag.
        if scalars.count > 1, let first = scalars.first, first.properties.isEmoji,
            scalars.dropFirst().contains(where: { $0.value == 0xFE0F || $0.properties.isEmojiPresentation })
        {
            return 2
        }
        return scalars.reduce(0) { $0 + columns($1) }
    }

    private static func columns(_ scalar: Unicode.Scalar) -> Int {
        if scalar.value < 0x300 { return scalar.value == 0xAD || !isVisible(scalar) ? 0 : 1 }
        // Hangul vowels and final consonants combine with the letters before them.
        if (0x1160...0x11FF).contains(scalar.value) || (0xD7B0...0xD7FF).contains(scalar.value) { return 0 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control, .lineSeparator, .paragraphSeparator: return 0
        default: break
        }
        if scalar.properties.isEmojiPresentation { return 2 }
        return wide.contains { $0.contains(scalar.value) } ? 2 : 1
    }

    private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
        !(scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value))
    }

    /// The code points with East_Asian_Width W or F in the Unicode Character Database, without emoji. Unassigned code
    /// points have the width of their neighbors.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2329...0x232A, 0x2E80...0x303E, 0x3041...0x3247, 0x3250...0x4DBF, 0x4E00...0xA4CF,
        0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF01...0xFF60,
        0xFFE0...0xFFE6, 0x16FE0...0x1B2FF, 0x1F200...0x1F265, 0x20000...0x3FFFD,
    ]

    /// Truncates a text at its end to fit the width, with an ellipsis.
    static func cut(_ text: String, to width: Int) -> String {
        if columns(text) <= width { return text }
        return width < 1 ? "" : prefix(text, width - 1) + "…"
    }

    /// Truncates a text in its middle to fit the width, with an ellipsis: the start and the end of `SHOW/EPISODE.mp3`
    /// identify it best.
    static func cutMiddle(_ text: String, to width: Int) -> String {
        if columns(text) <= width { return text }
        if width < 3 { return cut(text, to: width) }
        let head = prefix(text, width / 2)
        let tail = prefix(String(text.reversed()), width - 1 - columns(head))
        return head + "…" + String(tail.reversed())
    }

    /// Returns the longest prefix that fits the width.
    private static func prefix(_ text: String, _ width: Int) -> String {
        var rest = width
        return String(
            text.prefix { character in
                rest -= columns(character)
                return rest >= 0
            })
    }

    /// Pads a text with spaces to a width, at its end or at its start.
    static func padded(_ text: String, to width: Int, atStart: Bool = false) -> String {
        let spaces = String(repeating: " ", count: max(0, width - columns(text)))
        return atStart ? spaces + text : text + spaces
    }
}
