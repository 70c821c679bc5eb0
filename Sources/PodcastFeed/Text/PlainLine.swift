/// Removal of HTML tags from titles and of mail addresses from names.
enum PlainLine {
    /// Returns the line without the HTML tags that publishers put into titles; `nil` if nothing is left. `a < b` and
    /// unknown tags stay.
    static func withoutTags(_ line: String) -> String? {
        guard line.utf8.contains(UInt8(ascii: "<")) else { return line }
        var output: [UInt8] = []
        for token in HTMLTokens(line.utf8) {
            switch token {
            case .text(let text): output += text
            case .tag(let name, let source):
                let element = name.hasPrefix("/") ? String(name.dropFirst()) : name
                // A block or line break separates words; an inline element may be inside a word.
                if blocks.contains(element) {
                    output.append(0x20)
                } else if !inlines.contains(element) {
                    output += source
                }
            }
        }
        return FeedValues.line(output, replacingReferences: false)
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
