/// A parser of start tags that decodes attribute values.
struct TagReader: ~Copyable {
    /// The qualified name, in the scanner's buffer.
    private(set) var name = FeedBytes(start: nil, count: 0)
    /// Whether the tag ends in `/>`.
    private(set) var isEmptyElement = false
    /// The diagnostics of the last tag.
    private(set) var mistakes: [String] = []
    /// The attributes of the last tag, in manually allocated memory to which ``list`` points.
    private let attributes = UnsafeMutableBufferPointer<FeedAttributes.Attribute>.allocate(capacity: attributeLimit)
    private var count = 0
    /// The decoded values that differ from the document's bytes.
    private var decoded = ByteBuffer(capacity: decodedCapacity)
    private static let decodedCapacity = 4096
    /// Maximum number of attributes per tag; the rest is ignored. No real tag has as many.
    private static let attributeLimit = 256

    deinit { attributes.deallocate() }

    /// Returns whether a byte may start a name: letters, `_`, `:` and all beyond ASCII (XML 1.0, section 2.3,
    /// simplified).
    @inline(__always)
    static func beginsName(_ byte: UInt8) -> Bool {
        byte.isLetter || byte >= 0x80 || byte == UInt8(ascii: "_") || byte == UInt8(ascii: ":")
    }

    /// Returns whether a byte continues a name.
    @inline(__always)
    static func continuesName(_ byte: UInt8) -> Bool {
        !byte.isXMLSpace && byte != UInt8(ascii: ">") && byte != UInt8(ascii: "/") && byte != UInt8(ascii: "<")
    }

    /// The attributes of the last tag; valid until the next tag is read.
    var list: FeedAttributes { FeedAttributes(list: UnsafeBufferPointer(rebasing: attributes[..<count])) }

    /// Decodes the values of the last tag: replaces references, and each line break or tab by a space (XML 1.0, section
    /// 3.3.3).
    mutating func decodeValues() {
        guard let first = attributes[..<count].firstIndex(where: { Self.needsDecoding($0.value) }) else { return }
        // Twice the size of the values, since decoding at most doubles a reference. So the memory does not move again.
        decoded.reserve(attributes[first..<count].reduce(0) { $0 + 2 * $1.value.count })
        for index in first..<count where Self.needsDecoding(attributes[index].value) {
            let value = attributes[index].value
            let start = decoded.count
            var position = 0
            while position < value.count {
                if value[position] == UInt8(ascii: "&") {
                    position += decodeReference(FeedBytes(rebasing: value[position...]))
                } else {
                    decoded.append(value[position].isXMLSpace ? 0x20 : value[position])
                    position += 1
                }
            }
            attributes[index].value = FeedBytes(rebasing: decoded.contents[start...])
        }
    }

    private static func needsDecoding(_ value: FeedBytes) -> Bool {
        value.contains { $0 == UInt8(ascii: "&") || $0 == 0x0A || $0 == 0x09 }
    }

    /// Decodes the reference at the start of `rest`.
    ///
    /// - Returns: The number of bytes consumed.
    private mutating func decodeReference(_ rest: FeedBytes) -> Int {
        let reference = CharacterReference(rest, isFinal: true)
        let source = FeedBytes(rebasing: rest[..<reference.length])
        if let message = reference.diagnostic(source) { diagnose(message) }
        if reference.isText {
            decoded.append(source)
        } else {
            reference.withUTF8 { decoded.append($0) }
        }
        return reference.length
    }

