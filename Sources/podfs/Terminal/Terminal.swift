import ArgumentParser
import Foundation
import Glibc
import Platform
import PodcastFeed
import PodcastPages
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

    /// - Parameter environment: The environment variables: TERM and NO_COLOR (no-color.org) are read, and COLUMNS and
    ///   LINES if the terminal reports no plausible size.
    init(descriptor: Int32, environment: [String: String] = ProcessInfo.processInfo.environment) {
        // `struct winsize` of ioctl_tty(2): rows, columns, and two unused fields.
        var size: [UInt16] = [0, 0, 0, 0]
        let isKnown = ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0
        self.init(
            isTerminal: isatty(descriptor) == 1, width: isKnown ? Int(size[1]) : 0, height: isKnown ? Int(size[0]) : 0,
            environment: environment)
    }

    /// The plausible widths and heights. A value outside this range is ignored. The status screen is padded with empty
    /// lines up to the height, so an absurd height would produce a huge frame.
    private static let sizes = 1...10_000

    /// - Parameters:
    ///   - width, height: 0 if the terminal does not report them.
    init(isTerminal: Bool, width: Int, height: Int, environment: [String: String]) {
        let kind = environment["TERM"] ?? ""
        isScreen = isTerminal && !kind.isEmpty && kind != "dumb"
        hasColour = isScreen && (environment["NO_COLOR"] ?? "").isEmpty
        // The size of the VT100 is the usual default.
        self.width = [width, environment["COLUMNS"].flatMap { Int($0) } ?? 0].first(where: Self.sizes.contains) ?? 80
        self.height = [height, environment["LINES"].flatMap { Int($0) } ?? 0].first(where: Self.sizes.contains) ?? 24
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

    /// Prints what begins, if it may take the daemon seconds, as with thousands of episodes.
    ///
    /// - Parameter action: The present participle.
    func begin(_ action: String, _ episodes: Int) {
        if episodes >= 100 { print("\(action) \(ReportText.count(episodes, "episode"))") }
    }
}

/// Phrases of reports.
enum ReportText {
    /// Returns a number with its noun: `1 episode`, `12 episodes`.
    static func count(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
}
