import Foundation
import Glibc

/// What the terminal behind a descriptor can do.
struct TerminalTraits: Equatable {
    /// Whether lines can be drawn again: a terminal that knows more than writing one after the other.
    var isScreen: Bool
    var hasColour: Bool
    var width: Int
    var height: Int

    /// - Parameter environment: NO_COLOR (no-color.org), TERM, and COLUMNS and LINES for a terminal that does not know its
    ///   size.
    init(descriptor: Int32, environment: [String: String] = ProcessInfo.processInfo.environment) {
        var size = winsize()
        let isKnown = ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0
        self.init(
            isTerminal: isatty(descriptor) == 1, width: isKnown ? Int(size.ws_col) : 0,
            height: isKnown ? Int(size.ws_row) : 0, environment: environment)
    }

    /// What a screen measures, whatever a variable says: lines are filled with spaces up to its width.
    private static let sides = 1...10_000

    /// - Parameters:
    ///   - width, height: 0 where the terminal does not say.
    init(isTerminal: Bool, width: Int, height: Int, environment: [String: String]) {
        let kind = environment["TERM"] ?? ""
        isScreen = isTerminal && !kind.isEmpty && kind != "dumb"
        hasColour = isScreen && (environment["NO_COLOR"] ?? "").isEmpty
        // The size of the VT100, which every terminal has been compared with since.
        self.width = [width, environment["COLUMNS"].flatMap { Int($0) } ?? 0].first(where: Self.sides.contains) ?? 80
        self.height = [height, environment["LINES"].flatMap { Int($0) } ?? 0].first(where: Self.sides.contains) ?? 24
    }
}
