import Platform
import PodcastPages
import PodcastProtocol
import Synchronization
import Transfers

/// The progress line of a long command on standard error, if that is a terminal. Thread-safe.
final class ProgressLine: Sendable {
    private struct State {
        var isDrawn = false
        /// The text of the next frame; `nil` if none is scheduled.
        var pending: String?
        /// Whether `finish` was called. Events may still arrive after it, but the line is no longer drawn.
        var hasEnded = false
    }

    /// The time from a new text to the frame that shows it: texts that change faster cannot be read.
    static let interval = Duration.milliseconds(200)

    /// Whether standard error is a terminal that can redraw a line. If not, callers need not compute texts.
    let isShown = TerminalTraits(descriptor: 2).isScreen
    private let state = Mutex(State())

    /// Replaces the text of the line. Of several texts within an interval only the last appears.
    func show(_ text: @autoclosure () -> String) {
        guard isShown else { return }
        state.withLock { state in
            guard !state.hasEnded else { return }
            if state.pending == nil { Timers.after(Self.interval) { [self] in draw() } }
            state.pending = text()
        }
    }

    private func draw() {
        state.withLock { state in
            guard let text = state.pending else { return }
            (state.pending, state.isDrawn) = (nil, true)
            // A line as wide as the terminal would wrap on some terminals.
            let line = TextWidth.cut(PlainText.oneLine(text), to: TerminalTraits(descriptor: 2).width - 1)
            Terminal.write("\r\(line)\u{1B}[K", to: 2)
        }
    }

    /// Clears the line, and drops a text that is not drawn yet. Call before another line is printed.
    func clear() {
        state.withLock { state in
            if state.isDrawn { Terminal.write("\r\u{1B}[K", to: 2) }
            state = State(hasEnded: state.hasEnded)
        }
    }

    /// Clears the line for good: later texts are not drawn.
    func finish() {
        state.withLock { $0.hasEnded = true }
        clear()
    }
}

/// The texts of progress lines.
enum ProgressText {
    /// `12 of 340: Example Show`.
    static func count(_ done: Int, of total: Int, _ name: String = "") -> String {
        "\(min(done, total)) of \(total)" + (name.isEmpty ? "" : ": \(name)")
    }

    /// `1 of 3 [###.......] 37% 12.0 MiB/32.1 MiB 2.1 MiB/s 9s left`.
    static func downloads(_ board: TaskBoard, done: Int, of total: Int) -> String {
        var words = ["\(done) of \(total)"]
        if let sum = board.total {
            if let progress = sum.progress {
                words += [ProgressBar.text(progress, width: 10), "\(Int(progress))%"]
            }
            words.append("\(ByteText.size(sum.received))\(sum.expected.map { "/" + ByteText.size($0) } ?? "")")
            if let rate = sum.rate { words.append(ByteText.rate(rate)) }
            if let eta = sum.eta { words.append("\(TimeText.duration(eta)) left") }
        }
        // While no download runs, the reason why one waits is more useful than a rate.
        let tasks = board.tasks
        if !tasks.contains(where: { $0.state == .running }), let waiting = tasks.first(where: { $0.reason != nil }) {
            words.append("\(waiting.path): \(waiting.reason ?? "")")
        }
        return words.joined(separator: " ")
    }
}

/// The progress of fetched feeds: how many have ended, and the name of the last one.
final class FetchProgress: Sendable {
    private let line: ProgressLine
    /// The names of the shows that count; `nil` for all.
    private let shows: Set<String>?
    private let fetched = Mutex<Set<String>>([])

    init(_ line: ProgressLine, shows: Set<String>? = nil) {
        self.line = line
        self.shows = shows
    }

    /// The number of shows fetched so far.
    var count: Int { fetched.withLock { $0.count } }

    /// Handles an event of the daemon.
    func apply(_ event: Event) {
        guard event.task?.kind == .refresh, let show = event.path, shows?.contains(show) ?? true else { return }
        if event.endsTask { fetched.withLock { _ = $0.insert(show) } }
        line.show(shows.map { ProgressText.count(count, of: $0.count, show) } ?? "\(count) done: \(show)")
    }
}
