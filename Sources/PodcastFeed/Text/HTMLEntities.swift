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

    /// The names of `Resources/entities.txt`: all of WHATWG HTML, section 13.5, that end in a semicolon, except XML's
    /// own five. The file was generated from `html.entities.html5` of CPython 3.11: a name in each line, and its code
    /// points in hexadecimal, two of them joined by `_`.
    private static let byName: [Substring: (first: Unicode.Scalar, second: Unicode.Scalar?)] = {
        var names: [Substring: (first: Unicode.Scalar, second: Unicode.Scalar?)] = [:]
        for line in String(decoding: PackageResources.entities_txt, as: UTF8.self).split(separator: "\n") {
            let words = line.split(whereSeparator: { $0 == " " || $0 == "_" })
            let scalars = words.dropFirst().compactMap { UInt32($0, radix: 16).flatMap(Unicode.Scalar.init) }
            if let first = scalars.first { names[words[0]] = (first, scalars.dropFirst().first) }
        }
        return names
    }()
}
