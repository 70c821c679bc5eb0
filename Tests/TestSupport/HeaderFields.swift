/// Header fields in the order of arrival; names are compared ignoring case (RFC 9110 §5.1).
package struct HeaderFields: Sendable {
    package private(set) var fields: [(name: String, value: String)] = []

    package init() {}

    /// The first field with this name.
    package subscript(name: String) -> String? { all(name).first }

    package func all(_ name: String) -> [String] {
        let name = name.lowercased()
        return fields.filter { $0.name.lowercased() == name }.map(\.value)
    }

    mutating func append(_ name: String, _ value: String) { fields.append((name, value)) }

    mutating func remove(_ name: String) {
        let name = name.lowercased()
        fields.removeAll { $0.name.lowercased() == name }
    }

    mutating func replace(_ name: String, _ value: String) {
        remove(name)
        append(name, value)
    }
}