    /// Parses a start tag. A `<` ends it, except in a quoted value.
    ///
    /// - Parameters:
    ///   - start: The position of the `<`.
    ///   - isFinal: Whether the tag must end before `end`: because `end` is the end of the document, or because a tag
    ///     that reaches `end` is too long.
    /// - Returns: The position after the tag; `nil` if the tag is incomplete.
    mutating func read(from start: BytePosition, to end: BytePosition, isFinal: Bool) -> BytePosition? {
        count = 0
        decoded.removeAll(keeping: Self.decodedCapacity)
        mistakes.removeAll(keepingCapacity: true)
        isEmptyElement = false
        var position = start + 1
        while position < end, Self.continuesName(position.pointee) { position += 1 }
        name = FeedBytes(start: start + 1, count: position - start - 1)
        while position < end {
            switch position.pointee {
            case UInt8(ascii: ">"): return position + 1
            case UInt8(ascii: "<"):
                diagnose("a tag is not closed before the next begins")
                return position
            case UInt8(ascii: "/"):
                isEmptyElement = true
                position += 1
            case 0x20, 0x0A, 0x09, 0x0D: position += 1
            default:
                isEmptyElement = false
                guard let next = readAttribute(from: position, to: end, tag: start, isFinal: isFinal) else {
                    return nil
                }
                position = next
            }
        }
        return nil
    }

    /// Parses an attribute.
    ///
    /// - Returns: The position after it; `nil` if it is incomplete.
    private mutating func readAttribute(
        from start: BytePosition, to end: BytePosition, tag: BytePosition, isFinal: Bool
    ) -> BytePosition? {
        var position = start
        // A slash belongs to the name unless the tag ends after it.
        while position < end,
            Self.continuesName(position.pointee) || (position.pointee == UInt8(ascii: "/") && position > start),
            position.pointee != UInt8(ascii: "=")
        {
            if position.pointee == UInt8(ascii: "/"), position + 1 == end || position[1] == UInt8(ascii: ">") { break }
            position += 1
        }
        let name = FeedBytes(start: start, count: position - start)
        while position < end, position.pointee.isXMLSpace { position += 1 }
        guard position < end else { return nil }
        // A name without a value is skipped.
        guard position.pointee == UInt8(ascii: "=") else { return position > start ? position : position + 1 }
        position += 1
        while position < end, position.pointee.isXMLSpace { position += 1 }
        guard position < end else { return nil }
        let quote = position.pointee
        guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
            let stop = Self.endOfBareValue(from: position, to: end)
            guard stop < end else { return nil }
            diagnose("the value of an attribute has no quotes")
            add(name, FeedBytes(start: position, count: stop - position))
            return stop
        }
        position += 1
        guard let close = position.firstOccurrence(of: quote, before: end) else {
            // The value may continue in the next piece. If the tag must end before `end`, the value is unterminated,
            // and the next tag starts at the first `<` in it.
            let open = isFinal ? position.firstOccurrence(of: UInt8(ascii: "<"), before: end) : nil
            if open != nil { diagnose("the value of an attribute has no end") }
            return open
        }
        if let open = position.firstOccurrence(of: UInt8(ascii: "<"), before: close) {
            guard close + 1 < end else { return isFinal ? open : nil }
            // If a word follows the quote, the quote does not close this value: the value is unterminated, and the
            // quote belongs to later text.
            let follower = close[1]
            guard follower.isXMLSpace || follower == UInt8(ascii: ">") || follower == UInt8(ascii: "/") else {
                diagnose("the value of an attribute has no end")
                return open
            }
            diagnose("the value of an attribute contains a “<”")
        }
        add(name, FeedBytes(start: position, count: close - position))
        return close + 1
    }

    /// Returns the end of an unquoted value: white space, the end of the tag, or the `<` of the next one.
    private static func endOfBareValue(from start: BytePosition, to end: BytePosition) -> BytePosition {
        var position = start
        while position < end, !position.pointee.isXMLSpace, position.pointee != UInt8(ascii: ">"),
            position.pointee != UInt8(ascii: "<")
        {
            if position.pointee == UInt8(ascii: "/"), position + 1 < end, position[1] == UInt8(ascii: ">") { break }
            position += 1
        }
        return position
    }

    /// Maximum number of mistakes reported per tag.
    private static let mistakeLimit = 20

    private mutating func diagnose(_ message: String) {
        if mistakes.count < Self.mistakeLimit { mistakes.append(message) }
    }

    private mutating func add(_ name: FeedBytes, _ value: FeedBytes) {
        guard count < attributes.count else { return }
        attributes.initializeElement(at: count, to: FeedAttributes.Attribute(name: name, value: value))
        count += 1
    }
}
