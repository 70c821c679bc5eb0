/// A character reference: `&amp;`, `&#38;`, `&#x26;` or one of HTML's names.
///
/// Parsed as in HTML (WHATWG HTML, section 13.2.5.72), even where XML forbids a spelling, because publishers use it.
/// Unlike in HTML, every name needs its semicolon.
struct CharacterReference {
    enum Kind {
        /// One of XML's five names, or the number of a valid character.
        case plain
        /// A name that only HTML defines.
        case html
        /// The number of a C1 control character, read as the character of Windows-1252 with that code.
        case windows1252
        /// A surrogate pair, written as two references.
        case surrogates
        /// A number that is not a character, or a character that documents may not contain.
        case nothing
        /// An unknown name.
        case unknown
        /// An `&` that starts no reference.
        case ampersand
        /// A reference cut off at the end of the bytes.
        case incomplete
    }

    private(set) var kind: Kind
    /// The length of the reference in bytes; 1 for a lone `&`.
    private(set) var length: Int
    private var first: Unicode.Scalar?
    /// The second character; some of HTML's names stand for two.
    private var second: Unicode.Scalar?

    /// Whether the source remains in the text unchanged.
    var isText: Bool { kind == .unknown || kind == .ampersand || kind == .incomplete }

    /// Maximum length of a name in bytes. HTML's longest has 31; longer ones are parsed only for the diagnostic.
    private static let longestName = 64

    /// - Parameters:
    ///   - bytes: Text from the `&` on.
    ///   - isFinal: Whether no further bytes follow `bytes`.
    init(_ bytes: FeedBytes, isFinal: Bool) {
        (kind, length) = (.ampersand, 1)
        if bytes.count <= 1 {
            if !isFinal { kind = .incomplete }
        } else {
            kind = bytes[1] == UInt8(ascii: "#") ? readNumber(bytes, isFinal) : readName(bytes, isFinal)
        }
    }

    /// Passes the characters in UTF-8 to `body`, which is not called for ``Kind/nothing``.
    func withUTF8(_ body: (FeedBytes) -> Void) {
        for scalar in [first, second] {
            guard let scalar else { continue }
            if scalar.value < 0x80 {
                withUnsafePointer(to: UInt8(truncatingIfNeeded: scalar.value)) { body(FeedBytes(start: $0, count: 1)) }
            } else {
                Array(UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter).withUnsafeBufferPointer(body)
            }
        }
    }

    /// Returns a message about the mistake in the reference; `nil` if there is none.
    ///
    /// - Parameter source: The bytes of the reference.
    func diagnostic(_ source: FeedBytes) -> String? {
        switch kind {
        case .plain, .incomplete: nil
        case .ampersand: "an “&” is not escaped as “&amp;”"
        case .html: "the entity “\(FeedReader.excerpt(source))” is not one of XML's; it is read as in HTML"
        case .unknown: "the entity “\(FeedReader.excerpt(source))” is not one of XML's; it is left unchanged"
        case .windows1252: "the reference “\(FeedReader.excerpt(source))” is read as a character of Windows-1252"
        case .surrogates:
            "the references “\(FeedReader.excerpt(source))” are a surrogate pair; they are read as one character"
        case .nothing: "the reference “\(FeedReader.excerpt(source))” is not a valid character and is removed"
        }
    }

    // MARK: Names

    private mutating func readName(_ bytes: FeedBytes, _ isFinal: Bool) -> Kind {
        let limit = min(bytes.count, Self.longestName + 2)
        var end = 1
        while end < limit, Self.isOfName(bytes[end]) { end += 1 }
        guard end < bytes.count else {
            return !isFinal && bytes.count < Self.longestName + 2 ? .incomplete : .ampersand
        }
        guard bytes[end] == UInt8(ascii: ";"), end > 1 else { return .ampersand }
        let name = FeedBytes(rebasing: bytes[1..<end])
        length = end + 1
        if let scalar = Self.plain(name) {
            first = scalar
            return .plain
        }
        guard let scalars = HTMLEntities.characters(name) else { return .unknown }
        (first, second) = (scalars.first, scalars.second)
        return .html
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        byte.isLetter || byte.isDigit || byte >= 0x80 || "_-.:".utf8.contains(byte)
    }

    /// Returns the character of one of XML's five names.
    private static func plain(_ name: FeedBytes) -> Unicode.Scalar? {
        switch name.count {
        case 2 where name[1] == UInt8(ascii: "t"):
            name[0] == UInt8(ascii: "l") ? "<" : name[0] == UInt8(ascii: "g") ? ">" : nil
        case 3 where name.elementsEqual("amp".utf8): "&"
        case 4 where name.elementsEqual("quot".utf8): "\""
        case 4 where name.elementsEqual("apos".utf8): "'"
        default: nil
        }
    }

    // MARK: Numbers

