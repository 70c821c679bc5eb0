/// The named characters of HTML, which feeds use without declaring them.
///
/// XML defines five names; publishers paste HTML anyway, and `&nbsp;` in a title must not lose the title. Declarations
/// in the document are ignored, so these can neither grow nor be redefined.
enum HTMLEntities {
    /// The characters a name stands for, without `&` and `;`; `nil` for an unknown name.
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
