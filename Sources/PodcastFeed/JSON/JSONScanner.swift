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
            let name = try scanner.string(isStored: true)
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
        return try value(isStored: true)
    }

    /// Skips the next value.
    package mutating func skip() throws { _ = try value(isStored: false) }

    /// Reads the next value.
    ///
    /// - Parameter isStored: Whether to store it; otherwise the result has no content.
    private mutating func value(isStored: Bool) throws -> Value {
        storableValues -= 1
        let isStored = isStored && storableValues > 0
        switch peek() {
        case UInt8(ascii: "{"):
            var members: [(name: [UInt8], value: Value)] = []
            try self.members { scanner, name in
                let value = try scanner.value(isStored: isStored)
                if isStored, scanner.storableValues > 0 { members.append((name, value)) }
            }
            return .object(members)
        case UInt8(ascii: "["):
            var elements: [Value] = []
            try self.elements { scanner in
                let value = try scanner.value(isStored: isStored)
                if isStored, scanner.storableValues > 0 { elements.append(value) }
            }
            return .array(elements)
        case UInt8(ascii: "\""): return try .string(string(isStored: isStored))
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
        if peek() == UInt8(ascii: close) {
            index += 1
            return
        }
        while true {
            try body(&self)
            switch peek() {
            case UInt8(ascii: ","): index += 1
            case UInt8(ascii: close):
                index += 1
                return
            default: throw fault()
            }
        }
    }

    private mutating func expect(_ scalar: Unicode.Scalar) throws {
        guard peek() == UInt8(ascii: scalar) else { throw fault() }
        index += 1
    }

    private mutating func word(_ text: StaticString, _ value: Value) throws -> Value {
        let letters = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        guard bytes[index...].starts(with: letters) else { throw fault() }
        index += letters.count
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

    private mutating func string(isStored: Bool) throws -> [UInt8] {
        index += 1
        var text: [UInt8] = []
        var start = index
        while index < bytes.count {
            let byte = bytes[index]
            if byte == UInt8(ascii: "\"") {
                if isStored { text.append(contentsOf: bytes[start..<index]) }
                index += 1
                return text
            }
            if byte == UInt8(ascii: "\\") {
                if isStored { text.append(contentsOf: bytes[start..<index]) }
                let scalar = try escape()
                if isStored { text.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter) }
                start = index
            } else {
                index += 1
            }
        }
        throw fault()
    }

    /// Parses an escape such as `\n` or `\u00e9`; an unpaired surrogate becomes U+FFFD.
    private mutating func escape() throws -> Unicode.Scalar {
        guard index + 1 < bytes.count else { throw fault() }
        let letter = bytes[index + 1]
        index += 2
        switch letter {
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(letter)
        case UInt8(ascii: "u"): break
        default: throw fault()
        }
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
        guard index + 4 <= bytes.count else { throw fault() }
        var unit: UInt32 = 0
        for byte in bytes[index..<index + 4] {
            guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { throw fault() }
            unit = unit << 4 | UInt32(digit)
        }
        index += 4
        return unit
    }
}

extension JSONScanner.Value {
    /// The value of a member; `nil` if this is not an object, or has no such member.
    package subscript(name: StaticString) -> JSONScanner.Value? {
        guard case .object(let members) = self else { return nil }
        let wanted = UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        return members.first { $0.name.elementsEqual(wanted) }?.value
    }

    /// The elements of an array; empty for other values.
    var elements: [JSONScanner.Value] {
        if case .array(let elements) = self { elements } else { [] }
    }
}
