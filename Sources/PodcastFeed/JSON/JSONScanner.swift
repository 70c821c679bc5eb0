/// A streaming reader of JSON (RFC 8259), so that only one item of a feed is in memory as a ``Value`` at a time.
///
/// Strict about syntax, except that unusual numbers (`01`, `.5`) and control characters in strings are accepted. Limits
/// the nesting depth and the number of stored values.
package struct JSONScanner {
    /// A JSON value.
    package enum Value {
        case null
        case bool(Bool)
        case number(Double)
        /// A string as UTF-8 with its escapes replaced.
        case string([UInt8])
        case array([Value])
        case object([(name: [UInt8], value: Value)])
    }

    /// A syntax error, or nesting beyond the limit, with the line at which scanning stopped.
    package struct Fault: Error {
        let line: Int
    }

    /// The maximum nesting depth; JSON Feeds need five.
    private static let depthLimit = 256
    /// The maximum number of stored values inside one value; further values are skipped. An item of a feed contains
    /// some twenty values.
    private static let valueLimit = 20_000

    private let bytes: [UInt8]
    private var index = 0
    /// The number of values that may still be stored inside the current value.
    private var storableValues = 0
    /// The number of open objects and arrays.
    private var depth = 0
    /// The position up to which lines have been counted, and its line.
    private var counted = (index: 0, line: 1)

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Returns the current line.
    mutating func line() -> Int {
        counted.line += bytes[counted.index..<index].count { $0 == UInt8(ascii: "\n") }
        counted.index = index
        return counted.line
    }

    private mutating func fault() -> Fault { Fault(line: line()) }

    /// Returns the next byte that is not white space, without consuming it; `nil` at the end.
    package mutating func peek() -> UInt8? {
        while index < bytes.count, bytes[index].isXMLSpace { index += 1 }
        return index < bytes.count ? bytes[index] : nil
    }

    /// Calls `body` with the name of each member of an object; `body` has to consume the value.
    package mutating func members(_ body: (inout JSONScanner, [UInt8]) throws -> Void) throws {
        try list(from: "{", to: "}") { scanner in
            guard scanner.peek() == UInt8(ascii: "\"") else { throw scanner.fault() }
            let name = try scanner.string()
            try scanner.expect(":")
            try body(&scanner, name)
        }
    }

    /// Calls `body` for each element of an array; `body` has to consume the element.
    package mutating func elements(_ body: (inout JSONScanner) throws -> Void) throws {
        try list(from: "[", to: "]", body)
    }

    /// Reads the next value.
    package mutating func value() throws -> Value {
        storableValues = Self.valueLimit
        return try next()
    }

    /// Skips the next value.
    package mutating func skip() throws {
        storableValues = 0
        _ = try next()
    }

    private mutating func next() throws -> Value {
        storableValues -= 1
        switch peek() {
        case UInt8(ascii: "{"):
            var members: [(name: [UInt8], value: Value)] = []
            try self.members { scanner, name in
                let value = try scanner.next()
                if scanner.storableValues > 0 { members.append((name, value)) }
            }
            return .object(members)
        case UInt8(ascii: "["):
            var elements: [Value] = []
            try self.elements { scanner in
                let value = try scanner.next()
                if scanner.storableValues > 0 { elements.append(value) }
            }
            return .array(elements)
        case UInt8(ascii: "\""): return try .string(string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return try number()
        }
    }

    private mutating func list(
        from open: Unicode.Scalar, to close: Unicode.Scalar, _ body: (inout JSONScanner) throws -> Void
    ) throws {
        try expect(open)
        depth += 1
        defer { depth -= 1 }
        guard depth <= Self.depthLimit else { throw fault() }
        var hasMore = peek() != UInt8(ascii: close)
        while hasMore {
            try body(&self)
            hasMore = peek() == UInt8(ascii: ",")
            if hasMore { index += 1 }
        }
        try expect(close)
    }

    private mutating func expect(_ scalar: Unicode.Scalar) throws {
        guard peek() == UInt8(ascii: scalar) else { throw fault() }
        index += 1
    }

    private mutating func word(_ text: String, _ value: Value) throws -> Value {
        guard bytes[index...].starts(with: text.utf8) else { throw fault() }
        index += text.utf8.count
        return value
    }

    private mutating func number() throws -> Value {
        let start = index
        while index < bytes.count, bytes[index].isDigit || "+-.eE".utf8.contains(bytes[index]) { index += 1 }
        guard start < index, index - start <= 400, bytes[start] != UInt8(ascii: "+"),
            let number = Double(String(decoding: bytes[start..<index], as: UTF8.self))
        else { throw fault() }
        return .number(number)
    }

    // MARK: Strings

    private mutating func string() throws -> [UInt8] {
        index += 1
        var text: [UInt8] = []
        while true {
            let plain = bytes[index...].prefix { $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
            text += plain
            index = plain.endIndex
            guard index < bytes.count else { throw fault() }
            if bytes[index] == UInt8(ascii: "\"") { break }
            text += try UTF8.encode(escape()) ?? UTF8.encodedReplacementCharacter
        }
        index += 1
        return text
    }

    private static let escapes: [UInt8: Unicode.Scalar] = [
        UInt8(ascii: "n"): "\n", UInt8(ascii: "t"): "\t", UInt8(ascii: "r"): "\r", UInt8(ascii: "b"): "\u{8}",
        UInt8(ascii: "f"): "\u{C}", UInt8(ascii: "\""): "\"", UInt8(ascii: "\\"): "\\", UInt8(ascii: "/"): "/",
    ]

    /// Parses an escape such as `\n` or `\u00e9`; an unpaired surrogate becomes U+FFFD.
    private mutating func escape() throws -> Unicode.Scalar {
        guard index + 1 < bytes.count else { throw fault() }
        let letter = bytes[index + 1]
        index += 2
        if let scalar = Self.escapes[letter] { return scalar }
        guard letter == UInt8(ascii: "u") else { throw fault() }
        let unit = try codeUnit()
        guard unit & 0xFC00 == 0xD800 else { return Unicode.Scalar(unit) ?? "\u{FFFD}" }
        guard bytes[index...].starts(with: "\\u".utf8) else { return "\u{FFFD}" }
        let secondEscape = index
        index += 2
        let second = try codeUnit()
        guard second & 0xFC00 == 0xDC00 else {
            index = secondEscape
            return "\u{FFFD}"
        }
        return Unicode.Scalar(0x10000 + (unit & 0x3FF) << 10 + (second & 0x3FF)) ?? "\u{FFFD}"
    }

    private mutating func codeUnit() throws -> UInt32 {
        guard index + 4 <= bytes.count,
            let unit = UInt32(String(decoding: bytes[index..<index + 4], as: UTF8.self), radix: 16)
        else { throw fault() }
        index += 4
        return unit
    }
}

extension JSONScanner.Value {
    /// The value of a member; `nil` if this is not an object, or has no such member.
    package subscript(name: String) -> JSONScanner.Value? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name.elementsEqual(name.utf8) }?.value
    }

    /// The elements of an array; empty for other values.
    package var elements: [JSONScanner.Value] {
        if case .array(let elements) = self { elements } else { [] }
    }

    package var string: String? {
        if case .string(let text) = self { String(decoding: text, as: UTF8.self) } else { nil }
    }

    /// A number, which may be written as a string.
    package var number: Double? {
        if case .number(let number) = self { number } else { string.flatMap(Double.init) }
    }
}
