internal import Platform

/// A builder of XML 1.0 text in UTF-8.
package struct XMLText: Sendable {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    /// Writes markup unchanged.
    package mutating func write(_ markup: String) { bytes.append(contentsOf: markup.utf8) }

    /// Writes an attribute, with a space before it.
    package mutating func write(_ attribute: String, _ value: String) {
        write(" \(attribute)=\"")
        escape(value)
        write("\"")
    }

    /// Writes an element with text, unless there is no text.
    package mutating func element(_ name: String, _ text: String?, indent: String = "") {
        guard let text, !text.isEmpty else { return }
        write("\(indent)<\(name)>")
        escape(text)
        write("</\(name)>\n")
    }

    /// Writes an empty element with attributes.
    package mutating func empty(_ name: String, _ attributes: [(String, String)], indent: String = "") {
        write("\(indent)<\(name)")
        for (name, value) in attributes { write(name, value) }
        write("/>\n")
    }

    /// Escapes text for content or for an attribute in double quotes (XML 1.0, sections 2.2 and 2.4).
    package mutating func escape(_ text: String) {
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": write("&amp;")
            case "<": write("&lt;")
            // Required only after `]]`.
            case ">": write("&gt;")
            case "\"": write("&quot;")
            // Parsers read these as spaces in an attribute, and a carriage return as a line feed, unless escaped.
            case "\t", "\n", "\r": write("&#\(scalar.value);")
            // References to C1 controls are read as characters of Windows-1252, as in HTML.
            case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{FFFE}", "\u{FFFF}": break
            // A terminal that displays the file would obey it, or turn the text around it.
            case _ where PlainText.isHarmful(scalar): write("&#\(scalar.value);")
            default: bytes.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
            }
        }
    }
}
