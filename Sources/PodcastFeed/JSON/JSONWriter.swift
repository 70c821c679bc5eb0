/// Writes JSON (RFC 8259) as UTF-8 from left to right: what has been written can be taken away before the rest is known.
///
/// The caller sees to it that what it writes is JSON: an object's member is a `name` and a value, and each value of an
/// array follows an `element`.
struct JSONWriter {
    /// What was written and not yet taken.
    private(set) var bytes: [UInt8] = []
    /// How many lists are open around the next value.
    private var level: Int
    /// Whether each member stands on a line of its own, two spaces a level.
    private let isPretty: Bool
    /// Whether the innermost list that is open has nothing in it.
    private var isEmpty = true

    /// - Parameter level: How many lists, written elsewhere, are open around what is written here.
    init(pretty isPretty: Bool = true, level: Int = 0) {
        self.isPretty = isPretty
        self.level = level
    }

    /// Takes what was written; the rest goes on behind it.
    mutating func take() -> [UInt8] {
        defer { bytes = [] }
        return bytes
    }

    mutating func reserve(_ count: Int) { bytes.reserveCapacity(count) }

    // MARK: Lists

    mutating func beginObject() { begin(UInt8(ascii: "{")) }

    mutating func endObject() { end(UInt8(ascii: "}")) }

    mutating func beginArray() { begin(UInt8(ascii: "[")) }

    mutating func endArray() { end(UInt8(ascii: "]")) }

    /// The values of the innermost array that is open were written elsewhere.
    mutating func skipElements() { isEmpty = false }

    /// The next value of an array follows.
    mutating func element() {
        if !isEmpty { bytes.append(UInt8(ascii: ",")) }
        isEmpty = false
        breakLine()
    }

    /// A member of an object: its value follows. The name is written as it is.
    mutating func name(_ name: StaticString) {
        element()
        bytes.append(UInt8(ascii: "\""))
        bytes.append(contentsOf: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
        endName()
    }

    /// The same with a name that is not known beforehand.
    mutating func name(escaping name: String) {
        element()
        string(name)
        bytes.removeLast()
        endName()
    }

    private mutating func endName() {
        bytes.append(contentsOf: isPretty ? "\": ".utf8 : "\":".utf8)
    }

    private mutating func begin(_ bracket: UInt8) {
        bytes.append(bracket)
        level += 1
        isEmpty = true
    }

    private mutating func end(_ bracket: UInt8) {
        level -= 1
        if !isEmpty { breakLine() }
        bytes.append(bracket)
        isEmpty = false
    }

    mutating func breakLine() {
        guard isPretty else { return }
        bytes.append(UInt8(ascii: "\n"))
        bytes.append(contentsOf: repeatElement(UInt8(ascii: " "), count: 2 * level))
    }

    // MARK: Values

    mutating func null() { bytes.append(contentsOf: "null".utf8) }

    mutating func bool(_ value: Bool) { bytes.append(contentsOf: value ? "true".utf8 : "false".utf8) }

    mutating func int(_ value: Int64) { bytes.append(contentsOf: String(value).utf8) }

    /// A number, without a fraction when it has none; `null` when it is not finite, for which JSON has no spelling.
    mutating func double(_ value: Double) {
        guard value.isFinite else { return null() }
        // Doubles hold every whole number up to 2^53 exactly.
        if value == value.rounded(), abs(value) <= 9_007_199_254_740_992 { return int(Int64(value)) }
        bytes.append(contentsOf: value.description.utf8)
    }

    mutating func string(_ value: String) {
        bytes.append(UInt8(ascii: "\""))
        var value = value
        value.withUTF8 { text in
            var start = 0
            while start < text.count {
                let end = Self.plainEnd(of: text, from: start)
                bytes.append(contentsOf: UnsafeBufferPointer(rebasing: text[start..<end]))
                if end < text.count { escape(text[end]) }
                start = end + 1
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// The place of the first byte that has to be escaped, or the end.
    private static func plainEnd(of text: FeedBytes, from start: Int) -> Int {
        guard let base = text.baseAddress else { return 0 }
        var index = start
        while index + ByteWord.size <= text.count {
            let word = ByteWord(at: base + index)
            let quotes = word.equal(UInt8(ascii: "\"")) | word.equal(UInt8(ascii: "\\"))
            if word.below(0x20) | word.equal(0x7F) | quotes != 0 { break }
            index += ByteWord.size
        }
        while index < text.count, !needsEscape(text[index]) { index += 1 }
        return index
    }

    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte == 0x7F
    }

    private mutating func escape(_ byte: UInt8) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(byte)
        case 0x08: bytes.append(UInt8(ascii: "b"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0x0A: bytes.append(UInt8(ascii: "n"))
        case 0x0C: bytes.append(UInt8(ascii: "f"))
        case 0x0D: bytes.append(UInt8(ascii: "r"))
        default:
            bytes.append(contentsOf: (byte < 0x10 ? "u000" : "u00").utf8)
            bytes.append(contentsOf: String(byte, radix: 16).utf8)
        }
    }
}

// Absent facts are `null`.
extension JSONWriter {
    mutating func string(orNull value: String?) {
        if let value { string(value) } else { null() }
    }

    mutating func int(orNull value: (some BinaryInteger)?) {
        if let value { int(Int64(clamping: value)) } else { null() }
    }

    mutating func double(orNull value: Double?) {
        if let value { double(value) } else { null() }
    }

    mutating func bool(orNull value: Bool?) {
        if let value { bool(value) } else { null() }
    }
}
