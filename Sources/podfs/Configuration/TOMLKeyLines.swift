/// The line numbers of the keys in a TOML document, which the parser does not report.
///
/// Reads headers and keys, and skips values. Nothing is validated: the parser must have accepted the text.
struct TOMLKeyLines: Sendable {
    private var lines: [[String]: Int] = [:]

    init(_ text: String) {
        var scanner = Scanner(bytes: Array(text.utf8))
        var table: [String] = []
        while scanner.skipToContent() {
            let line = scanner.line
            if scanner.consume(UInt8(ascii: "[")) {
                _ = scanner.consume(UInt8(ascii: "["))
                table = scanner.key()
                record(table, line)
            } else {
                record(table + scanner.key(), line)
                scanner.skipValue()
            }
            scanner.skipLine()
        }
    }

    private mutating func record(_ names: [String], _ line: Int) {
        // `a.b.c = 1` also defines the lines of `a.b` and `a`, unless they occurred before.
        for count in stride(from: names.count, to: 0, by: -1) {
            let prefix = Array(names[..<count])
            if lines[prefix] == nil { lines[prefix] = line }
        }
    }

    /// Returns the line of a key, counted from 1. If the key itself has no recorded line, for example in an inline
    /// table, returns the line of the nearest enclosing table that has one; `nil` if there is none.
    func line(of names: [String]) -> Int? {
        for count in stride(from: names.count, to: 0, by: -1) {
            if let line = lines[Array(names[..<count])] { return line }
        }
        return nil
    }
}

/// A cursor that moves through a document byte by byte. That suffices because all of TOML's syntax is ASCII.
private struct Scanner {
    let bytes: [UInt8]
    private var position = 0
    private(set) var line = 1

    init(bytes: [UInt8]) { self.bytes = bytes }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func advance() {
        if next == UInt8(ascii: "\n") { line += 1 }
        position += 1
    }

    private func isAt(_ text: StaticString) -> Bool {
        text.withUTF8Buffer { bytes[position...].starts(with: $0) }
    }

    mutating func consume(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        advance()
        return true
    }

    private mutating func skipBlanks() {
        while let byte = next, byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") { advance() }
    }

    mutating func skipLine() {
        while let byte = next, byte != UInt8(ascii: "\n") { advance() }
    }

    /// Moves to the next header or key. Returns `false` at the end.
    mutating func skipToContent() -> Bool {
        while let byte = next {
            switch byte {
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"), UInt8(ascii: "\n"): advance()
            case UInt8(ascii: "#"): skipLine()
            default: return true
            }
        }
        return false
    }

    // MARK: Keys

    /// Reads a bare, quoted or dotted key, including the `=` or `]` after it.
    mutating func key() -> [String] {
        var names: [String] = []
        while next != nil {
            skipBlanks()
            names.append(name())
            skipBlanks()
            if !consume(UInt8(ascii: ".")) { break }
        }
        advance()
        return names
    }

    private mutating func name() -> String {
        let start = position
        switch next {
        case UInt8(ascii: "\""):
            skipString(quote: UInt8(ascii: "\""), hasEscapes: true)
            return unescaped(bytes[start..<position].dropFirst().dropLast())
        case UInt8(ascii: "'"):
            skipString(quote: UInt8(ascii: "'"), hasEscapes: false)
            return String(decoding: bytes[start..<position].dropFirst().dropLast(), as: UTF8.self)
        default:
            let ends = Array(".=] \t\r\n".utf8)
            while let byte = next, !ends.contains(byte) { advance() }
            return String(decoding: bytes[start..<position], as: UTF8.self)
        }
    }

    private func unescaped(_ body: ArraySlice<UInt8>) -> String {
        var text = ""
        var rest = Substring(String(decoding: body, as: UTF8.self)).unicodeScalars
        while let scalar = rest.popFirst() {
            guard scalar == "\\", let escape = rest.popFirst() else {
                text.unicodeScalars.append(scalar)
                continue
            }
            switch escape {
            case "b": text += "\u{8}"
            case "t": text += "\t"
            case "n": text += "\n"
            case "f": text += "\u{C}"
            case "r": text += "\r"
            case "u", "U":
                let digits = rest.prefix(escape == "u" ? 4 : 8)
                rest = rest.dropFirst(digits.count)
                let number = UInt32(String(String.UnicodeScalarView(digits)), radix: 16)
                if let scalar = number.flatMap(Unicode.Scalar.init) { text.unicodeScalars.append(scalar) }
            default: text.unicodeScalars.append(escape)
            }
        }
        return text
    }

    // MARK: Values

    /// Skips a value, which may span several lines if it is an array or a multi-line string.
    mutating func skipValue() {
        var depth = 0
        while let byte = next {
            switch byte {
            case UInt8(ascii: "\""): skipString(quote: byte, hasEscapes: true)
            case UInt8(ascii: "'"): skipString(quote: byte, hasEscapes: false)
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
                advance()
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                depth -= 1
                advance()
            case UInt8(ascii: "#"): skipLine()
            case UInt8(ascii: "\n") where depth == 0: return
            default: advance()
            }
        }
    }

    private mutating func skipString(quote: UInt8, hasEscapes: Bool) {
        let isLong = isAt(quote == UInt8(ascii: "\"") ? "\"\"\"" : "'''")
        for _ in 0..<(isLong ? 3 : 1) { advance() }
        while let byte = next {
            if hasEscapes, byte == UInt8(ascii: "\\") {
                advance()
                advance()
            } else if byte != quote {
                advance()
            } else if !isLong {
                advance()
                return
            } else if isAt(quote == UInt8(ascii: "\"") ? "\"\"\"" : "'''") {
                // Up to two quotes may precede the three that end the string.
                while next == quote { advance() }
                return
            } else {
                advance()
            }
        }
    }
}
