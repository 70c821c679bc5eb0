/// A collector of the text of one element at a time.
struct TextCollector: ~Copyable {
    private(set) var buffer = ByteBuffer(capacity: Self.capacity)
    /// The memory in bytes that is retained for the next element; few elements need more.
    private static let capacity = 1 << 16
    /// The index in ``ElementStack`` of the element whose text is collected; `nil` if there is none.
    private(set) var elementIndex: Int?
    /// The maximum size of the text in bytes.
    private(set) var limit = 0
    /// Whether the text exceeds the limit and is truncated. From then on, only end tags are appended.
    private(set) var isCut = false
    private(set) var kind = FeedElement.Text.line
    var isHTML: Bool { kind == .html }
    /// Whether the text is plain, although it is collected as HTML.
    private(set) var isPlain = false
    /// The names of the open elements inside the text, outermost first. The name of an element whose tags are not part
    /// of the text is an empty string.
    private var tags: [String] = []

    mutating func begin(at elementIndex: Int, _ kind: FeedElement.Text, isPlain: Bool, limits: FeedLimits) {
        self.elementIndex = elementIndex
        self.kind = kind
        self.isPlain = isPlain
        limit = limits.size(of: kind)
        isCut = false
        buffer.removeAll(keeping: Self.capacity)
    }

    /// Stops collecting. The text remains in `buffer` until the next `begin`.
    mutating func end() { elementIndex = nil }

    /// Appends text, up to the limit.
    ///
    /// - Parameter isMarkup: Whether the characters `&` and `<`, which the scanner has decoded, are markup. They are
    ///   not in plain text, nor inside a child element, whose own tags are appended as markup.
    mutating func append(_ bytes: FeedBytes, isMarkup: Bool) {
        if bytes.isEmpty { return }
        let room = limit - buffer.count
        guard room > 0, !isCut else {
            isCut = true
            return
        }
        let part = UTF8Cleaner.prefix(bytes, room)
        isCut = part.count < bytes.count
        if isMarkup { buffer.append(part) } else { buffer.append(FeedValues.escaped(part)) }
    }

    // MARK: Markup

    /// Processes a start tag inside the text.
    ///
    /// - Returns: Whether the element is now open; `false` if `isVoid`.
    mutating func startTag(_ local: FeedBytes, _ attributes: FeedAttributes) -> Bool {
        isCut = isCut || isHTML && buffer.count >= limit
        let isMarkup = isHTML && !isCut
        if isMarkup {
            buffer.append(UInt8(ascii: "<"))
            buffer.append(local)
            for attribute in attributes.list where !attribute.name.starts(with: "xmlns".utf8) {
                buffer.append(UInt8(ascii: " "))
                buffer.append(attribute.name)
                buffer.append("=\"".utf8)
                buffer.append(FeedValues.escaped(attribute.value))
                buffer.append(UInt8(ascii: "\""))
            }
            buffer.append(UInt8(ascii: ">"))
        }
        if isVoid(local) { return false }
        tags.append(isMarkup ? String(decoding: local, as: UTF8.self) : "")
        return true
    }

    /// Processes the end of the innermost element inside the text.
    mutating func endTag() {
        let name = tags.popLast() ?? ""
        if !name.isEmpty { buffer.append("</\(name)>".utf8) }
    }

    /// Whether text is collected as HTML and the element has no end tag in HTML.
    func isVoid(_ local: FeedBytes) -> Bool {
        isHTML && Self.voidElements.contains(String(decoding: local, as: UTF8.self).lowercased())
    }

    /// HTML's void elements, which have no content and no end tag.
    private static let voidElements: Set<String> = [
        "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr",
    ]
}

extension FeedLimits {
    /// Returns the maximum size in bytes of a text.
    func size(of kind: FeedElement.Text) -> Int {
        switch kind {
        case .line: line
        case .html: text
        case .url: url
        }
    }
}
