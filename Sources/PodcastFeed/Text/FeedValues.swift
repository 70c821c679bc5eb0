internal import Foundation

/// Parsers of element texts. They are pure and tolerant; text that cannot be parsed yields `nil`.
enum FeedValues {
    /// Parses a duration or a time to seconds: `H:M:S`, `M:S`, seconds, decimals, `PT1H2M3S` or `1h 2m`.
    static func seconds(_ text: some Collection<UInt8>) -> Double? {
        if text.contains(where: { $0.isLetter || $0 == UInt8(ascii: " ") }) { return unitSeconds(Array(text)) }
        var total = 0.0
        var rest = text[...]
        for _ in 0..<3 {
            let part = rest.prefix { $0 != UInt8(ascii: ":") }
            guard let value = part.isEmpty ? 0 : number(part) else { return nil }
            total = total * 60 + value
            rest = rest[part.endIndex...]
            // 1e9 seconds are thirty years; a larger number is not a duration.
            if rest.isEmpty { return total <= 1e9 && text.contains(where: { $0 != UInt8(ascii: ":") }) ? total : nil }
            rest = rest.dropFirst()
        }
        return nil
    }

    /// The seconds of each unit, by its first letter.
    private static let units: [UInt8: Double] = [
        UInt8(ascii: "h"): 3600, UInt8(ascii: "m"): 60, UInt8(ascii: "s"): 1,
    ]

    /// Parses `PT1H2M3S` (ISO 8601) and `1h 2m 3s`, `45 min`.
    private static func unitSeconds(_ bytes: [UInt8]) -> Double? {
        var rest = bytes[...]
        if rest.starts(with: "PT".utf8) { rest = rest.dropFirst(2) }
        var total = 0.0
        while !rest.isEmpty {
            let digits = rest.prefix { !$0.isLetter && $0 != UInt8(ascii: " ") }
            let unit = rest[digits.endIndex...].drop { $0 == UInt8(ascii: " ") }.prefix(while: \.isLetter)
            guard let value = number(digits), let factor = units[(unit.first ?? 0) | 0x20] else { return nil }
            total += value * factor
            rest = rest[unit.endIndex...].drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: ",") }
        }
        return total <= 1e9 ? total : nil
    }

    /// The valid file sizes in bytes: up to 16 TiB, the largest file of ext4.
    static let lengths: ClosedRange<Int64> = 1...1 << 44

    /// Parses a file size; `nil` if a character is not a digit (a sign, for example), or if the size is outside
    /// `lengths`.
    static func length(_ text: some Collection<UInt8>) -> Int64? {
        var value: Int64 = 0
        for byte in text {
            guard byte.isDigit, value <= lengths.upperBound else { return nil }
            value = value * 10 + Int64(byte - UInt8(ascii: "0"))
        }
        return lengths.contains(value) ? value : nil
    }

    /// Parses `yes`, `true`, `explicit` and `1` as `true`, and `no`, `false`, `clean` and `0` as `false`, ignoring
    /// case.
    static func boolean(_ text: some Collection<UInt8>) -> Bool? {
        switch String(decoding: text, as: UTF8.self).lowercased() {
        case "yes", "true", "explicit", "1": true
        case "no", "false", "clean", "0": false
        default: nil
        }
    }

    /// Parses a whole number that is not negative, such as that of a season.
    static func wholeNumber(_ text: some Collection<UInt8>) -> Int? {
        guard let value = decimalNumber(text), value == value.rounded() else { return nil }
        return Int(value)
    }

    /// Parses a number that is not negative and may have a fraction, such as that of an episode.
    static func decimalNumber(_ text: some Collection<UInt8>) -> Double? {
        number(text).flatMap { $0 <= 1e9 ? $0 : nil }
    }

    /// Parses digits with at most one decimal point. `Double.init` also accepts `inf`, `nan` and hexadecimal numbers.
    private static func number(_ text: some Collection<UInt8>) -> Double? {
        guard text.count <= 40, text.allSatisfy({ $0.isDigit || $0 == UInt8(ascii: ".") }) else { return nil }
        if text.count <= 15, text.allSatisfy(\.isDigit), !text.isEmpty {
            return Double(text.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) })
        }
        return Double(String(decoding: text, as: UTF8.self))
    }

    /// Returns the text without white space around it; `nil` if nothing is left.
    static func string(_ text: some BidirectionalCollection<UInt8>) -> String? {
        let trimmed = text.trimmed
        return trimmed.isEmpty ? nil : String(decoding: trimmed, as: UTF8.self)
    }

    /// Returns plain text as HTML, also for attributes in double quotes. Line ends stay.
    static func escaped(_ text: some Sequence<UInt8>) -> [UInt8] {
        var html: [UInt8] = []
        for byte in text {
            switch byte {
            case UInt8(ascii: "&"): html += "&amp;".utf8
            case UInt8(ascii: "<"): html += "&lt;".utf8
            case UInt8(ascii: "\""): html += "&quot;".utf8
            default: html.append(byte)
            }
        }
        return html
    }

    /// Returns a displayable line, such as a title: each run of white space becomes one space. With
    /// `replacingReferences`, character references that publishers escaped twice (`&amp;amp;`) are replaced. `nil` if
    /// nothing is left.
    static func line(_ text: some Collection<UInt8>, replacingReferences: Bool = true) -> String? {
        if !replacingReferences || !CharacterReferences.mayOccur(in: text), isLine(text) {
            return text.isEmpty ? nil : String(decoding: text, as: UTF8.self)
        }
        let bytes = replacingReferences ? CharacterReferences.replaced(in: text) : Array(text)
        var line: [UInt8] = []
        line.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            // White space of XML, and the no-break space (U+00A0).
            let isNoBreakSpace = byte == 0xC2 && index + 1 < bytes.count && bytes[index + 1] == 0xA0
            if byte.isXMLSpace || isNoBreakSpace {
                if let last = line.last, last != 0x20 { line.append(0x20) }
                index += isNoBreakSpace ? 2 : 1
            } else {
                line.append(byte)
                index += 1
            }
        }
        if line.last == 0x20 { line.removeLast() }
        return line.isEmpty ? nil : String(decoding: line, as: UTF8.self)
    }

    /// Returns whether all white space is single spaces between words. Also returns false for any text with the byte
    /// 0xC2, since that may be the first byte of a no-break space.
    private static func isLine(_ text: some Collection<UInt8>) -> Bool {
        var last: UInt8 = 0x20
        for byte in text {
            if byte < 0x20 || byte == 0xC2 || (byte == 0x20 && last == 0x20) { return false }
            last = byte
        }
        return last != 0x20 || text.isEmpty
    }
}

