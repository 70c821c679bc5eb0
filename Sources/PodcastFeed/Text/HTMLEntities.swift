/// The named character references of HTML, such as `&nbsp;`, which feeds use without declaring them.
///
/// XML predefines only five names, but publishers paste HTML, and a title with `&nbsp;` must not be lost. Entity
/// declarations in the document are ignored, so a document can neither redefine these names nor nest entities that
/// expand to gigabytes.
enum HTMLEntities {
    /// Returns the one or two characters that a name stands for; `nil` for an unknown name.
    ///
    /// - Parameter name: The name without `&` and `;`.
    static func characters(_ name: FeedBytes) -> (first: Unicode.Scalar, second: Unicode.Scalar?)? {
        byName[Substring(decoding: name, as: UTF8.self)]
    }

    private static let byName: [Substring: (first: Unicode.Scalar, second: Unicode.Scalar?)] = {
        var names: [Substring: (first: Unicode.Scalar, second: Unicode.Scalar?)] = [:]
        let words = HTMLEntityTable.text.split(whereSeparator: { $0 == " " || $0 == "\n" })
        names.reserveCapacity(words.count / 2)
        for index in stride(from: 0, to: words.count - 1, by: 2) {
            let scalars = words[index + 1].split(separator: "_").compactMap {
                UInt32($0, radix: 16).flatMap(Unicode.Scalar.init)
            }
            if let first = scalars.first { names[words[index]] = (first, scalars.dropFirst().first) }
        }
        return names
    }()
}
