/// HTML as a sequence of tags and the texts between them, for texts that are shown without markup. `SanitizedHTML` of
/// `PodcastPages` reads what is shown as HTML.
///
/// The time is linear: a `<` after the last `>` starts no tag.
struct HTMLTokens: Sequence, IteratorProtocol {
    enum Token {
        case text(ArraySlice<UInt8>)
        /// A tag's name in lower case (`p`, `/p`, or `!--` for a comment), and its source. The source of an element
        /// that is not displayed and whose content is text only includes that content.
        case tag(String, ArraySlice<UInt8>)
    }

    private static let hidden: Set<String> = ["script", "style", "title", "textarea", "xmp", "noframes", "iframe"]

    private var rest: ArraySlice<UInt8>
    private let lastEnd: Int

    init(_ html: some Collection<UInt8>) {
        rest = Array(html)[...]
        lastEnd = rest.lastIndex(of: UInt8(ascii: ">")) ?? -1
    }

    mutating func next() -> Token? {
        guard let first = rest.first else { return nil }
        if first == UInt8(ascii: "<"), rest.startIndex < lastEnd, let (name, end) = tag {
            defer { rest = rest[end...] }
            return .tag(name, rest[..<end])
        }
        let end = rest.dropFirst().firstIndex(of: UInt8(ascii: "<")) ?? rest.endIndex
        defer { rest = rest[end...] }
        return .text(rest[..<end])
    }

    /// The name of the tag or comment that starts here, and the index after it; `nil` if there is none.
    private var tag: (name: String, end: Int)? {
        let inside = rest.dropFirst()
        if inside.starts(with: "!--".utf8) { return ("!--", endOfComment) }
        let isEnd = inside.first == UInt8(ascii: "/")
        guard let first = inside.dropFirst(isEnd ? 1 : 0).first,
            first.isLetter || !isEnd && (first == UInt8(ascii: "!") || first == UInt8(ascii: "?"))
        else { return nil }
        let letters = inside.dropFirst().prefix(20).prefix { TagReader.continuesName($0) }
        let name = String(decoding: inside.prefix(1) + letters, as: UTF8.self).lowercased()
        guard let end = endOfTag else { return nil }
        return (name, Self.hidden.contains(name) ? endOfContent(of: name, from: end) : end)
    }

    /// The index after the `>` that ends the tag. A `>` in a quoted value does not, unless the value has no end.
    private var endOfTag: Int? {
        var quote: UInt8?
        var hasEquals = false
        for index in rest.indices {
            switch rest[index] {
            case quote: quote = nil
            case _ where quote != nil: break
            case UInt8(ascii: ">"): return index + 1
            case UInt8(ascii: "="): hasEquals = true
            case UInt8(ascii: "\""), UInt8(ascii: "'"): if hasEquals { quote = rest[index] }
            default: break
            }
        }
        return rest.firstIndex(of: UInt8(ascii: ">")).map { $0 + 1 }
    }

    /// The index after the comment, also after `<!-->` and `<!--->`. A comment without an end continues to the end of
    /// the text.
    private var endOfComment: Int {
        var start = rest.startIndex + 4
        while let end = rest[start...].firstIndex(of: UInt8(ascii: ">")) {
            let inside = rest[(rest.startIndex + 2)..<end]
            if inside.suffix(2).elementsEqual("--".utf8) || inside.suffix(3).elementsEqual("--!".utf8) {
                return end + 1
            }
            start = end + 1
        }
        return rest.endIndex
    }

    /// Returns the index of an element's end tag, or of the end of the text if there is none.
    private func endOfContent(of name: String, from start: Int) -> Int {
        var start = start
        while let next = rest[start...].firstIndex(of: UInt8(ascii: "<")) {
            let tag = rest[next...].dropFirst()
            let isEqual = tag.prefix(1 + name.utf8.count).elementsEqual("/\(name)".utf8) {
                $0 == $1 || $0.isLetter && $0 | 0x20 == $1
            }
            if isEqual, !(tag.dropFirst(1 + name.utf8.count).first?.isLetter ?? false) { return next }
            start = next + 1
        }
        return rest.endIndex
    }
}
