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

    /// Returns the value as UTF-8 text (RFC 8259), without a line feed at its end.
    ///
    /// - Parameter pretty: Whether to write one member per line, indented; otherwise everything is on one line.
    package func encoded(pretty: Bool = true) -> [UInt8] {
        var text: [UInt8] = []
        write(to: &text, level: pretty ? 0 : nil)
        return text
    }

    func write(to text: inout [UInt8], level: Int?) {
        switch self {
        case .null: text += "null".utf8
        case .bool(let value): text += String(value).utf8
        case .int(let value): text += String(value).utf8
        // Doubles represent every whole number up to 2^53 exactly.
        case .double(let value) where value == value.rounded() && abs(value) <= 9_007_199_254_740_992:
            text += String(Int64(value)).utf8
        case .double(let value): text += (value.isFinite ? String(value) : "null").utf8
        case .string(let value): Self.write(value, to: &text)
        case .array(let values): values.write(to: &text, level: level)
        case .object(let members):
            Self.writeList(members.count, "{", "}", to: &text, level) { index, text, level in
                let (name, value) = members[index]
                Self.write(name, value, to: &text, level)
            }
        }
    }

    // Not generic: in unspecialized code, each element would need a look-up of type metadata.
    fileprivate static func writeList(
        _ count: Int, _ open: Unicode.Scalar, _ close: Unicode.Scalar, to text: inout [UInt8], _ level: Int?,
        _ write: (_ index: Int, inout [UInt8], _ level: Int?) -> Void
    ) {
        func breakLine(_ level: Int?) {
            guard let level else { return }
            text.append(UInt8(ascii: "\n"))
            for _ in 0..<2 * level { text.append(UInt8(ascii: " ")) }
        }
        let inner = level.map { $0 + 1 }
        text.append(UInt8(ascii: open))
        for index in 0..<count {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            breakLine(inner)
            write(index, &text, inner)
        }
        if count > 0 { breakLine(level) }
        text.append(UInt8(ascii: close))
    }

    private static func write(_ name: String, _ value: (any JSONWritable)?, to text: inout [UInt8], _ level: Int?) {
        write(name, to: &text)
        text += (level == nil ? ":" : ": ").utf8
        if let value { value.write(to: &text, level: level) } else { text += "null".utf8 }
    }

    static func write<Members: Collection>(_ members: Members, to text: inout [UInt8], level: Int?)
    where Members.Element == JSONMembers.Element, Members.Index == Int {
        writeList(members.count, "{", "}", to: &text, level) { index, text, level in
            let (name, value) = members[index]
            write(name, value, to: &text, level)
        }
    }

    fileprivate static func write(_ value: String, to text: inout [UInt8]) {
        text.append(UInt8(ascii: "\""))
        var value = value
        value.withUTF8 { bytes in
            var start = 0
            while start < bytes.count {
                let end = bytes.firstIndex(from: start) { word in
                    let quotes = word.equal(UInt8(ascii: "\"")) | word.equal(UInt8(ascii: "\\"))
                    return word.below(0x20) | word.equal(0x7F) | quotes
                } byte: {
                    $0 < 0x20 || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") || $0 == 0x7F
                }
                text += FeedBytes(rebasing: bytes[start..<end])
                if end < bytes.count { text += escape(bytes[end]).utf8 }
                start = end + 1
            }
        }
        text.append(UInt8(ascii: "\""))
    }

    private static func escape(_ byte: UInt8) -> String {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): "\\\(Unicode.Scalar(byte))"
        case 0x08: "\\b"
        case 0x09: "\\t"
        case 0x0A: "\\n"
        case 0x0C: "\\f"
        case 0x0D: "\\r"
        default: (byte < 0x10 ? "\\u000" : "\\u00") + String(byte, radix: 16)
        }
    }
}

/// A value that is written as JSON.
protocol JSONWritable {
    /// Appends the value to a text.
    ///
    /// - Parameter level: The number of objects and arrays around the value; `nil` to write everything on one line.
    func write(to text: inout [UInt8], level: Int?)
}

/// The members of an object, in their order; `null` for an absent value.
typealias JSONMembers = KeyValuePairs<String, (any JSONWritable)?>

/// A model type that is written as a JSON object: every stored property is a member, `null` if absent.
protocol JSONObject: JSONWritable {
    var members: JSONMembers { get }
}

extension JSONObject {
    func write(to text: inout [UInt8], level: Int?) {
        OrderedJSON.write(members, to: &text, level: level)
    }
}

/// A value that is neither an object nor an array.
protocol JSONScalar: JSONWritable {
    var json: OrderedJSON { get }
}

extension JSONScalar {
    func write(to text: inout [UInt8], level: Int?) { json.write(to: &text, level: level) }
}

extension String: JSONWritable {
    func write(to text: inout [UInt8], level: Int?) { OrderedJSON.write(self, to: &text) }
}

extension Bool: JSONScalar { var json: OrderedJSON { .bool(self) } }
extension Int: JSONScalar { var json: OrderedJSON { .int(Int64(self)) } }
extension Int64: JSONScalar { var json: OrderedJSON { .int(self) } }
extension Double: JSONScalar { var json: OrderedJSON { .double(self) } }
extension PublicationDate: JSONScalar { var json: OrderedJSON { .string(iso8601) } }

extension Array: JSONWritable where Element: JSONWritable {
    func write(to text: inout [UInt8], level: Int?) {
        OrderedJSON.writeList(count, "[", "]", to: &text, level) { self[$0].write(to: &$1, level: $2) }
    }
}
