/// A streaming reader of SubRip, which passes each cue to a `WebVTTWriter`. A cue is a line with a number, a line with
/// two times, and the text up to a blank line.
struct SubRipReader: TranscriptReader {
    private var line: [UInt8] = []
    private var cue: TranscriptCue?
    private var isAfterReturn = false

    mutating func read(_ bytes: [UInt8], _ writer: inout WebVTTWriter) {
        for byte in bytes {
            switch byte {
            case 0x0A where isAfterReturn: isAfterReturn = false
            case 0x0A, 0x0D:
                isAfterReturn = byte == 0x0D
                endLine(&writer)
            default:
                isAfterReturn = false
                if line.count < TranscriptConverter.textLimit { line.append(byte) }
            }
        }
    }

    mutating func finish(_ writer: inout WebVTTWriter) {
        endLine(&writer)
        endCue(&writer)
    }

    private mutating func endLine(_ writer: inout WebVTTWriter) {
        let bytes = line
        line.removeAll(keepingCapacity: true)
        if bytes.allSatisfy(\.isXMLSpace) { return endCue(&writer) }
        let text = String(decoding: bytes, as: UTF8.self)
        if let times = Self.times(text) {
            // If the blank line is missing, this cue's number was read as the last line of the previous cue's text.
            if let last = cue?.text.split(whereSeparator: \.isNewline).last, last.allSatisfy(\.isWholeNumber) {
                cue?.text.removeLast(last.count)
            }
            endCue(&writer)
            cue = TranscriptCue(start: times.start, end: times.end, text: "", isMarkup: true)
        } else if let count = cue?.text.utf8.count, count < TranscriptConverter.textLimit {
            cue?.text += (count == 0 ? "" : "\n") + Self.markup(text)
        }
    }

    private mutating func endCue(_ writer: inout WebVTTWriter) {
        if let cue { writer.add(cue) }
        cue = nil
    }

    /// Parses `00:00:01,500 --> 00:00:04,000`.
    static func times(_ line: String) -> (start: Double, end: Double)? {
        guard let arrow = line.firstRange(of: "-->"), let start = TranscriptTime.seconds(line[..<arrow.lowerBound]),
            let end = TranscriptTime.seconds(line[arrow.upperBound...].drop { $0 == " " }.prefix { $0 != " " })
        else { return nil }
        return (start, end)
    }

    /// Converts a line to WebVTT's markup. The tags for italics, bold and underline stay. Other known tags, and
    /// instructions in braces such as the position `{\an8}`, are removed. The time is linear in the length of the line.
    static func markup(_ line: String) -> String {
        var result = ""
        var rest = line[...]
        // The characters that do not occur in `rest`, and so in no later rest either.
        var missing: Set<Character> = []
        /// Skips everything up to and including `end`. Returns `false`, and skips nothing, if there is none.
        func skip(through end: Character) -> Bool {
            guard !missing.contains(end) else { return false }
            guard let index = rest.firstIndex(of: end) else {
                missing.insert(end)
                return false
            }
            rest = rest[index...].dropFirst()
            return true
        }
        while let mark = rest.firstIndex(where: { $0 == "<" || $0 == "{" || $0 == "&" }) {
            result += rest[..<mark]
            rest = rest[mark...]
            if rest.hasPrefix("{\\"), skip(through: "}") { continue }
            if rest.first == "<", let name = tagName(rest), skip(through: ">") {
                if ["i", "b", "u", "/i", "/b", "/u"].contains(name) { result += "<\(name)>" }
            } else {
                let isReference =
                    rest.first == "&"
                    && rest.prefix(10).dropFirst().first(where: { !$0.isLetter && !$0.isNumber && $0 != "#" }) == ";"
                switch rest.first {
                case "<": result += "&lt;"
                case "&" where !isReference: result += "&amp;"
                default: result += rest.prefix(1)
                }
                rest = rest.dropFirst()
            }
        }
        return result + rest
    }

    /// Returns the name in the tag at the start of `tag`, in lower case; `nil` if it is none of the known ones.
    private static func tagName(_ tag: Substring) -> String? {
        let name = String(tag.dropFirst().prefix { $0.isLetter || $0 == "/" }).lowercased()
        return ["i", "b", "u", "/i", "/b", "/u", "font", "/font", "s", "/s", "span", "/span"].contains(name)
            ? name : nil
    }
}

/// Times in transcripts.
enum TranscriptTime {
    /// Parses seconds, `M:SS` or `H:MM:SS`, with an optional fraction after a comma or point.
    static func seconds(_ text: some StringProtocol) -> Double? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard (1...3).contains(parts.count) else { return nil }
        var seconds = 0.0
        for part in parts {
            let number = String(part.filter { !$0.isWhitespace }).replacing(",", with: ".")
            guard number.first?.isNumber ?? false, let value = Double(number), value < 1e9 else { return nil }
            seconds = seconds * 60 + value
        }
        return seconds
    }
}
