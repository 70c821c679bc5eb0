import Foundation

/// Makes one path component of any text.
///
/// Titles come from strangers: they may hold slashes, NUL, line breaks, characters that turn the reading direction
/// around, or kilobytes of text. What comes out is a name that every Linux filesystem and every player accepts. Pure.
package enum FileName {
    /// Bytes of UTF-8 that a name without its extension may have.
    ///
    /// NAME_MAX is 255 on Linux (limits.h). The 20 bytes left over hold the extension of the episode or of a file that
    /// lies beside it (transcript, art, notes, chapters).
    package static let stemLimit = 235

    /// The name of what has none.
    package static let untitled = "Untitled"

    /// The text as a name: NFC, no slash, no control character, no leading dot, no outer space, not empty, at most
    /// `stemLimit` bytes.
    package static func stem(_ text: String) -> String {
        let name = trimmed(cut(normalized(replacing(text)), to: stemLimit))
        return name.isEmpty ? untitled : name
    }

    /// The text with everything replaced that may not stand inside a name; it may still be too long, begin with a dot
    /// or be empty.
    ///
    /// A slash becomes a hyphen. Every other character that may not stand becomes a space, and a run of spaces one.
    static func replacing(_ text: String) -> String {
        if isPlain(text) { return text }
        var result = ""
        var pendingSpace = false
        for scalar in text.unicodeScalars {
            if isForbidden(scalar) || scalar == " " {
                pendingSpace = true
                continue
            }
            if pendingSpace, !result.isEmpty { result.unicodeScalars.append(" ") }
            pendingSpace = false
            result.unicodeScalars.append(scalar == "/" ? "-" : scalar)
        }
        return result
    }

    /// Whether nothing in a text is to be replaced, as in most titles: printable ASCII without slashes, and single spaces
    /// between words.
    private static func isPlain(_ text: String) -> Bool {
        var last = UInt8(ascii: " ")
        for byte in text.utf8 {
            guard byte >= 0x20, byte < 0x7F, byte != UInt8(ascii: "/") else { return false }
            if byte == UInt8(ascii: " "), last == byte { return false }
            last = byte
        }
        return last != UInt8(ascii: " ")
    }

    /// Whether a character may not stand in a name: it would not be seen, would break a line, or would change how the
    /// characters around it are read.
    static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0: true  // C0, DEL, C1
        case 0x2028, 0x2029: true  // line and paragraph separator
        case 0x202A...0x202E, 0x2066...0x2069: true  // bidirectional embeddings, overrides and isolates (UAX #9)
        case 0xFEFF: true  // byte order mark
        case 0xFFFE, 0xFFFF: true  // noncharacters
        default: false
        }
    }

    /// The text cut to at most `limit` bytes of UTF-8 at the end of a character as people see it.
    ///
    /// A single character may be longer than the limit (a letter under a heap of accents): that one is cut between
    /// Unicode scalars.
    package static func cut(_ text: String, to limit: Int) -> String {
        guard text.utf8.count > limit else { return text }
        var end = text.startIndex
        var count = 0
        for index in text.indices {
            count += text[index].utf8.count
            if count > limit { break }
            end = text.index(after: index)
        }
        if end > text.startIndex { return String(text[..<end]) }
        var scalars = String.UnicodeScalarView()
        count = 0
        for scalar in text.unicodeScalars {
            count += UTF8.width(scalar)
            if count > limit { break }
            scalars.append(scalar)
        }
        return String(scalars)
    }

    /// The text without leading dots, and without white space at either end.
    static func trimmed(_ text: String) -> String {
        if hasPlainEnds(text), text.utf8.first != UInt8(ascii: ".") { return text }
        var rest = text.unicodeScalars[...]
        // By scalar: a dot under a combining accent is another character to Swift, but a leading dot to the kernel.
        while let first = rest.first, first.properties.isWhitespace || first == "." { rest.removeFirst() }
        while let last = rest.last, last.properties.isWhitespace { rest.removeLast() }
        return String(rest)
    }

    /// The text without white space at either end.
    static func trimmedSpace(_ text: String) -> String {
        if hasPlainEnds(text) { return text }
        var rest = Substring(text)
        while let first = rest.first, first.isWhitespace { rest.removeFirst() }
        while let last = rest.last, last.isWhitespace { rest.removeLast() }
        return String(rest)
    }

    /// Whether a text begins and ends with printable ASCII that is no space, as nearly all do.
    private static func hasPlainEnds(_ text: String) -> Bool {
        guard let first = text.utf8.first, let last = text.utf8.last else { return true }
        return first > 0x20 && first < 0x7F && last > 0x20 && last < 0x7F
    }

    /// The text in Unicode's Normalization Form C.
    static func normalized(_ text: String) -> String {
        text.utf8.allSatisfy { $0 < 0x80 } ? text : text.precomposedStringWithCanonicalMapping
    }

    /// The text as two names are compared: names that a case-insensitive system (SMB, exFAT) takes for one are equal.
    ///
    /// Upper case, then lower: that also makes `ß` and `SS`, and the two small sigmas, equal. Lower case before it, for
    /// the one capital that upper case leaves alone although its small form becomes two letters: `ẞ` (U+1E9E).
    package static func folded(_ name: String) -> String {
        if name.utf8.allSatisfy({ $0 < 0x80 }) { return name.lowercased() }
        return normalized(name.lowercased().uppercased().lowercased())
    }

    /// The name without its last extension: what an episode and the files beside it have in common.
    package static func stem(ofFile name: String) -> String {
        guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot > name.startIndex else { return name }
        return String(name[..<dot])
    }

    /// What follows the last dot of a file name, without the dot; empty when there is none.
    package static func fileExtension(of name: String) -> String {
        guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot > name.startIndex else { return "" }
        return String(name[name.utf8.index(after: dot)...])
    }

    /// Why a name that a user chose cannot be used, or `nil` when it can.
    ///
    /// A name that a user typed is never changed silently: it is taken as it is or refused.
    package static func objection(to stem: String) -> String? {
        if stem.isEmpty { return "it is empty" }
        if stem.utf8.first == UInt8(ascii: ".") { return "it begins with a dot" }
        if stem.utf8.contains(UInt8(ascii: "/")) { return "it contains a slash" }
        if stem.unicodeScalars.contains(where: isForbidden) { return "it contains a control character" }
        // By scalar, as `trimmed` does: to Swift a space under a combining accent is white space, too.
        if stem.unicodeScalars.first?.properties.isWhitespace == true { return "it begins with a space" }
        if stem.unicodeScalars.last?.properties.isWhitespace == true { return "it ends with a space" }
        if normalized(stem).utf8.count > stemLimit { return "it is longer than \(stemLimit) bytes" }
        return nil
    }
}
