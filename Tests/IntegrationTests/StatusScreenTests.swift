import PodcastPages
import PodcastProtocol
import TestSupport
import Testing
import Transfers

@testable import podfs

/// The frames of `status --watch`, without a terminal.
struct StatusScreenTests {
    private let board = TaskBoard()

    private func task(
        _ id: TaskID, _ path: String, state: TaskState = .running, received: Int64 = 12 << 20,
        expected: Int64? = 32 << 20,
        rate: Double? = 2_097_152, error: String? = nil
    ) -> TaskInfo {
        TaskInfo(
            id: id, kind: .download, path: path, episode: EpisodeID(id.rawValue), state: state, received: received,
            expected: expected,
            rate: rate, error: error, started: 0)
    }

    private func lines(_ width: Int, height: Int? = nil, colour: Bool = false, now: Double = 1) -> [String] {
        StatusScreen(width: width, height: height, hasColour: colour).lines(board, now: now)
    }

    @Test func anEmptyScreenSaysThatNothingIsTransferred() {
        #expect(lines(80) == ["no active tasks"])
        #expect(lines(8) == ["no acti…"])
    }

    @Test func aWideTerminalHasOneLineForEachTask() {
        board.replace(
            with: [
                task(2, "Show/Two.mp3", state: .queued, received: 0, expected: 8 << 20, rate: nil),
                task(1, "Show/One.mp3"),
            ], now: 0)
        #expect(
            lines(120) == [
                "1 running, 1 queued",
                "[#########.....................]  30.0%     12.0 MiB/40.0 MiB    2.0 MiB/s    14s",
                "",
                "running   [#######............]  37.5%     12.0 MiB/32.0 MiB    2.0 MiB/s    10s Show/One.mp3",
                "queued    [...................]   0.0%           0 B/8.0 MiB            -      - Show/Two.mp3",
            ])
    }

    @Test func aNarrowTerminalHasTwoLinesForEachTask() {
        board.replace(with: [task(1, "Example Show/2026-11-20 Pilot.mp3")], now: 0)
        #expect(
            lines(80) == [
                "1 running",
                "[##########...................]  37.5%     12.0 MiB/32.0 MiB    2.0 MiB/s    10s",
                "",
                "Example Show/2026-11-20 Pilot.mp3",
                "  running   [######...........]  37.5%     12.0 MiB/32.0 MiB    2.0 MiB/s    10s",
            ])
        #expect(lines(20) == ["1 running", "[####.......]  37.5%", "", "Example Sh…Pilot.mp3", "  [###......]  37.5%"])
        #expect(lines(5) == ["1 ru…", "37.5%", "", "Ex…p3", "  37…"])
    }

    @Test func noLineIsWiderAndNoFrameIsHigherThanTheTerminal() {
        let hostile = "番組\u{1B}[2J/\u{9B}31m 👩‍👩‍👧‍👦 e\u{301}pisode \u{202E}3pm.mp3\nnext"
        let tasks = (1...30).map { (number: Int) -> TaskInfo in
            task(
                TaskID(Int64(number)), hostile, state: TaskState.counted[number % 4],
                expected: number % 3 == 0 ? nil : 32 << 20,
                error: number % 4 == 3 ? "the server said \u{1B}]0;x\u{7}" : nil)
        }
        board.replace(with: tasks, now: 0)
        for width in Array(1...30) + [59, 60, 79, 80, 109, 110, 200] {
            for height in [1, 2, 7, 100] {
                let plain = lines(width, height: height)
                #expect(plain.count <= height)
                #expect(plain.allSatisfy { TextWidth.columns($0) <= width })
                #expect(plain.allSatisfy { !$0.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x9B } })
                let coloured = lines(width, height: height, colour: true)
                #expect(coloured.map(PseudoTerminal.withoutSequences) == plain)
            }
        }
        #expect(lines(80, height: 10).last == "and 27 more")
    }

    @Test(arguments: [
        ([2, 2, 2], 0, 5, 0), ([2, 2, 2], 1, 5, 0), ([2, 2, 2], 2, 5, 1), ([2, 1, 2], 2, 5, 0), ([1, 2], 1, 1, 1),
    ])
    func theSelectedTaskIsShown(_ lineCounts: [Int], _ selected: Int, _ room: Int, _ first: Int) {
        #expect(StatusScreen.firstShown(lineCounts, selected: selected, room: room) == first)
    }

    /// A time proportional to the square of the number of tasks would exceed the limit.
    @Test(.timeLimit(.minutes(1))) func manyTasksNeedLinearTime() {
        let lineCounts = Array(repeating: 2, count: 500_000)
        #expect(StatusScreen.firstShown(lineCounts, selected: 499_999, room: 23) == 499_989)
    }

    @Test func coloursDoNotChangeTheText() {
        board.replace(with: [task(1, "Show/One.mp3", state: .failed, error: "gone")], now: 0)
        #expect(lines(80).last == "  failed: gone")
        #expect(lines(80, colour: true).last == "\u{1B}[31m  failed: gone\u{1B}[0m")
        #expect(lines(80, colour: true).first == "\u{1B}[1m1 failed\u{1B}[0m")
    }

    private func event(
        _ body: (TaskInfo) -> Event.Body, state: TaskState, received: Int64 = 0, rate: Double? = nil,
        error: String? = nil
    ) -> Event {
        var report = TaskInfo(id: 7, state: state)
        report.episode = 70
        report.path = "Show/Seven.mp3"
        report.received = received
        report.expected = 100
        report.rate = rate
        report.error = error
        return Event(sequence: 1, time: 0, body(report))
    }

    @Test func eventsMoveTheBars() {
        board.apply(event(Event.Body.state, state: .running, received: 10, rate: 10), now: 0)
        #expect(lines(60).contains("Show/Seven.mp3") && lines(60).last?.contains(" 10.0%") == true)
        board.apply(event(Event.Body.progress, state: .running, received: 60, rate: 20), now: 1)
        #expect(lines(60).last?.contains(" 60.0%") == true && lines(60).last?.contains("2s") == true)
        board.apply(event(Event.Body.completed, state: .cached, received: 100), now: 2)
        #expect(lines(60) == ["no active tasks, 1 done"])
        board.apply(event(Event.Body.failed, state: .failed, error: "the server answered 404"), now: 3)
        #expect(lines(60).last == "  failed: the server answered 404")
        board.apply(event(Event.Body.state, state: .remote), now: 4)
        #expect(lines(60) == ["no active tasks, 1 done"])
    }

    @Test func anOutdatedRateIsNotShown() {
        board.apply(event(Event.Body.progress, state: .running, received: 60, rate: 20), now: 1)
        #expect(board.tasks(now: 5).first?.rate == 20)
        #expect(board.tasks(now: 7).first?.rate == nil)
        #expect(board.total(now: 7)?.task.eta == nil)
    }

    @Test func theTotalIncludesCompletedButNotSuspendedTasks() {
        board.apply(event(Event.Body.completed, state: .cached, received: 100), now: 0)
        board.replace(
            with: [
                task(1, "a", received: 50, expected: 100, rate: 10), task(2, "b", received: 0, expected: 200),
                task(3, "c", state: .suspended, received: 7, expected: 900),
            ], now: 0)
        let total = board.total(now: 0)?.task
        #expect(total?.received == 150 && total?.expected == 400)
        #expect(total?.rate == 10 + Double(2 << 20))
        board.replace(with: [task(3, "c", state: .suspended)], now: 0)
        #expect(board.total(now: 0) == nil)
    }

    @Test func theTotalDoesNotIncludeCompletedUploads() {
        var report = TaskInfo(id: 9, state: .completed)
        report.kind = .upload
        report.received = 1_000
        board.apply(Event(sequence: 1, time: 0, .completed(report)), now: 0)
        board.replace(
            with: [
                task(1, "a", received: 50, expected: 100),
                task(2, "b", state: .queued, received: 0, expected: nil, rate: nil),
            ], now: 0)
        #expect(board.done == 1)
        let total = board.total(now: 0)?.task
        #expect(total?.received == 50 && total?.expected == 200)
    }

    @Test func aTaskWithoutASizeCountsWithTheAverageSize() {
        board.replace(
            with: [
                task(1, "a", received: 10 << 20, expected: 20 << 20),
                task(2, "b", state: .queued, received: 0, expected: nil, rate: nil),
            ], now: 0)
        #expect(board.total(now: 0)?.task.expected == 40 << 20 && board.total(now: 0)?.isEstimate == true)
        #expect(lines(80)[1].contains(" 25.0%    10.0 MiB/~40.0 MiB "))
        board.replace(with: [task(2, "b", state: .queued, received: 0, expected: nil, rate: nil)], now: 0)
        #expect(board.total(now: 0)?.task.expected == nil)
    }

    @Test func framesAreDrawnFiveTimesASecondAtMost() {
        var pace = FramePace()
        var answers = [pace.requestFrame(at: 10, now: 10), pace.requestFrame(at: 10, now: 10)]
        #expect(answers == [0, nil])
        var due = [pace.recordIfDue(now: 10), pace.recordIfDue(now: 10.1)]
        #expect(due == [true, false])
        answers = [pace.requestFrame(at: 10.0625, now: 10.0625), pace.requestFrame(at: 11, now: 10.1)]
        #expect(answers == [10 + FramePace.interval - 10.0625, nil])
        due = [pace.recordIfDue(now: 10.1), pace.recordIfDue(now: 10.21)]
        #expect(due == [false, true])
        // A request for an earlier frame replaces the request for a later one.
        answers = [pace.requestFrame(at: 12, now: 11), pace.requestFrame(at: 11.5, now: 11)]
        #expect(answers == [1, 0.5])
    }

    @Test func withoutAScreenChangesArePrintedAsLines() {
        var log = StatusLog()
        let events = [
            event(Event.Body.state, state: .running, received: 5),
            event(Event.Body.progress, state: .running, received: 9),
            event(Event.Body.progress, state: .running, received: 12),
            event(Event.Body.progress, state: .running, received: 19),
            event(Event.Body.completed, state: .cached, received: 100), event(Event.Body.state, state: .remote),
            event(Event.Body.state, state: .queued), event(Event.Body.state, state: .remote),
            Event(sequence: 1, time: 0, .idle),
        ]
        let lines = events.map { log.line(for: $0)?.split(separator: " ").prefix(3).joined(separator: " ") }
        #expect(
            lines == [
                "running [#...................] 5.0%", nil, "running [##..................] 12.0%", nil,
                "cached [####################] 100.0%", nil, "queued [....................] 0.0%",
                "cancelled [....................] 0.0%", nil,
            ])
    }

    @Test func theLinesOfAnUploadReportItsEnd() {
        var log = StatusLog()
        func line(_ state: TaskState, received: Int64, error: String? = nil) -> String? {
            var report = TaskInfo(id: 8, state: state)
            report.kind = .upload
            report.path = "A title"
            report.received = received
            report.expected = 100
            report.error = error
            return log.line(for: Event(sequence: 1, time: 0, state == .failed ? .failed(report) : .state(report)))
        }
        #expect(line(.running, received: 40)?.hasPrefix("running   [########") == true)
        #expect(
            line(.failed, received: 40, error: "the server answered 403")?.hasSuffix(": the server answered 403")
                == true)
        #expect(line(.queued, received: 40)?.hasPrefix("queued ") == true)
        #expect(line(.cancelled, received: 40)?.contains("upload:8 A title") == true)
        // The log has forgotten the cancelled task, so it prints a second report.
        #expect(line(.cancelled, received: 40)?.hasPrefix("cancelled ") == true)
    }

    @Test func theEnvironmentDecidesWhatIsDrawn() {
        func traits(_ environment: [String: String], isTerminal: Bool = true) -> TerminalTraits {
            TerminalTraits(isTerminal: isTerminal, width: 0, height: 0, environment: environment)
        }
        let usual = traits(["TERM": "xterm"])
        #expect(usual.isScreen && usual.hasColour && usual.width == 80 && usual.height == 24)
        #expect(!traits(["TERM": "dumb"]).isScreen && !traits([:]).isScreen)
        #expect(!traits(["TERM": "xterm"], isTerminal: false).isScreen)
        #expect(!traits(["TERM": "xterm", "NO_COLOR": "1"]).hasColour)
        #expect(traits(["TERM": "xterm", "NO_COLOR": "1"]).isScreen)
        #expect(traits(["TERM": "xterm", "NO_COLOR": ""]).hasColour)
        #expect(traits(["TERM": "xterm", "COLUMNS": "33", "LINES": "x"]).width == 33)
    }

    @Test func controlCharactersAreEscapedInJSON() {
        #expect(JSONText.escaped("{\"a\": \"x\u{9B}31m\u{202E}日\"}\n") == "{\"a\": \"x\\u009B31m\\u202E日\"}\n")
    }
}
