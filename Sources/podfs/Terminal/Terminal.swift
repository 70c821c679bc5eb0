import ArgumentParser
import Foundation
import Platform
import PodcastFeed
import Synchronization

/// Standard output and standard error.
///
/// Names and messages come from feeds and servers. All text for people is therefore sanitized here, even if its source
/// has sanitized it already, so that it cannot control the terminal.
enum Terminal {
    /// Prints sanitized text and a line feed on standard output.
    static func print(_ text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        write(lines.map { PlainText.oneLine(String($0)) }.joined(separator: "\n") + "\n", to: 1)
    }

    /// Writes text to standard output, not sanitized and without a line feed.
    static func write(_ text: String) { write(text, to: 1) }

    /// Prints a message on standard error as one sanitized line, with `podfs: ` before it.
    static func error(_ text: String) {
        let lines = text.split(separator: "\n").joined(separator: "; ")
        write("podfs: \(PlainText.oneLine(lines))\n", to: 2)
    }

    static func print(_ json: OrderedJSON) { print(json: String(decoding: json.encoded(), as: UTF8.self)) }

    /// Prints a JSON text. Characters that could control a terminal are escaped, which does not change the JSON value.
    static func print(json text: String) { write(json: text + "\n") }

    /// Writes a JSON text like `print(json:)`, without a line feed.
    static func write(json text: String) { write(JSONText.escaped(text), to: 1) }

    /// Writes a piece of UTF-8 JSON that ends at a character boundary. Most pieces are ASCII. The encoder has escaped
    /// the C0 controls, so DEL is the only ASCII character that could still control a terminal: a piece of ASCII
    /// without DEL is written unchanged.
    static func write(json piece: [UInt8]) {
        // Tests the high bit, which is set in non-ASCII bytes and in DEL + 1.
        if piece.reduce(0, { $0 | $1 | ($1 &+ 1) }) < 0x80 {
            write(piece, to: 1)
        } else {
            write(json: String(decoding: piece, as: UTF8.self))
        }
    }

    static func write(_ text: String, to descriptor: Int32) { write(Array(text.utf8), to: descriptor) }

    /// Writes bytes. The first failure on standard output is remembered for `checkOutput`; others are ignored.
    static func write(_ bytes: [UInt8], to descriptor: Int32) {
        guard !writeAll(bytes, to: descriptor), descriptor == 1 else { return }
        _ = outputError.compareExchange(expected: 0, desired: errno, ordering: .relaxed)
    }

    /// The errno of the first failed write to standard output; 0 if none has failed.
    private static let outputError = Atomic<Int32>(0)

    /// Throws if a write to standard output has failed, for example on a full disk, so that a command with truncated
    /// output does not exit with 0. A pipe without a reader (EPIPE) and a closed output (EBADF) are not errors.
    static func checkOutput() throws(CommandError) {
        let code = outputError.load(ordering: .relaxed)
        guard ![0, EPIPE, EBADF].contains(code) else { return }
        throw CommandError(.failed, "cannot write to standard output: \(errnoText(code))")
    }
}

/// A JSON array on standard output, written element by element.
struct JSONArrayOutput {
    private var isEmpty = true

    mutating func write(_ value: OrderedJSON) {
        Terminal.write(json: isEmpty ? "[" : ",\n ")
        isEmpty = false
        Terminal.write(json: String(decoding: value.encoded(pretty: false), as: UTF8.self))
    }

    func end() { Terminal.print(json: isEmpty ? "[]" : "]") }
}

/// Escaping of JSON that may be displayed on a terminal.
enum JSONText {
    /// Escapes the characters from U+007F on that control a terminal, end a line or change the text direction. In JSON
    /// they occur only in strings; the encoder has already escaped the C0 controls, except for the line feeds of its
    /// layout.
    static func escaped(_ text: String) -> String {
        PlainText.replacing({ $0.value >= 0x7F && PlainText.isHarmful($0) }, in: text) { scalar in
            let digits = String(scalar.value, radix: 16, uppercase: true)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
    }
}

/// The capabilities of the terminal behind a descriptor.
struct TerminalTraits: Equatable {
    /// Whether the descriptor is a terminal that can redraw lines: TERM is neither empty nor `dumb`.
    var isScreen: Bool
    var hasColour: Bool
    var width: Int
    var height: Int

    /// The plausible widths and heights. A value outside this range is ignored. The status screen is padded with empty
    /// lines up to the height, so an absurd height would produce a huge frame.
    private static let sizes = 1...10_000

