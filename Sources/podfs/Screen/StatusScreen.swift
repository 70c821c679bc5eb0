import Glibc
import Platform
import PodcastPages
import PodcastProtocol
import Transfers

/// The rendering of `podfs status --watch`: a pure function of the tasks, and of the terminal's size and colors.
struct StatusScreen {
    /// The number of columns.
    var width: Int
    /// The maximum number of lines; `nil` means no limit, and no footer.
    var height: Int?
    var hasColour: Bool
    /// The task to which keys apply.
    var selected: TaskID?
    /// The last line: the explanation of the keys, or the result of the last key that was pressed.
    var footer: String?

    /// Select Graphic Rendition (ECMA-48, 8.3.117).
    enum Style: Int {
        case bold = 1
        case dim = 2
        case inverse = 7
        case red = 31
        case green = 32
        case yellow = 33
    }

    /// The minimum height at which there is a footer.
    private static let tall = 8

    /// Returns at most `height` lines, none wider than `width`.
    func lines(_ board: TaskBoard) -> [String] {
        let tasks = board.tasks
        var lines = [draw(heading(tasks, done: board.done), .bold)]
        if let total = board.total { lines.append(draw(columns(of: total, after: ""), .green)) }
        if !tasks.isEmpty { lines.append("") }
        let hasFooter = footer != nil && height ?? 0 >= Self.tall
        let room = height.map { $0 - (hasFooter ? 1 : 0) } ?? .max
        lines += list(tasks, room: room - lines.count)
        if !board.ended.isEmpty { lines += [""] + board.ended.map(line) }
        lines = Array(lines.prefix(room))
        if hasFooter, let footer {
            lines += Array(repeating: "", count: room - lines.count)
            lines.append(draw(PlainText.oneLine(footer), .dim))
        }
        return lines
    }

    private func heading(_ tasks: [StatusReport.Task], done: Int) -> String {
        if tasks.isEmpty { return done > 0 ? "no active tasks, \(done) done" : "no active tasks" }
        let counts = StatusReport(tasks: tasks).counts.map { ($0.state.rawValue, $0.count) } + [("done", done)]
        return counts.filter { $0.1 > 0 }.map { "\($0.1) \($0.0)" }.joined(separator: ", ")
    }

    /// Returns two lines for each of as many tasks as fit, the selected one among them.
    private func list(_ tasks: [StatusReport.Task], room: Int) -> [String] {
        if tasks.count <= room / 2 { return tasks.flatMap(lines) }
        // The last line is for the number of tasks that do not fit.
        let count = max(0, (room - 1) / 2)
        let last = tasks.firstIndex { $0.id == selected } ?? 0
        let shown = tasks[max(0, last - max(0, count - 1))...].prefix(count)
        return shown.flatMap(lines) + [draw("and \(tasks.count - shown.endIndex) more", .dim)]
    }

    private func lines(of task: StatusReport.Task) -> [String] {
        // Names come from feeds: they must not control the terminal.
        let isSelected = task.id == selected
        let path = (isSelected && !hasColour ? "> " : "") + PlainText.oneLine(task.path)
        let state = task.kind == .download ? task.state.rawValue : task.kind.rawValue
        let style: Style? =
            switch task.state {
            case .running: .green
            case .suspended: .yellow
            case .failed: .red
            default: .dim
            }
        // Every download has a bar, and other tasks once they have transferred bytes.
        let hasBar = task.reason == nil && (task.kind == .download || task.received > 0)
        let facts =
            hasBar
            ? columns(of: task, after: "  " + TextWidth.padded(state, to: 9))
            : "  \(state)" + (task.reason.map { ": \($0)" } ?? "")
        return [draw(TextWidth.cutMiddle(path, to: width), isSelected ? .inverse : nil), draw(facts, style)]
    }

    /// Returns the text, and after it those of bar, percent, sizes, rate and remaining time that fit into the width.
    private func columns(of task: StatusReport.Task, after start: String) -> String {
        let columns = task.columns(bar: max(0, min(30, width - 64)))
        return columns.dropFirst(width < 70 ? 1 : 0).reduce(start) { line, column in
            let next = line.isEmpty ? column : "\(line) \(column)"
            return TextWidth.columns(next) <= width ? next : line
        }
    }

    private func line(of transfer: StatusPage.Ended) -> String {
        let facts = transfer.error.map(PlainText.oneLine) ?? transfer.size.map(ByteText.size) ?? ""
        let end = TextWidth.cut("  \(facts)", to: width / 2)
        let path = TextWidth.cutMiddle(PlainText.oneLine(transfer.path), to: width - 7 - TextWidth.columns(end))
        let label = transfer.error == nil ? "done  " : "failed"
        return draw("\(label) \(path)\(end)", transfer.error == nil ? .green : .red)
    }

    private func draw(_ text: String, _ style: Style?) -> String {
        let text = TextWidth.cut(text, to: width)
        guard hasColour, let style, !text.isEmpty else { return text }
        return "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m"
    }
}

/// The alternate screen of a terminal; leaving it restores the previous contents.
struct FullScreen {
    /// The terminal's previous mode; `nil` if it could not be read.
    private let former: termios?

    // Private modes of xterm, supported by all current terminals (ctlseqs): 1049 alternate screen, 25 cursor, 7
    // line wrapping. It is off because a name that is drawn wider than computed must not shift the following lines.
    private static let enter = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[2J"
    private static let leave = "\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"

    /// Switches to the alternate screen, and turns off echo and line buffering (ICANON), so that a key arrives at once.
    init() {
        var mode = termios()
        former = tcgetattr(1, &mode) == 0 ? mode : nil
        if former != nil {
            mode.c_lflag &= ~tcflag_t(ECHO | ICANON)
            tcsetattr(1, TCSANOW, &mode)
        }
        Terminal.write(Self.enter)
    }

    /// Replaces the drawn lines, in one write so that no partial frame is visible.
    func draw(_ lines: [String]) {
        // Erase before writing a line. After writing a line as wide as the screen, the cursor is still on the last
        // cell, and erasing would clear that cell.
        let erased = lines.dropLast().map { "\u{1B}[K\($0)\r\n" }
        Terminal.write("\u{1B}[H\(erased.joined())\u{1B}[J\(lines.last ?? "")")
    }

    /// Restores the previous screen.
    func restore() {
        Terminal.write(Self.leave)
        // TCSAFLUSH discards keys that were typed but not yet read, since they were not meant for the shell.
        if var former { tcsetattr(1, TCSAFLUSH, &former) }
    }
}
