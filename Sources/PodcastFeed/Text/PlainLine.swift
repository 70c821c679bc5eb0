/// Removal of HTML tags from titles and of mail addresses from names.
enum PlainLine {
    /// Returns the line without the HTML tags that publishers put into titles; `nil` if nothing is left. `a < b` and
    /// unknown tags stay.
    static func withoutTags(_ line: String) -> String? {
        guard line.utf8.contains(UInt8(ascii: "<")) else { return line }
        let bytes = Array(line.utf8)
        // After the last `>`, no tag can end. If each `<` there started a search for `>`, the time would be quadratic.
        let lastEnd = bytes.lastIndex(of: UInt8(ascii: ">")) ?? 0
        var output: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "<"), index < lastEnd, let (end, name) = tag(in: bytes, at: index) {
                // A block or line break separates words; an inline element may be inside a word.
                if blocks.contains(name), let last = output.last, last != 0x20 { output.append(0x20) }
                index = end
            } else {
                output.append(bytes[index])
                index += 1
            }
        }
        return FeedValues.line(output, replacingReferences: false)
    }

    /// Returns the index after the tag that starts at `start`, and its name in lower case; `nil` if no known tag starts
    /// there.
    private static func tag(in bytes: [UInt8], at start: Int) -> (end: Int, name: String)? {
        var index = start + 1
        if index < bytes.count, bytes[index] == UInt8(ascii: "/") { index += 1 }
        let nameStart = index
        while index < bytes.count, bytes[index].isLetter || bytes[index].isDigit, index - nameStart < 12 { index += 1 }
        let name = String(decoding: bytes[nameStart..<index], as: UTF8.self).lowercased()
        guard index < bytes.count, inlines.contains(name) || blocks.contains(name),
            bytes[index] == UInt8(ascii: ">") || bytes[index] == UInt8(ascii: "/") || bytes[index].isXMLSpace,
            let end = bytes[index...].firstIndex(of: UInt8(ascii: ">"))
        else { return nil }
        return (end + 1, name)
    }

    private static let inlines: Set<String> = [
        "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "del", "dfn", "em", "font", "i", "img", "ins",
        "kbd", "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "tt", "u", "var", "wbr",
    ]

    private static let blocks: Set<String> = [
        "blockquote", "br", "center", "div", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "ul",
    ]

    /// Returns the name in `mail (Name)`, which RSS specifies, `Name (mail)` or `Name <mail>`; the text itself if it
    /// contains no name.
    static func person(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "@")) else { return text }
        var rest = ""
        var index = text.startIndex
        while index < text.endIndex {
            let open = text[index]
            if open == "<" || open == "(" {
                let close: Character = open == "<" ? ">" : ")"
                // Another bracket of this kind ends the search, so that the time stays linear.
                let inside = text[text.index(after: index)...].prefix { $0 != close && $0 != open }
                if inside.contains("@"), !inside.contains(" "), text[inside.endIndex...].first == close {
                    index = text.index(after: inside.endIndex)
                    continue
                }
            }
            rest.append(open)
            index = text.index(after: index)
        }
        // `mail (Name)`.
        if rest.hasSuffix(")"), let open = rest.firstIndex(of: "("), rest[..<open].contains("@"),
            !rest[..<open].dropLast().contains(" ")
        {
            rest = String(rest[rest.index(after: open)...].dropLast())
        }
        let name = rest.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            .replacing(" ,", with: ",")
        let isQuoted = name.count > 2 && name.hasPrefix("\"") && name.hasSuffix("\"")
        return name.isEmpty ? text : isQuoted ? String(name.dropFirst().dropLast()) : name
    }
}

extension String {
    /// Returns the text with every occurrence of `old` replaced, also one before a combining character.
    ///
    /// `replacing(_:with:)` of the standard library compares grapheme clusters: it finds no apostrophe in
    /// `"'\u{301}"`. Shells and parsers read bytes or scalars, so text for them is escaped with this method.
    package func replacingScalars(_ old: String, with new: String) -> String {
        let old = Array(old.utf8)
        guard let first = old.first, utf8.contains(first) else { return self }
        // In UTF-8, the bytes of one text are found in another only where its scalars are.
        let text = Array(utf8)
        var result: [UInt8] = []
        result.reserveCapacity(text.count + text.count / 8)
        var index = 0
        while index < text.count {
            if text[index] == first, text[index...].starts(with: old) {
                result += new.utf8
                index += old.count
            } else {
                result.append(text[index])
                index += 1
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}