    /// - Parameter environment: The environment variables: TERM and NO_COLOR (no-color.org) are read, and COLUMNS and
    ///   LINES if the terminal reports no plausible size.
    init(descriptor: Int32, environment: [String: String] = ProcessInfo.processInfo.environment) {
        // `struct winsize` of ioctl_tty(2): rows, columns, and two unused fields; unchanged on failure.
        var window: [UInt16] = [0, 0, 0, 0]
        _ = ioctl(descriptor, UInt(TIOCGWINSZ), &window)
        isScreen = isatty(descriptor) == 1 && !["", "dumb"].contains(environment["TERM"] ?? "")
        hasColour = isScreen && (environment["NO_COLOR"] ?? "").isEmpty
        // The size of the VT100 is the usual default.
        func size(_ own: UInt16, _ variable: String, _ standard: Int) -> Int {
            [Int(own), environment[variable].flatMap { Int($0) } ?? 0].first(where: Self.sizes.contains) ?? standard
        }
        width = size(window[1], "COLUMNS", 80)
        height = size(window[0], "LINES", 24)
    }
}

/// The option `--quiet` of commands that report what they did.
struct Reporting: ParsableArguments {
    @Flag(name: .shortAndLong, help: "Print only errors.")
    var quiet = false

    /// Prints a line, unless `--quiet` is given.
    func print(_ text: String) {
        if !quiet { Terminal.print(text) }
    }
}

/// Phrases of reports.
enum ReportText {
    /// Returns a number with its noun: `1 episode`, `12 episodes`.
    static func count(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }

    /// Returns a number with its noun and verb: `1 episode is`, `12 episodes are`.
    static func are(_ count: Int, _ noun: String) -> String {
        "\(self.count(count, noun)) \(count == 1 ? "is" : "are")"
    }
}

/// The number of columns that a terminal needs for a text: two for East Asian wide characters and emoji, none for
/// characters that combine with the previous one.
enum TextWidth {
    /// Returns the width of a text in columns.
    static func columns(_ text: String) -> Int { text.reduce(0) { $0 + columns($1) } }

    /// Returns the width of a character, which may consist of several scalars.
    static func columns(_ character: Character) -> Int {
        let scalars = character.unicodeScalars
        // An emoji of several scalars: one with a skin tone or VARIATION SELECTOR-16, a family, or a flag.
        if scalars.count > 1, let first = scalars.first, first.properties.isEmoji,
            scalars.dropFirst().contains(where: { $0.value == 0xFE0F || $0.properties.isEmojiPresentation })
        {
            return 2
        }
        return scalars.reduce(0) { $0 + columns($1) }
    }

    private static func columns(_ scalar: Unicode.Scalar) -> Int {
        if (0x20..<0x7F).contains(scalar.value) { return 1 }
        // Hangul vowels and final consonants combine with the letters before them.
        if (0x1160...0x11FF).contains(scalar.value) || (0xD7B0...0xD7FF).contains(scalar.value) { return 0 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control, .lineSeparator, .paragraphSeparator: return 0
        default: break
        }
        if scalar.properties.isEmojiPresentation { return 2 }
        return wide.contains { $0.contains(scalar.value) } ? 2 : 1
    }

    /// The code points with East_Asian_Width W or F in the Unicode Character Database, without emoji. Unassigned code
    /// points have the width of their neighbors.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2329...0x232A, 0x2E80...0x303E, 0x3041...0x3247, 0x3250...0x4DBF, 0x4E00...0xA4CF,
        0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF01...0xFF60,
        0xFFE0...0xFFE6, 0x16FE0...0x1B2FF, 0x1F200...0x1F265, 0x20000...0x3FFFD,
    ]

    /// Truncates a text at its end to fit the width, with an ellipsis.
    static func cut(_ text: String, to width: Int) -> String {
        if columns(text) <= width { return text }
        return width < 1 ? "" : prefix(text, width - 1) + "…"
    }

    /// Truncates a text in its middle to fit the width, with an ellipsis: the start and the end of `SHOW/EPISODE.mp3`
    /// identify it best.
    static func cutMiddle(_ text: String, to width: Int) -> String {
        if columns(text) <= width { return text }
        if width < 3 { return cut(text, to: width) }
        let head = prefix(text, width / 2)
        let tail = prefix(String(text.reversed()), width - 1 - columns(head))
        return head + "…" + String(tail.reversed())
    }

    /// Returns the longest prefix that fits the width.
    private static func prefix(_ text: String, _ width: Int) -> String {
        var rest = width
        return String(
            text.prefix { character in
                rest -= columns(character)
                return rest >= 0
            })
    }

    /// Pads a text with spaces to a width, at its end or at its start.
    static func padded(_ text: String, to width: Int, atStart: Bool = false) -> String {
        let spaces = String(repeating: " ", count: max(0, width - columns(text)))
        return atStart ? spaces + text : text + spaces
    }
}
