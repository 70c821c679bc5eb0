import Foundation
import Platform
import PodcastPages
import PodcastProtocol
import Synchronization
import Transfers

/// The progress line of a long command on standard error, if that is a terminal. Thread-safe.
final class ProgressLine: Sendable {
    private struct State {
        var isDrawn = false
        /// The time of the last frame, in seconds of a monotonic clock.
        var last = -Double.infinity
        /// The number of columns of the drawn text.
        var columns = 0
        /// The text of the next frame; `nil` if none is scheduled.
        var pending: String?
        /// Whether `finish` was called. Events may still arrive after it, but the line is no longer drawn.
        var hasEnded = false
    }

    /// Whether the descriptor is a terminal that can redraw a line. If not, callers need not compute texts.
    let isShown: Bool
    private let descriptor: Int32
    private let state = Mutex(State())

    init(descriptor: Int32 = 2) {
        self.descriptor = descriptor
        isShown = TerminalTraits(descriptor: descriptor).isScreen
    }

    /// Replaces the text of the line. The line is drawn at most once per `FramePace.interval`, so that of several texts
    /// within an interval only the last appears.
    func show(_ text: @autoclosure () -> String) {
        guard isShown else { return }
        state.withLock { state in
            guard !state.hasEnded else { return }
            let isScheduled = state.pending != nil
            state.pending = text()
            if isScheduled { return }
            let wait = state.last + FramePace.interval - ContinuousClock.now.seconds
            if wait <= 0 { return draw(&state) }
            Timers.after(.seconds(wait)) { [self] in drawPending() }
        }
    }

    private func drawPending() { state.withLock { draw(&$0) } }

    private func draw(_ state: inout State) {
        guard let text = state.pending else { return }
        state.pending = nil
        state.last = ContinuousClock.now.seconds
        state.isDrawn = true
        // A line as wide as the terminal would wrap on some terminals.
        let width = TerminalTraits(descriptor: descriptor).width
        let line = TextWidth.cut(PlainText.oneLine(text), to: width - 1)
        Terminal.write("\(Self.start(of: state.columns, in: width))\(line)\u{1B}[K", to: descriptor)
        state.columns = TextWidth.columns(line)
    }

    /// Returns the control sequence that moves to the start of the drawn line. A terminal that was made narrower has
    /// wrapped the line, so that the cursor is some rows below the line's start. xterm and the Linux console cut lines
    /// instead.
    static func start(
        of columns: Int, in width: Int, environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> String {
        let rows = max(0, columns - 1) / max(1, width)
        let wraps = environment["XTERM_VERSION"] == nil && environment["TERM"] != "linux"
        return rows > 0 && wraps ? "\u{1B}[\(rows)A\r\u{1B}[J" : "\r"
    }

    /// Clears the line, and drops a text that is not drawn yet. Call before another line is printed.
    func clear() {
        guard isShown else { return }
        state.withLock { state in
            if state.isDrawn {
                let width = TerminalTraits(descriptor: descriptor).width
                Terminal.write("\(Self.start(of: state.columns, in: width))\u{1B}[K", to: descriptor)
            }
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

    /// `1 of 3 [###.......] 37% 12.0 MiB/32.1 MiB 2.1 MiB/s 9s left`. A `~` before the total marks an estimate.
    static func downloads(_ board: TaskBoard, done: Int, of total: Int, now: Double) -> String {
        var words = ["\(done) of \(total)"]
        if let total = board.total(now: now) {
            let sum = total.task
            let mark = total.isEstimate ? "~" : ""
            if let progress = sum.progress {
                words.append(ProgressBar.text(progress, width: 10))
                words.append("\(Int(progress))%")
            }
            words.append("\(ByteText.size(sum.received))\(sum.expected.map { "/\(mark)" + ByteText.size($0) } ?? "")")
            if let rate = sum.rate { words.append(ByteText.rate(rate)) }
            if let eta = sum.eta { words.append("\(TimeText.duration(eta)) left") }
        }
        // While no download runs, the reason why one waits is more useful than a rate.
        let tasks = board.tasks(now: now)
        if !tasks.contains(where: { $0.state == .running }), let waiting = tasks.first(where: { $0.reason != nil }) {
            words.append("\(waiting.path): \(waiting.reason ?? "")")
        }
        return words.joined(separator: " ")
    }
}

/// A limit on redraws: the screen is drawn at most five times a second, however many events arrive.
struct FramePace {
    /// The minimum interval between two frames, in seconds. Numbers that change faster cannot be read.
    static let interval = 0.2

    /// The time of the last drawn frame. All times are in seconds of one monotonic clock.
    private var last = -Double.infinity
    /// The time of a requested frame that is not drawn yet; `nil` if there is none.
    private var due: Double?

    /// Requests a frame at `when`, or `interval` after the last drawn one if that is later.
    ///
    /// - Returns: The seconds after which to call `recordIfDue`; `nil` if a call is already scheduled for that time or
    ///   earlier.
    mutating func requestFrame(at when: Double, now: Double) -> Double? {
        let time = max(when, last + Self.interval)
        if let due, due <= time { return nil }
        due = time
        return max(0, time - now)
    }

    /// Records the requested frame as drawn if it is due; returns whether it is.
    mutating func recordIfDue(now: Double) -> Bool {
        guard let due, due <= now else { return false }
        self.due = nil
        last = now
        return true
    }
}
