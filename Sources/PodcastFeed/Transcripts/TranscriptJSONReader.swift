/// A streaming reader of a transcript in JSON. Every object that has a text and a start time becomes a cue.
///
/// Reads the members `startTime`, `endTime`, `body` and `speaker` of Podcasting 2.0, and Whisper's `start`, `end` and
/// `text`. Tolerates syntax errors and skips everything else.
struct TranscriptJSONReader: TranscriptReader {
    private enum State {
        case between
        case string
        case escape
        /// Inside a `\u` escape, with its value and its number of digits so far.
        case unicode(UInt16, Int)
        /// Inside a number, or a word such as `null`.
        case word
    }

    private struct Members {
        var start: Double?
        var end: Double?
        var text: String?
        var speaker: String?
    }

    private var state = State.between
    private var token: [UInt8] = []
    /// UTF-16 code units of `\u` escapes that are not yet in `token`. A high surrogate waits here for the low one.
    private var units: [UInt16] = []
    /// The name of the member whose value follows.
    private var name: String?
    /// The last string, which is a name if a colon follows.
    private var string: String?
    /// The open objects, at most `depthLimit`.
    private var objects: [Members] = []
    /// The number of open objects nested below the last one in `objects`. Their members are ignored.
    private var deeper = 0

    private static let depthLimit = 64

    mutating func read(_ bytes: [UInt8], _ writer: inout WebVTTWriter) {
        for byte in bytes {
            switch state {
            case .string: readString(byte)
            case .escape: readEscape(byte)
            case .unicode(let value, let count): readUnicode(byte, value, count)
            case .word:
                if byte.isDigit || byte.isLetter || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-")
                    || byte == UInt8(ascii: "+")
                {
                    append(byte)
                } else {
                    state = .between
                    set(number: String(decoding: token, as: UTF8.self))
                    readMark(byte, &writer)
                }
            case .between: readMark(byte, &writer)
            }
        }
    }

    /// Does nothing: an object without an end is no cue.
    mutating func finish(_ writer: inout WebVTTWriter) {}

    private mutating func readMark(_ byte: UInt8, _ writer: inout WebVTTWriter) {
        switch byte {
        case UInt8(ascii: "\""):
            token.removeAll(keepingCapacity: true)
            state = .string
        case UInt8(ascii: ":"):
            name = string
            string = nil
        case UInt8(ascii: ","):
            endValue()
        case UInt8(ascii: "["):
            (name, string) = (nil, nil)
        case UInt8(ascii: "]"):
            (name, string) = (nil, nil)
        case UInt8(ascii: "{"):
            (name, string) = (nil, nil)
            if objects.count < Self.depthLimit { objects.append(Members()) } else { deeper += 1 }
        case UInt8(ascii: "}"):
            endValue()
            if deeper > 0 { deeper -= 1 } else { endObject(&writer) }
        case _ where byte.isXMLSpace: break
        default:
            token.removeAll(keepingCapacity: true)
            append(byte)
            state = .word
        }
    }

    // MARK: Strings

    private mutating func readString(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\\"): state = .escape
        case UInt8(ascii: "\""):
            flushUnits()
            string = String(decoding: token, as: UTF8.self)
            state = .between
        default:
            flushUnits()
            append(byte)
        }
    }

    private mutating func readEscape(_ byte: UInt8) {
        state = .string
        if byte == UInt8(ascii: "u") {
            state = .unicode(0, 0)
            return
        }
        flushUnits()
        switch byte {
        case UInt8(ascii: "n"): append(0x0A)
        case UInt8(ascii: "r"): append(0x0D)
        case UInt8(ascii: "t"): append(0x09)
        case UInt8(ascii: "b"), UInt8(ascii: "f"): append(0x20)
        default: append(byte)
        }
    }

    private mutating func readUnicode(_ byte: UInt8, _ value: UInt16, _ count: Int) {
        guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
            state = .string
            return readString(byte)
        }
        let value = value << 4 | UInt16(digit)
        guard count == 3 else {
            state = .unicode(value, count + 1)
            return
        }
        state = .string
        if !(0xDC00...0xDFFF ~= value) { flushUnits() }
        units.append(value)
        if !(0xD800...0xDBFF ~= value) { flushUnits() }
    }

    private mutating func flushUnits() {
        guard !units.isEmpty else { return }
        for byte in String(decoding: units, as: UTF16.self).utf8 { append(byte) }
        units.removeAll(keepingCapacity: true)
    }

    private mutating func append(_ byte: UInt8) {
        if token.count < TranscriptConverter.textLimit { token.append(byte) }
    }

    // MARK: Values

    /// Stores a number as the value of the current member; a word such as `null` is ignored.
    private mutating func set(number: String) {
        guard deeper == 0, let name, let last = objects.indices.last, let value = Double(number) else { return }
        switch name {
        case "startTime", "start": objects[last].start = value
        case "endTime", "end": objects[last].end = value
        default: break
        }
    }

    private mutating func endValue() {
        defer { (name, string) = (nil, nil) }
        guard deeper == 0, let name, let string, let last = objects.indices.last else { return }
        switch name {
        case "body", "text": objects[last].text = string
        case "speaker": objects[last].speaker = string
        // Some writers put the number into quotes.
        case "startTime", "start": objects[last].start = TranscriptTime.seconds(string)
        case "endTime", "end": objects[last].end = TranscriptTime.seconds(string)
        default: break
        }
    }

    private mutating func endObject(_ writer: inout WebVTTWriter) {
        guard let members = objects.popLast(), let start = members.start, let text = members.text else { return }
        writer.add(
            TranscriptCue(start: start, end: members.end, speaker: members.speaker, text: text), joins: true)
    }
}
