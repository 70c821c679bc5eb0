import Foundation
import Glibc

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
