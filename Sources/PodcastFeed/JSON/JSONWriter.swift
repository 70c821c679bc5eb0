/// A streaming writer of JSON (RFC 8259) as UTF-8. Callers can drain the text written so far before the rest is known.
///
/// The caller is responsible for correct syntax: an object's member is a `name` and a value, and each value of an array
/// follows an `element`.
struct JSONWriter {
    /// The text not yet drained.
    private(set) var bytes: [UInt8] = []
    /// The nesting level of the next value.
    private var level: Int
    /// Whether each member is on a line of its own, indented by two spaces for each level.
    private let isPretty: Bool
    /// Whether the innermost open object or array is empty.
    private var isEmpty = true

    /// - Parameter level: The number of open objects and arrays around the text, which are written elsewhere.
    init(pretty isPretty: Bool = true, level: Int = 0) {
        self.isPretty = isPretty
        self.level = level
    }

    /// Returns the text written since the last call.
    mutating func drain() -> [UInt8] {
        defer { bytes = [] }
        return bytes
    }

    mutating func reserve(_ count: Int) { bytes.reserveCapacity(count) }

    // MARK: Objects and arrays

    mutating func beginObject() { begin(UInt8(ascii: "{")) }

    mutating func endObject() { end(UInt8(ascii: "}")) }

    mutating func beginArray() { begin(UInt8(ascii: "[")) }

    mutating func endArray() { end(UInt8(ascii: "]")) }

    /// Records that values of the innermost open array were written elsewhere, so that a comma precedes the next one.
    mutating func skipElements() { isEmpty = false }

    /// Starts the next value of an array.
    mutating func element() {
        if !isEmpty { bytes.append(UInt8(ascii: ",")) }
        isEmpty = false
        breakLine()
    }

    /// Writes the name of an object's member. Its value must be written next. The name is not escaped.
    mutating func name(_ name: StaticString) {
        element()
        bytes.append(UInt8(ascii: "\""))
        bytes.append(contentsOf: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
        endName()
    }

    /// Starts a member with an arbitrary name.
    mutating func name(escaping name: String) {
        element()
        string(name)
        bytes.removeLast()
        endName()
    }

    private mutating func endName() { bytes.append(contentsOf: isPretty ? "\": ".utf8 : "\":".utf8) }

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

    /// Writes a number, without a fraction if it is whole; `null` if it is not finite, which JSON cannot express.
    mutating func double(_ value: Double) {
        guard value.isFinite else { return null() }
        // Doubles represent every whole number up to 2^53 exactly.
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

    /// Returns the index of the first byte that must be escaped, or the end.
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

/// A JSON value whose objects preserve the order of their members.
///
/// Users and scripts compare the output of podfs; the order of a dictionary would change from run to run.
package enum OrderedJSON: Sendable, JSONWritable {
    case null
    case bool(Bool)
    case int(Int64)
    /// Written without a fraction if it is whole; `null` if it is not finite, which JSON cannot express.
    case double(Double)
    case string(String)
    case array([OrderedJSON])
    case object([(String, OrderedJSON)])

    /// Returns a string, or `null` for `nil`.
    package static func string(orNull value: String?) -> OrderedJSON { value.map { .string($0) } ?? .null }

    /// Returns a whole number, or `null` for `nil`.
    package static func int(orNull value: (some BinaryInteger)?) -> OrderedJSON {
        value.map { .int(Int64(clamping: $0)) } ?? .null
    }

    /// Returns a number, or `null` for `nil`.
    package static func double(orNull value: Double?) -> OrderedJSON { value.map { .double($0) } ?? .null }

    /// Returns `true` or `false`, or `null` for `nil`.
    package static func bool(orNull value: Bool?) -> OrderedJSON { value.map { .bool($0) } ?? .null }

    /// Returns the value as UTF-8 text (RFC 8259), without a line feed at its end.
    ///
    /// - Parameter pretty: Whether to write one member per line, indented; otherwise everything is on one line.
    package func encoded(pretty: Bool = true) -> [UInt8] {
        var writer = JSONWriter(pretty: pretty)
        writeJSON(to: &writer)
        return writer.drain()
    }

    func writeJSON(to writer: inout JSONWriter) {
        switch self {
        case .null: writer.null()
        case .bool(let value): writer.bool(value)
        case .int(let value): writer.int(value)
        case .double(let value): writer.double(value)
        case .string(let value): writer.string(value)
        case .array(let values): values.writeJSON(to: &writer)
        case .object(let members):
            writer.beginObject()
            for (name, value) in members {
                writer.name(escaping: name)
                value.writeJSON(to: &writer)
            }
            writer.endObject()
        }
    }
}
