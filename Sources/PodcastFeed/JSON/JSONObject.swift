/// A value that is written as JSON.
protocol JSONWritable {
    func writeJSON(to writer: inout JSONWriter)
}

/// The members of an object, in their order; `null` for an absent value.
typealias JSONMembers = KeyValuePairs<StaticString, (any JSONWritable)?>

/// A model type that is written as a JSON object: every stored property is a member, `null` if absent.
protocol JSONObject: JSONWritable {
    var members: JSONMembers { get }
}

extension JSONObject {
    func writeJSON(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.members(members)
        writer.endObject()
    }
}

extension JSONWriter {
    mutating func members(_ members: JSONMembers) {
        for (name, value) in members {
            self.name(name)
            if let value { value.writeJSON(to: &self) } else { null() }
        }
    }
}

extension String: JSONWritable {
    func writeJSON(to writer: inout JSONWriter) { writer.string(self) }
}

extension Bool: JSONWritable {
    func writeJSON(to writer: inout JSONWriter) { writer.bool(self) }
}

extension Int: JSONWritable {
    func writeJSON(to writer: inout JSONWriter) { writer.int(Int64(self)) }
}

extension Int64: JSONWritable {
    func writeJSON(to writer: inout JSONWriter) { writer.int(self) }
}

extension Double: JSONWritable {
    func writeJSON(to writer: inout JSONWriter) { writer.double(self) }
}

extension PublicationDate: JSONWritable {
    func writeJSON(to writer: inout JSONWriter) { writer.string(iso8601) }
}

extension Array: JSONWritable where Element: JSONWritable {
    func writeJSON(to writer: inout JSONWriter) {
        writer.beginArray()
        for value in self {
            writer.element()
            value.writeJSON(to: &writer)
        }
        writer.endArray()
    }
}
