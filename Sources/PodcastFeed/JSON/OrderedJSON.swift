/// A JSON value whose objects preserve the order of their members.
///
/// Users and scripts compare the output of podfs; the order of a dictionary would change from run to run.
package enum OrderedJSON: Sendable {
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
        write(to: &writer)
        return writer.drain()
    }

    func write(to writer: inout JSONWriter) {
        switch self {
        case .null: writer.null()
        case .bool(let value): writer.bool(value)
        case .int(let value): writer.int(value)
        case .double(let value): writer.double(value)
        case .string(let value): writer.string(value)
        case .array(let values):
            writer.beginArray()
            for value in values {
                writer.element()
                value.write(to: &writer)
            }
            writer.endArray()
        case .object(let members):
            writer.beginObject()
            for (name, value) in members {
                writer.name(escaping: name)
                value.write(to: &writer)
            }
            writer.endObject()
        }
    }
}