    private mutating func readNumber(_ bytes: FeedBytes, _ isFinal: Bool) -> Kind {
        guard let number = Self.number(bytes, isFinal) else { return .ampersand }
        guard number.length > 0 else { return .incomplete }
        length = number.length
        switch number.value {
        case 0xD800...0xDBFF:
            let rest = FeedBytes(rebasing: bytes[number.length...])
            guard isFinal || rest.count >= 2 else { return .incomplete }
            guard rest.count >= 2, rest[0] == UInt8(ascii: "&"), rest[1] == UInt8(ascii: "#"),
                let other = Self.number(rest, isFinal), other.length == 0 || 0xDC00...0xDFFF ~= other.value
            else { return .nothing }
            guard other.length > 0 else { return .incomplete }
            length += other.length
            first = Unicode.Scalar(0x10000 + (number.value & 0x3FF) << 10 + (other.value & 0x3FF))
            return .surrogates
        case 0x80...0x9F:
            let scalar = Windows1252.scalar(UInt8(number.value))
            if scalar == "\u{FFFD}" { return .nothing }
            first = scalar
            return .windows1252
        case 0x09, 0x0A, 0x0D, 0x20...0xFFFD, 0x10000...0x10FFFF:
            first = Unicode.Scalar(number.value)
            return first == nil ? .nothing : .plain
        default: return .nothing
        }
    }

    /// Parses the number of a reference, decimal or hexadecimal. The semicolon is optional, as in HTML. Every value
    /// beyond Unicode is returned as 0x110000. Returns `nil` if there are no digits, and a length of 0 if more bytes
    /// are needed.
    private static func number(_ bytes: FeedBytes, _ isFinal: Bool) -> (value: UInt32, length: Int)? {
        var end = 2
        let isHexadecimal = end < bytes.count && bytes[end] | 0x20 == UInt8(ascii: "x")
        if isHexadecimal { end += 1 }
        let start = end
        var value: UInt32 = 0
        while end < bytes.count, isHexadecimal || bytes[end].isDigit,
            let digit = Character(Unicode.Scalar(bytes[end])).hexDigitValue
        {
            value = min(value * (isHexadecimal ? 16 : 10) + UInt32(digit), 0x11_0000)
            end += 1
        }
        guard end < bytes.count || isFinal || end > longestName else { return (0, 0) }
        guard end > start else { return nil }
        return (value, end < bytes.count && bytes[end] == UInt8(ascii: ";") ? end + 1 : end)
    }
}

/// Replacement of references in text that ``XMLScanner`` has not read, or that a publisher has escaped twice.
package enum CharacterReferences {
    /// Returns whether the text may contain a reference: an `&` with a `;` after it.
    static func mayOccur(in bytes: some Collection<UInt8>) -> Bool {
        guard let ampersand = bytes.firstIndex(of: UInt8(ascii: "&")) else { return false }
        return bytes[ampersand...].contains(UInt8(ascii: ";"))
    }

    /// Returns the text with its references replaced once. A lone `&`, and references that are invalid or have no
    /// semicolon, stay.
    package static func replaced(in bytes: some Collection<UInt8>) -> [UInt8] {
        let input = Array(bytes)
        return input.withUnsafeBufferPointer { input in
            var output: [UInt8] = []
            output.reserveCapacity(input.count)
            var rest = input[...]
            while let ampersand = rest.firstIndex(of: UInt8(ascii: "&")) {
                output.append(contentsOf: rest[..<ampersand])
                rest = rest[ampersand...]
                let reference = CharacterReference(FeedBytes(rebasing: rest), isFinal: true)
                let source = rest.prefix(reference.length)
                // Programs that escape text twice write the semicolon, so a reference without one was not escaped
                // twice.
                if reference.isText || reference.kind == .nothing || source.last != UInt8(ascii: ";") {
                    output.append(contentsOf: source)
                } else {
                    reference.withUTF8 { output.append(contentsOf: $0) }
                }
                rest = rest[source.endIndex...]
            }
            output.append(contentsOf: rest)
            return output
        }
    }
}

/// The encoding Windows-1252, which equals Latin-1 except for 0x80 to 0x9F, where Latin-1 has control characters.
enum Windows1252 {
    static func scalar(_ byte: UInt8) -> Unicode.Scalar {
        0x80...0x9F ~= byte ? high[Int(byte) - 0x80] : Unicode.Scalar(byte)
    }

    /// The characters of 0x80 to 0x9F; U+FFFD for the five unused codes.
    private static let high: [Unicode.Scalar] = [
        "€", "\u{FFFD}", "‚", "ƒ", "„", "…", "†", "‡", "ˆ", "‰", "Š", "‹", "Œ", "\u{FFFD}", "Ž", "\u{FFFD}",
        "\u{FFFD}", "‘", "’", "“", "”", "•", "–", "—", "˜", "™", "š", "›", "œ", "\u{FFFD}", "ž", "Ÿ",
    ]
}

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
