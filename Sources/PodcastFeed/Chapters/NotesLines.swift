/// The lines of show notes as a reader sees them: separated by HTML's blocks and line breaks, and by the line ends of
/// plain text.
package enum NotesLines {
    /// The elements that begin and end a line.
    private static let breaks: Set<String> = [
        "address", "article", "blockquote", "br", "dd", "div", "dl", "dt", "h1", "h2", "h3", "h4", "h5", "h6", "hr",
        "li", "ol", "p", "pre", "section", "table", "tr", "ul",
    ]

    /// Returns the lines that are not blank. Comments, hidden elements and tags are removed, character references are
    /// replaced, and white space is collapsed.
    ///
    /// - Parameter limit: The maximum number of bytes read.
    package static func lines(of notes: String, limit: Int) -> [String] {
        var lines: [String] = []
        var line: [UInt8] = []
        func endLine() {
            defer { line.removeAll(keepingCapacity: true) }
            let bytes = CharacterReferences.mayOccur(in: line) ? CharacterReferences.replaced(in: line) : line
            let words = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace)
            if !words.isEmpty { lines.append(words.joined(separator: " ")) }
        }
        for token in HTMLTokens(notes.utf8.prefix(limit)) {
            switch token {
            case .text(let text):
                for byte in text { if byte == 0x0A || byte == 0x0D { endLine() } else { line.append(byte) } }
            case .tag(let name, _):
                let element = String(name.drop { $0 == "/" })
                if breaks.contains(element) { endLine() } else if ["td", "th"].contains(element) { line.append(0x20) }
            }
        }
        endLine()
        return lines
    }
}
