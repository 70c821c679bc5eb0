/// A start tag read again from the document's own bytes.
///
/// libxml2 drops a bare `&` and the name after it from an attribute and gives up at a value without quotes. For media
/// URLs with a query that is the difference between an episode and an error; so tags with such a mistake, and only
/// those, are read a second time with HTML's leniency.
final class RawStartTag {
    /// The values are valid as long as the tag.
    private(set) var attributes: [(name: String, value: FeedBytes)] = []
    /// Whether the tag ends in `/>`.
    private(set) var isEmptyElement = false

    /// - Parameters:
    ///   - name: The local name of the element.
    ///   - cursor: Where the parser stands in or behind the tag.
    ///   - range: The bytes that may be looked at.
    /// - Returns: `nil` when the tag does not begin within the range.
    init?(named name: UnsafePointer<UInt8>, at cursor: UnsafePointer<UInt8>, in range: Range<UnsafePointer<UInt8>>) {
        var local: [UInt8] = []
        var letter = name
        while letter.pointee != 0 {
            local.append(letter.pointee)
            letter += 1
        }
        var start = cursor
        while true {
            guard start > range.lowerBound else { return nil }
            start -= 1
            guard start.pointee == UInt8(ascii: "<") else { continue }
            let rest = UnsafeBufferPointer(start: start + 1, count: range.upperBound - start - 1)
            let tagName = rest.prefix { !$0.isXMLSpace && $0 != UInt8(ascii: ">") && $0 != UInt8(ascii: "/") }
            if tagName.split(separator: UInt8(ascii: ":")).last?.elementsEqual(local) == true {
                read(UnsafeBufferPointer(rebasing: rest[tagName.endIndex...]))
                return
            }
        }
    }

    deinit {
        for attribute in attributes { attribute.value.deallocate() }
    }

    private func read(_ bytes: UnsafeBufferPointer<UInt8>) {
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            if byte == UInt8(ascii: ">") { return }
            if byte.isXMLSpace || byte == UInt8(ascii: "/") {
                isEmptyElement = byte == UInt8(ascii: "/")
                index += 1
                continue
            }
            isEmptyElement = false
            let nameStart = index
            while index < bytes.count, !bytes[index].isXMLSpace, bytes[index] != UInt8(ascii: "="),
                bytes[index] != UInt8(ascii: ">")
            {
                index += 1
            }
            let name = String(decoding: bytes[nameStart..<index], as: UTF8.self)
            while index < bytes.count, bytes[index].isXMLSpace { index += 1 }
            guard index < bytes.count, bytes[index] == UInt8(ascii: "=") else { continue }
            index += 1
            while index < bytes.count, bytes[index].isXMLSpace { index += 1 }
            guard index < bytes.count else { return }
            // What the end of the document cut is no value: half a URL is a wrong one.
            guard let value = readValue(bytes, &index) else { return }
            let replaced = CharacterReferences.replaced(in: value)
            let memory = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: replaced.count)
            _ = memory.initialize(from: replaced)
            attributes.append((name, FeedBytes(memory)))
        }
    }

    private func readValue(_ bytes: UnsafeBufferPointer<UInt8>, _ index: inout Int) -> ArraySlice<UInt8>? {
        let quote = bytes[index]
        let start: Int
        let end: Int
        if quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") {
            start = index + 1
            guard let close = bytes[start...].firstIndex(of: quote) else { return nil }
            end = close
            index = end + 1
        } else {
            start = index
            guard var stop = bytes[start...].firstIndex(where: { $0.isXMLSpace || $0 == UInt8(ascii: ">") }) else {
                return nil
            }
            index = stop
            if bytes[stop] == UInt8(ascii: ">"), stop > start, bytes[stop - 1] == UInt8(ascii: "/") {
                stop -= 1
                index = stop
            }
            end = stop
        }
        return Array(bytes[start..<end])[...]
    }
}

/// `&amp;`, `&#38;`, `&#x26;` and HTML's names, in text that was not read by an XML parser.
enum CharacterReferences {
    /// Whether a reference may stand in the text: the beginning of one, and an end behind it.
    static func mayStand(in bytes: some Collection<UInt8>) -> Bool {
        guard let ampersand = bytes.firstIndex(of: UInt8(ascii: "&")) else { return false }
        return bytes[ampersand...].contains(UInt8(ascii: ";"))
    }

    /// The text with its references replaced once; an `&` that begins none stays.
    static func replaced(in bytes: some Collection<UInt8>) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        var rest = bytes[...]
        while let ampersand = rest.firstIndex(of: UInt8(ascii: "&")) {
            output.append(contentsOf: rest[..<ampersand])
            rest = rest[ampersand...]
            // The longest name, `thetasym`, has eight letters; the longest number is `#x10FFFF`.
            let window = rest.dropFirst().prefix(10)
            if let end = window.firstIndex(of: UInt8(ascii: ";")), let scalar = scalar(window[..<end]) {
                output.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
                rest = rest[rest.index(after: end)...]
            } else {
                output.append(UInt8(ascii: "&"))
                rest = rest.dropFirst()
            }
        }
        output.append(contentsOf: rest)
        return output
    }

    /// The character that `name`, `#39` or `#x27` stands for.
    private static func scalar(_ reference: some Collection<UInt8>) -> Unicode.Scalar? {
        let text = String(decoding: reference, as: UTF8.self)
        guard text.hasPrefix("#") else { return HTMLEntities.character(text) }
        let isHexadecimal = text.hasPrefix("#x") || text.hasPrefix("#X")
        guard let number = UInt32(text.dropFirst(isHexadecimal ? 2 : 1), radix: isHexadecimal ? 16 : 10),
            let scalar = Unicode.Scalar(number), number >= 0x20 || number == 9 || number == 10
        else { return nil }
        return scalar
    }
}
