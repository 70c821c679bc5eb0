import Foundation
import Glibc
import Platform
import PodcastFeed
import PodcastPages

/// Standard output and standard error.
///
/// Names and messages come from feeds and servers: what is printed for people is made harmless here once more, so that
/// nothing in it steers the terminal.
enum Terminal {
    static func print(_ text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        write(lines.map { PlainText.oneLine(String($0)) }.joined(separator: "\n") + "\n", to: 1)
    }

    /// As it is, without a line feed.
    static func put(_ text: String) { write(text, to: 1) }

    static func error(_ text: String) {
        let lines = text.split(separator: "\n").joined(separator: "; ")
        write("podfs: \(PlainText.oneLine(lines))\n", to: 2)
    }

    static func print(_ json: OrderedJSON) { print(json: String(decoding: json.encoded(), as: UTF8.self)) }

    /// A JSON text. What would steer a terminal is escaped, which means the same to a program.
    static func print(json text: String) { put(json: text + "\n") }

    /// The same without a line feed.
    static func put(json text: String) { write(JSONText.escaped(text), to: 1) }

    /// The same for a piece of UTF-8 that ends with a whole character. Most JSON is ASCII, in which at most DEL steers
    /// a terminal: such a piece is written as it is.
    static func put(json piece: [UInt8]) {
        // The eighth bit of what is above ASCII, and of DEL's successor.
        if piece.reduce(0, { $0 | $1 | ($1 &+ 1) }) < 0x80 {
            write(piece, to: 1)
        } else {
            put(json: String(decoding: piece, as: UTF8.self))
        }
    }

    static var isInteractive: Bool { isatty(1) == 1 }

    static func write(_ text: String, to descriptor: Int32) { write(Array(text.utf8), to: descriptor) }

    /// Past a reader that has gone (EPIPE) there is nobody to tell.
    static func write(_ bytes: [UInt8], to descriptor: Int32) { _ = writeAll(bytes, to: descriptor) }
}

/// JSON and XML that may be read on a terminal.
enum JSONText {
    /// Characters that steer a terminal or turn the direction of writing stand only in strings of a JSON text: the others
    /// of them are escaped already.
    static func escaped(_ text: String) -> String { escaped(text) { "\\u" + hexadecimal($0, digits: 4) } }

    /// The same for XML, where they stand only in text and in values of attributes.
    static func escapedXML(_ text: String) -> String { escaped(text) { "&#x" + hexadecimal($0, digits: 2) + ";" } }

    private static func escaped(_ text: String, _ escape: (Unicode.Scalar) -> String) -> String {
        guard text.unicodeScalars.contains(where: isHarmful) else { return text }
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if isHarmful(scalar) {
                result.append(contentsOf: escape(scalar).unicodeScalars)
            } else {
                result.append(scalar)
            }
        }
        return String(result)
    }

    private static func isHarmful(_ scalar: Unicode.Scalar) -> Bool {
        // Most text is spared the longer look: nothing above U+2069 is harmful, nor printable ASCII and white space.
        guard (0x7F...0x2069).contains(scalar.value) else { return false }
        return PlainText.isHarmful(scalar)
    }

    private static func hexadecimal(_ scalar: Unicode.Scalar, digits: Int) -> String {
        let text = String(scalar.value, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}