extension UInt8 {
    var isDigit: Bool { self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9") }
    var isLetter: Bool { self | 0x20 >= UInt8(ascii: "a") && self | 0x20 <= UInt8(ascii: "z") }
    /// Whether the byte is XML's white space: space, tab, line feed, carriage return.
    var isXMLSpace: Bool { self == 0x20 || self == 0x0A || self == 0x0D || self == 0x09 }
}

extension BidirectionalCollection<UInt8> {
    /// The bytes without white space at either end.
    var trimmed: SubSequence {
        guard let first = firstIndex(where: { !$0.isXMLSpace }), let last = lastIndex(where: { !$0.isXMLSpace }) else {
            return self[startIndex..<startIndex]
        }
        return self[first...last]
    }
}

extension FeedBytes {
    /// The bytes without white space at either end.
    var trimmed: FeedBytes {
        let slice: SubSequence = trimmed
        return FeedBytes(rebasing: slice)
    }
}

/// Base64 (RFC 4648, section 4), in which white space is ignored and the padding may be missing.
enum Base64 {
    /// Returns the decoded bytes up to the padding; `nil` if the text contains an invalid character.
    static func decoded(_ text: some Collection<UInt8>) -> [UInt8]? {
        let digits = text.lazy.filter { !$0.isXMLSpace }.prefix { $0 != UInt8(ascii: "=") }
        var padded = Data(digits)
        padded.append(contentsOf: repeatElement(UInt8(ascii: "="), count: -padded.count & 3))
        return Data(base64Encoded: padded).map { [UInt8]($0) }
    }
}

/// A view of text in memory that belongs to the parser or the feed reader. It is valid only during the call that gets
/// it as an argument.
typealias FeedBytes = UnsafeBufferPointer<UInt8>

/// A position in `FeedBytes`.
typealias BytePosition = UnsafePointer<UInt8>

/// Normalization of texts for comparison with those in feeds.
package enum FeedText {
    /// Normalizes a title: collapses white space and replaces character references. Returns `nil` if nothing is left.
    package static func line(_ text: String) -> String? { FeedValues.line(text.utf8) }
}
