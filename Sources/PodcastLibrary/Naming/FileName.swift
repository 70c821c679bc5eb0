import Foundation
internal import Platform

/// Conversion of any text to one path component.
///
/// Titles are untrusted: they may contain slashes, NUL, line feeds, characters that change the text direction, or
/// kilobytes of text. The result is a name that every Linux filesystem and every player accepts. Pure.
package enum FileName {
    /// The maximum number of UTF-8 bytes of a name without its extension.
    ///
    /// NAME_MAX is 255 on Linux (limits.h). The remaining 20 bytes are for the extension of the episode's file or of a
    /// sidecar file (transcript, art, notes, chapters).
    package static let stemLimit = 235

    /// The name of an episode without a title.
    package static let untitled = "Untitled"

    /// Converts text to a name: NFC, no slash, no control character, no leading dot, no white space at either end, not
    /// empty, at most `stemLimit` bytes.
    package static func stem(_ text: String) -> String {
        let name = trimmed(cut(normalized(replacing(text)), to: stemLimit))
        return name.isEmpty ? untitled : name
    }

    /// Replaces all characters that are forbidden inside a name; the result may still be too long, start with a dot or
    /// be empty.
    ///
    /// A slash becomes a hyphen, and every other forbidden character a space. Then a run of spaces becomes one space,
    /// and spaces at the ends are removed.
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

    /// Returns `text` for use in a message: each character that `isForbidden` becomes a space, nothing else changes.
    static func visible(_ text: String) -> String { PlainText.replacing(isForbidden, in: text) { _ in " " } }

    /// Whether a text needs no replacement, like most titles: printable ASCII without slashes, and single spaces
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

    /// Whether a character is forbidden in a name because it is invisible, breaks a line, or changes how the characters
    /// around it are read. Slashes are treated separately.
    static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
        // U+FEFF is the byte order mark, the others are noncharacters.
        PlainText.isControl(scalar) || [0xFEFF, 0xFFFE, 0xFFFF].contains(scalar.value)
    }

    /// Cuts the text to at most `limit` bytes of UTF-8 at the end of a grapheme cluster.
    ///
    /// If the first cluster alone is longer than the limit (a letter with many accents), it is cut between Unicode
    /// scalars.
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

    /// Removes leading dots, and white space at both ends.
    static func trimmed(_ text: String) -> String {
        if hasPlainEnds(text), text.utf8.first != UInt8(ascii: ".") { return text }
        var rest = text.unicodeScalars[...]
        // Compare scalars, not characters. A dot with a combining accent is another `Character` than a dot, but for the
        // kernel the name begins with a dot.
        while let first = rest.first, first.properties.isWhitespace || first == "." { rest.removeFirst() }
        while let last = rest.last, last.properties.isWhitespace { rest.removeLast() }
        return String(rest)
    }

    /// Removes white space at both ends.
    static func trimmedSpace(_ text: String) -> String {
        hasPlainEnds(text) ? text : text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Whether a text starts and ends with printable ASCII other than space, as nearly all texts do.
    private static func hasPlainEnds(_ text: String) -> Bool {
        guard let first = text.utf8.first, let last = text.utf8.last else { return true }
        return first > 0x20 && first < 0x7F && last > 0x20 && last < 0x7F
    }

    /// Converts the text to Unicode's Normalization Form C.
    static func normalized(_ text: String) -> String {
        text.utf8.allSatisfy { $0 < 0x80 } ? text : text.precomposedStringWithCanonicalMapping
    }

    /// Folds a name for comparison: names that a case-insensitive filesystem (SMB, exFAT) treats as equal become equal.
    ///
    /// Converts to lower, upper and lower case. The last two steps equate `ß` and `SS`, and the two small sigmas. The
    /// first step is for `ẞ` (U+1E9E), which upper-casing leaves unchanged.
    package static func folded(_ name: String) -> String {
        if name.utf8.allSatisfy({ $0 < 0x80 }) { return name.lowercased() }
        return normalized(name.lowercased().uppercased().lowercased())
    }

    /// Returns the name without its last extension: the part that an episode's file and its sidecar files share.
    package static func stem(ofFile name: String) -> String {
        guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot > name.startIndex else { return name }
        return String(name[..<dot])
    }

    /// Returns the text after the last dot of a file name; empty if there is none.
    package static func fileExtension(of name: String) -> String {
        guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot > name.startIndex else { return "" }
        return String(name[name.utf8.index(after: dot)...])
    }

    /// Returns the reason why a name chosen by a user is not allowed; `nil` if it is allowed.
    ///
    /// Apart from normalization to NFC, a name typed by a user is never changed silently. It is used as it is or
    /// rejected.
    package static func objection(to stem: String) -> String? {
        if stem.isEmpty { return "it is empty" }
        if stem.utf8.first == UInt8(ascii: ".") { return "it begins with a dot" }
        if stem.utf8.contains(UInt8(ascii: "/")) { return "it contains a slash" }
        if stem.unicodeScalars.contains(where: isForbidden) { return "it contains a control character" }
        // Compare scalars, as `trimmed` does: a space with a combining accent is a `Character` that counts as white
        // space.
        if stem.unicodeScalars.first?.properties.isWhitespace == true { return "it begins with a space" }
        if stem.unicodeScalars.last?.properties.isWhitespace == true { return "it ends with a space" }
        if normalized(stem).utf8.count > stemLimit { return "it is longer than \(stemLimit) bytes" }
        return nil
    }
}

// Names for filesystems and systems with stricter rules than Linux: FAT, exFAT, NTFS, Windows, Samba.
extension FileName {
    /// Converts a stem, a file name without its extension (see `stem(_:)`), to one that Windows, Samba, FAT and exFAT
    /// accept.
    ///
    /// Replaces or removes `: * ? " < > \ |`, removes trailing dots and spaces, and changes the names of devices
    /// (`CON`, `NUL`), which are reserved with any extension.
    package static func portable(_ stem: String) -> String {
        var result = ""
        var rest = stem.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            switch scalar {
            // A colon before a space separates a title from its subtitle.
            case ":": result += rest.first == " " || rest.isEmpty ? " -" : "-"
            case "\\", "|": result += "-"
            case "\"": result += "'"
            case "<": result += "("
            case ">": result += ")"
            case "*", "?": break
            default: result.unicodeScalars.append(scalar)
            }
        }
        // Leave one byte for the underscore that may be added after a device's name.
        var name = cut(trimmed(replacing(result)), to: stemLimit - 1)
        while let last = name.unicodeScalars.last, last == "." || last.properties.isWhitespace {
            name.unicodeScalars.removeLast()
        }
        name = trimmed(name)
        if name.isEmpty { return untitled }
        let base = name.prefix { $0 != "." }
        return isDevice(trimmedSpace(String(base))) ? "\(base)_\(name.dropFirst(base.count))" : name
    }

    /// Whether a name without extension is a device's name in Windows.
    private static func isDevice(_ name: String) -> Bool {
        let name = name.uppercased()
        if ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"].contains(name) { return true }
        guard name.hasPrefix("COM") || name.hasPrefix("LPT"), name.count == 4, let last = name.last else {
            return false
        }
        return "0123456789\u{B9}\u{B2}\u{B3}".contains(last)
    }
}
