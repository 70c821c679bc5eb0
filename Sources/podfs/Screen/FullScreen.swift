import Glibc

/// The terminal while a command draws all of it: its second screen, so that what stood there before comes back.
struct FullScreen {
    private let descriptor: Int32
    private let former: termios?

    // The private modes of xterm, which all terminals of today know (ctlseqs: 1049 alternate screen, 25 cursor, 7
    // wrapping: a name that a terminal draws wider than it is must not break the lines below).
    private static let enter = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[2J"
    private static let leave = "\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"

    /// Takes the screen; what is typed is not shown on it.
    init(descriptor: Int32) {
        self.descriptor = descriptor
        var mode = termios()
        if tcgetattr(descriptor, &mode) == 0 {
            former = mode
            mode.c_lflag &= ~tcflag_t(ECHO)
            tcsetattr(descriptor, TCSANOW, &mode)
        } else {
            former = nil
        }
        Terminal.write(Self.enter, to: descriptor)
    }

    /// Puts lines in place of those that were drawn before, in one write so that no half of it is seen.
    func draw(_ lines: [String]) {
        var text = "\u{1B}[H"
        for (index, line) in lines.enumerated() { text += (index > 0 ? "\r\n" : "") + line + "\u{1B}[K" }
        Terminal.write(text + "\u{1B}[J", to: descriptor)
    }

    /// Gives the screen back as it was.
    func end() {
        Terminal.write(Self.leave, to: descriptor)
        // What was typed meanwhile was not meant for the shell.
        if var former { tcsetattr(descriptor, TCSAFLUSH, &former) }
    }
}
