/// Untrusted text made safe for display: for a terminal, a page, a message, a list of subscriptions or a log.
package enum PlainText {
    /// Returns whether the character controls a terminal, ends a line, or embeds, overrides or isolates a text
    /// direction (UAX #9).
    package static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        // C0; DEL and C1; line and paragraph separator; the bidirectional controls.
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }

    /// Returns whether the character is a control or a mark that changes the text direction: with the marks these are
    /// all characters with Bidi_Control in the Unicode Character Database. Marks reverse nothing and occur in Arabic
    /// and Hebrew titles, so pages and names retain them.
    package static func isHarmful(_ scalar: Unicode.Scalar) -> Bool {
        isControl(scalar) || [0x061C, 0x200E, 0x200F].contains(scalar.value)
    }

    /// Returns the text on one line: each harmful character becomes U+FFFD.
    package static func oneLine(_ text: String) -> String { replacing(isHarmful, in: text) { _ in "\u{FFFD}" } }

    /// Returns the text on one line, for a page or a message: each control becomes a space.
    package static func spaced(_ text: String) -> String { replacing(isControl, in: text) { _ in " " } }

    /// Returns the text on one line: each run of white space, controls and format characters (such as bidirectional
    /// controls, but not the joiners, which emoji and some scripts need) becomes one space.
    package static func collapsed(_ text: some Sequence<Unicode.Scalar>) -> String {
        let words = text.split { scalar in
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator, .spaceSeparator: true
            case .format: scalar.value != 0x200C && scalar.value != 0x200D
            default: false
            }
        }
        return String(String.UnicodeScalarView(words.joined(separator: [" "])))
    }

    /// Returns the start of the user's input for a message.
    package static func excerpt(_ text: String) -> String {
        let start = text.unicodeScalars.prefix(64)
        return spaced(String(start)) + (start.endIndex < text.unicodeScalars.endIndex ? "…" : "")
    }

    /// Returns the text with another text for each matching character.
    package static func replacing(
        _ matches: (Unicode.Scalar) -> Bool, in text: String, with replacement: (Unicode.Scalar) -> String
    ) -> String {
        // Nearly all texts are printable ASCII, or have nothing to replace.
        if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) || !text.unicodeScalars.contains(where: matches) {
            return text
        }
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if matches(scalar) {
                result.append(contentsOf: replacement(scalar).unicodeScalars)
            } else {
                result.append(scalar)
            }
        }
        return String(result)
    }
}

/// Quoting of words in commands that are shown for pasting into a shell.
package enum ShellQuoting {
    /// Returns a word that every POSIX shell reads as `text`: in single quotes unless all scalars are harmless.
    package static func quoted(_ text: String) -> String {
        let isHarmless =
            !text.isEmpty
            && text.unicodeScalars.allSatisfy {
                $0.properties.isAlphabetic || $0.properties.numericType != nil
                    || "/._-:,@%+".unicodeScalars.contains($0)
            }
        if isHarmless { return text }
        var quoted = "'"
        for scalar in text.unicodeScalars {
            if scalar == "'" { quoted += "'\\''" } else { quoted.unicodeScalars.append(scalar) }
        }
        return quoted + "'"
    }
}
