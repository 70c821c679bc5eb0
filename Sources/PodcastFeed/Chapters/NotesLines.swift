/// The lines of show notes as a reader sees them: separated by HTML's blocks and line breaks, and by the line ends of
/// plain text.
package enum NotesLines {
    /// The elements that begin and end a line.
    private static let breaks: Set<String> = [
        "address", "article", "blockquote", "br", "dd", "div", "dl", "dt", "h1", "h2", "h3", "h4", "h5", "h6", "hr",
        "li", "ol", "p", "pre", "section", "table", "tr", "ul",
    ]

    /// Returns the lines that are not blank. Tags are removed, character references are replaced, and white space is
    /// collapsed.
    ///
    /// - Parameter limit: The maximum number of bytes read.
    package static func lines(of notes: String, limit: Int) -> [String] {
        let bytes = Array(notes.utf8.prefix(limit))
        // No tag starts after the last `>`. If each `<` there began a search for the end of a tag, text with many `<`
        // would take quadratic time.
        let lastEnd = bytes.lastIndex(of: UInt8(ascii: ">")) ?? -1
        var lines: [String] = []
        var line: [UInt8] = []
        func endLine() {
            defer { line.removeAll(keepingCapacity: true) }
            let text =
                CharacterReferences.mayOccur(in: line)
                ? String(decoding: CharacterReferences.replaced(in: line), as: UTF8.self)
                : String(decoding: line, as: UTF8.self)
            let words = text.split(whereSeparator: \.isWhitespace)
            if !words.isEmpty { lines.append(words.joined(separator: " ")) }
        }
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            if byte == UInt8(ascii: "<"), index < lastEnd, let (end, name) = tag(in: bytes, at: index) {
                if breaks.contains(name) { endLine() } else if name == "td" || name == "th" { line.append(0x20) }
                index = end
                continue
            }
            if byte == 0x0A || byte == 0x0D { endLine() } else { line.append(byte) }
            index += 1
        }
        endLine()
        return lines
    }

    /// Returns the index after the tag or comment that starts here, and its name in lower case; `nil` if there is none.
    private static func tag(in bytes: [UInt8], at start: Int) -> (end: Int, name: String)? {
        var index = start + 1
        if index < bytes.count, bytes[index] == UInt8(ascii: "/") { index += 1 }
        let nameStart = index
        while index < bytes.count, bytes[index].isLetter || bytes[index].isDigit, index - nameStart < 12 { index += 1 }
        let isComment = index < bytes.count && bytes[index] == UInt8(ascii: "!")
        guard index > nameStart && bytes[nameStart].isLetter || isComment,
            let end = bytes[index...].firstIndex(of: UInt8(ascii: ">"))
        else { return nil }
        return (end + 1, String(decoding: bytes[nameStart..<index], as: UTF8.self).lowercased())
    }
}
