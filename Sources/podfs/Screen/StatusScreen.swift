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
    /// Whether the transfers that have ended are listed below the tasks.
    var listsEnded = false

    /// Select Graphic Rendition (ECMA-48, 8.3.117).
    enum Style: Int {
        case bold = 1
        case dim = 2
        case inverse = 7
        case red = 31
        case green = 32
        case yellow = 33
    }

    /// Text with one style.
    private struct Piece {
        var text: String
        var style: Style?
    }

    /// The minimum width at which a task takes one line instead of two. A task with an error always takes two.
    private static let wide = 110

    /// The minimum height at which there is a footer.
    private static let tall = 8

    /// Returns at most `height` lines, none wider than `width`.
    func lines(_ board: TaskBoard, now: Double) -> [String] {
        let tasks = board.tasks(now: now)
        var head = [[Piece(text: heading(tasks, done: board.done), style: .bold)]]
        if let total = board.total(now: now) {
            head.append(details(of: total.task, style: .green, isEstimate: total.isEstimate))
        }
        if !tasks.isEmpty { head.append([]) }
        let hasFooter = footer != nil && height ?? 0 >= Self.tall
        let room = height.map { max(0, $0 - (hasFooter ? 1 : 0)) }
        var shown = head + list(tasks, room: room.map { max(0, $0 - head.count) })
        if listsEnded { shown += ended(board, room: room.map { $0 - shown.count } ?? .max) }
        if let room { shown = Array(shown.prefix(room)) }
        if hasFooter, let footer, let room {
            shown += Array(repeating: [], count: max(0, room - shown.count))
            shown.append([Piece(text: TextWidth.cut(PlainText.oneLine(footer), to: width), style: .dim)])
        }
        return shown.map(draw)
    }

    /// Returns the lines of as many tasks as fit, the selected one among them.
    private func list(_ tasks: [StatusReport.Task], room: Int?) -> [[Piece]] {
        let blocks = tasks.map(block)
        guard let room else { return blocks.flatMap(\.self) }
        var start = 0
        if let selected, let index = tasks.firstIndex(where: { $0.id == selected }) {
            start = Self.firstShown(blocks.map(\.count), selected: index, room: room - 1)
        }
        var shown: [[Piece]] = []
        for (index, block) in blocks.enumerated().dropFirst(start) {
            let isLast = index == tasks.count - 1
            // The last line is reserved for the number of tasks that do not fit.
            if shown.count + block.count > (isLast ? room : room - 1) {
                shown.append([Piece(text: "and \(tasks.count - index) more", style: .dim)])
                break
            }
            shown += block
        }
        return shown
    }

    /// Returns the index of the first task to show: as early as the selected one then still fits.
    ///
    /// - Parameter lineCounts: The number of lines of each task.
    static func firstShown(_ lineCounts: [Int], selected: Int, room: Int) -> Int {
        var start = selected
        var count = lineCounts[selected]
        while start > 0, count + lineCounts[start - 1] <= room {
            start -= 1
            count += lineCounts[start]
        }
        return start
    }

    private func ended(_ board: TaskBoard, room: Int) -> [[Piece]] {
        guard !board.ended.isEmpty, room >= 3 else { return [] }
        let lines = board.ended.prefix(room - 1).map { transfer -> [Piece] in
            let path = PlainText.oneLine(transfer.path)
            let facts = transfer.error.map(PlainText.oneLine) ?? transfer.size.map(ByteText.size) ?? ""
            let end = TextWidth.cut("  \(facts)", to: max(0, width / 2))
            let label = transfer.error == nil ? "done" : "failed"
            let space = max(0, width - 8 - TextWidth.columns(end))
            return [
                Piece(text: TextWidth.padded(label, to: 6), style: transfer.error == nil ? .green : .red),
                Piece(text: TextWidth.cutMiddle(path, to: space) + end),
            ]
        }
        return [[]] + lines
    }

    private func heading(_ tasks: [StatusReport.Task], done: Int) -> String {
        let counts = StatusReport(tasks: tasks).counts.map { ($0.state.rawValue, $0.count) } + [("done", done)]
        let words = counts.filter { $0.1 > 0 }.map { "\($0.1) \($0.0)" }.joined(separator: ", ")
        if tasks.isEmpty { return done > 0 ? "no active tasks, \(done) done" : "no active tasks" }
        return words
    }

    // MARK: Tasks

    private func block(_ task: StatusReport.Task) -> [[Piece]] {
        // Names come from feeds: they must not control the terminal.
        let isSelected = task.id == selected
        let path = (isSelected && !hasColour ? "> " : "") + PlainText.oneLine(task.path)
        let pathStyle: Style? = isSelected ? .inverse : nil
        let style = Self.style(of: task.state)
        let state = task.kind == .download ? task.state.rawValue : task.kind.rawValue
        if let reason = task.reason {
            let label = "\(state): "
            let room = max(0, width - 2 - TextWidth.columns(label))
            return [
                [Piece(text: TextWidth.cutMiddle(path, to: width), style: pathStyle)],
                [Piece(text: "  \(label)\(TextWidth.cut(reason, to: room))", style: style)],
            ]
        }
        if width >= Self.wide {
            let label = Piece(text: TextWidth.padded(state, to: 9), style: style)
            // The details are in columns of fixed width; the path gets the remaining width.
            let columns = hasBar(task) ? details(of: task, style: style, width: Self.wide - 40) : []
            let used = (columns + [label]).reduce(0) { $0 + TextWidth.columns($1.text) + 1 }
            return [[label] + columns + [Piece(text: TextWidth.cutMiddle(path, to: width - used), style: pathStyle)]]
        }
        guard hasBar(task) else {
            return [
                [Piece(text: TextWidth.cutMiddle(path, to: width), style: pathStyle)],
                [Piece(text: TextWidth.cut("  \(state)", to: width), style: style)],
            ]
        }
        let room = width - 12
        if room >= 30 {
            return [
                [Piece(text: TextWidth.cutMiddle(path, to: width), style: pathStyle)],
                [Piece(text: " "), Piece(text: TextWidth.padded(state, to: 9), style: style)]
                    + details(of: task, style: style, width: room),
            ]
        }
        return [
            [Piece(text: TextWidth.cutMiddle(path, to: width), style: pathStyle)],
            [Piece(text: " ")] + details(of: task, style: style, width: width - 2),
        ]
    }

    /// Returns whether a task has a bar: every download, and other tasks once they have transferred bytes.
    private func hasBar(_ task: StatusReport.Task) -> Bool { task.kind == .download || task.received > 0 }

    private static func style(of state: TaskState) -> Style? {
        switch state {
        case .running: .green
        case .suspended: .yellow
        case .failed: .red
        default: .dim
        }
    }

    /// Returns bar, percent, size, rate and remaining time. If they do not fit, the size is left out first, then the
    /// rate, then the remaining time, and finally the bar. For the same `width`, all tasks have the same columns.
    private func details(
        of task: StatusReport.Task, style: Style?, width: Int? = nil, isEstimate: Bool = false
    ) -> [Piece] {
        let width = width ?? self.width
        let percent = ProgressBar.percent(task.shownProgress)
        let expected = (isEstimate && task.expected != nil ? "~" : "") + task.sizeText
        let size = "\(ByteText.size(task.received))/\(expected)"
        var optional = [
            (TextWidth.padded(task.eta.map(TimeText.duration) ?? "-", to: 6, atStart: true), 7),
            (TextWidth.padded(task.rate.map(ByteText.rate) ?? "-", to: 12, atStart: true), 13),
            (TextWidth.padded(size, to: 21, atStart: true), 22),
        ]
        // The shortest useful bar has four characters between its brackets: `room` must be at least 6.
        var room = width - 7
        var extra: [String] = []
        while let (text, columns) = optional.first, room - columns >= 12 {
            extra.insert(text, at: 0)
            room -= columns
            optional.removeFirst()
        }
        guard room >= 6 else {
            let bare = String(percent.drop { $0 == " " })
            return [Piece(text: TextWidth.cut(bare, to: width), style: style)]
        }
        let bar = ProgressBar.text(task.shownProgress, width: min(30, room - 2))
        return [Piece(text: bar, style: style), Piece(text: percent)] + extra.map { Piece(text: $0) }
    }

    private func draw(_ pieces: [Piece]) -> String {
        var rest = width
        var line = ""
        for (index, piece) in pieces.enumerated() {
            let text = TextWidth.cut((index > 0 ? " " : "") + piece.text, to: rest)
            rest -= TextWidth.columns(text)
            if hasColour, let style = piece.style, !text.isEmpty {
                line += "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m"
            } else {
                line += text
            }
        }
        return line
    }
}

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
