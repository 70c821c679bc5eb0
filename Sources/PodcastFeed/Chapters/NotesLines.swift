/// The lines of show notes as a reader sees them: separated by HTML's blocks and line breaks, and by the line ends of
/// plain text.
package enum NotesLines {
    /// The elements that begin and end a line.
    private static let breaks: Set<String> = [
        "address", "article", "blockquote", "br", "dd", "div", "dl", "dt", "h1", "h2", "h3", "h4", "h5", "h6", "hr",
        "li", "ol", "p", "pre", "section", "table", "tr", "ul",
    ]

    /// The elements that are not displayed and whose content is text only.
    private static let hidden: Set<String> = ["script", "style", "title", "textarea", "xmp", "noframes", "iframe"]

    /// Returns the lines that are not blank. Comments, hidden elements and tags are removed, character references are
    /// replaced, and white space is collapsed.
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
                if bytes[index + 1] != UInt8(ascii: "/"), hidden.contains(name) {
                    index = endTag(of: name, in: bytes, from: end)
                    continue
                }
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
        let isDeclaration = index < bytes.count && bytes[index] == UInt8(ascii: "!")
        if isDeclaration, bytes[index...].starts(with: "!--".utf8) {
            // Also the end of `<!-->` and `<!--->`. A comment without an end continues to the end of the text.
            var end = index + 3
            while end < bytes.count,
                bytes[end] != UInt8(ascii: ">") || bytes[end - 1] != UInt8(ascii: "-")
                    || bytes[end - 2] != UInt8(ascii: "-")
            { end += 1 }
            return (min(end + 1, bytes.count), "")
        }
        guard index > nameStart && bytes[nameStart].isLetter || isDeclaration,
            let end = bytes[index...].firstIndex(of: UInt8(ascii: ">"))
        else { return nil }
        return (end + 1, String(decoding: bytes[nameStart..<index], as: UTF8.self).lowercased())
    }

    /// Returns the index of an element's end tag, or of the end of the text if there is none.
    private static func endTag(of name: String, in bytes: [UInt8], from start: Int) -> Int {
        var index = start
        while let next = bytes[index...].firstIndex(of: UInt8(ascii: "<")) {
            let tag = bytes[next...].dropFirst().prefix(1 + name.utf8.count)
            if tag.elementsEqual("/\(name)".utf8, by: { $0 == $1 || $0.isLetter && $0 | 0x20 == $1 }) { return next }
            index = next + 1
        }
        return bytes.endIndex
    }
}
