import Glibc

/// The alternate screen of a terminal; leaving it restores the previous contents.
struct FullScreen {
    private let descriptor: Int32
    /// The terminal's previous mode; `nil` if it could not be read.
    private let former: termios?

    // Private modes of xterm, supported by all current terminals (ctlseqs): 1049 alternate screen, 25 cursor, 7
    // line wrapping. It is off because a name that is drawn wider than computed must not shift the following lines.
    private static let enter = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[2J"
    private static let leave = "\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"

    /// Switches to the alternate screen, and turns off echo and line buffering (ICANON), so that a key arrives at once.
    init(descriptor: Int32) {
        self.descriptor = descriptor
        var mode = termios()
        if tcgetattr(descriptor, &mode) == 0 {
            former = mode
            mode.c_lflag &= ~tcflag_t(ECHO | ICANON)
            tcsetattr(descriptor, TCSANOW, &mode)
        } else {
            former = nil
        }
        Terminal.write(Self.enter, to: descriptor)
    }

    /// Replaces the drawn lines, in one write so that no partial frame is visible.
    func draw(_ lines: [String]) {
        var text = "\u{1B}[H"
        for (index, line) in lines.enumerated() {
            // Erase before writing the line. After writing a line as wide as the screen, the cursor is still on the
            // last cell, and erasing would clear that cell.
            text += (index > 0 ? "\r\n" : "") + (index == lines.count - 1 ? "\u{1B}[J" : "\u{1B}[K") + line
        }
        Terminal.write(lines.isEmpty ? text + "\u{1B}[J" : text, to: descriptor)
    }

    /// Restores the previous screen.
    func restore() {
        Terminal.write(Self.leave, to: descriptor)
        // TCSAFLUSH discards keys that were typed but not yet read, since they were not meant for the shell.
        if var former { tcsetattr(descriptor, TCSAFLUSH, &former) }
    }
}
