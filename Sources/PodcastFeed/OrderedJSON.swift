/// A JSON value whose objects keep the order in which their members were written.
///
/// People and scripts compare what podfs prints; a dictionary's order would change from run to run.
package enum OrderedJSON: Sendable {
    case null
    case bool(Bool)
    case int(Int64)
    /// Printed without a fraction when it has none; `null` when it is not finite, for which JSON has no spelling.
    case double(Double)
    case string(String)
    case array([OrderedJSON])
    case object([(String, OrderedJSON)])

    /// A string, or `null`.
    package static func string(orNull value: String?) -> OrderedJSON {
        value.map { .string($0) } ?? .null
    }

    /// A whole number, or `null`.
    package static func int(orNull value: (some BinaryInteger)?) -> OrderedJSON {
        value.map { .int(Int64(clamping: $0)) } ?? .null
    }

    /// A number, or `null`.
    package static func double(orNull value: Double?) -> OrderedJSON {
        value.map { .double($0) } ?? .null
    }

    /// `true`, `false` or `null`.
    package static func bool(orNull value: Bool?) -> OrderedJSON {
        value.map { .bool($0) } ?? .null
    }

    /// The value as UTF-8 text (RFC 8259), without a line feed at its end.
    ///
    /// - Parameter pretty: One member a line, two spaces a level; otherwise all on one line, for one value a line.
    package func encoded(pretty: Bool = true) -> [UInt8] {
        var output: [UInt8] = []
        write(to: &output, level: pretty ? 0 : nil)
        return output
    }

    /// The same, to stand on a level of its own inside text that is written piece by piece.
    func encoded(onLevel level: Int) -> [UInt8] {
        var output: [UInt8] = []
        write(to: &output, level: level)
        return output
    }

    private func write(to output: inout [UInt8], level: Int?) {
        switch self {
        case .null: output.append(contentsOf: "null".utf8)
        case .bool(let value): output.append(contentsOf: (value ? "true" : "false").utf8)
        case .int(let value): output.append(contentsOf: String(value).utf8)
        case .double(let value): output.append(contentsOf: Self.text(of: value).utf8)
        case .string(let value): Self.write(value, to: &output)
        case .array(let values):
            Self.writeList(values, brackets: ("[", "]"), to: &output, level: level) { value, output, inner in
                value.write(to: &output, level: inner)
            }
        case .object(let members):
            Self.writeList(members, brackets: ("{", "}"), to: &output, level: level) { member, output, inner in
                Self.write(member.0, to: &output)
                output.append(contentsOf: (inner == nil ? ":" : ": ").utf8)
                member.1.write(to: &output, level: inner)
            }
        }
    }

    private static func writeList<Element>(
        _ elements: [Element], brackets: (String, String), to output: inout [UInt8], level: Int?,
        element write: (Element, inout [UInt8], Int?) -> Void
    ) {
        output.append(contentsOf: brackets.0.utf8)
        let inner = level.map { $0 + 1 }
        for (index, element) in elements.enumerated() {
            if index > 0 { output.append(UInt8(ascii: ",")) }
            breakLine(&output, level: inner)
            write(element, &output, inner)
        }
        if !elements.isEmpty { breakLine(&output, level: level) }
        output.append(contentsOf: brackets.1.utf8)
    }

    private static func breakLine(_ output: inout [UInt8], level: Int?) {
        guard let level else { return }
        output.append(UInt8(ascii: "\n"))
        output.append(contentsOf: repeatElement(UInt8(ascii: " "), count: 2 * level))
    }

    private static func text(of value: Double) -> String {
        guard value.isFinite else { return "null" }
        // Doubles hold every whole number up to 2^53 exactly.
        if value == value.rounded(), abs(value) <= 9_007_199_254_740_992 { return String(Int64(value)) }
        return value.description
    }

    private static func write(_ string: String, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        for byte in string.utf8 {
            switch byte {
            case UInt8(ascii: "\""): output.append(contentsOf: #"\""#.utf8)
            case UInt8(ascii: "\\"): output.append(contentsOf: #"\\"#.utf8)
            case 0x08: output.append(contentsOf: #"\b"#.utf8)
            case 0x09: output.append(contentsOf: #"\t"#.utf8)
            case 0x0A: output.append(contentsOf: #"\n"#.utf8)
            case 0x0C: output.append(contentsOf: #"\f"#.utf8)
            case 0x0D: output.append(contentsOf: #"\r"#.utf8)
            case 0x00..<0x20, 0x7F:
                let digits = String(byte, radix: 16)
                output.append(contentsOf: (byte < 0x10 ? #"\u000"# : #"\u00"#).utf8)
                output.append(contentsOf: digits.utf8)
            default: output.append(byte)
            }
        }
        output.append(UInt8(ascii: "\""))
    }
}
