import Foundation
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

    private func lines(_ width: Int, height: Int? = nil, colour: Bool = false, selected: TaskID? = nil) -> [String] {
        StatusScreen(width: width, height: height, hasColour: colour, selected: selected, footer: "keys").lines(board)
    }

    @Test func aTaskHasALineForItsPathAndOneForItsProgress() {
        #expect(lines(80) == ["no active tasks"] && lines(8) == ["no acti…"])
        board.replace(with: [
            task(2, "Show/Two.mp3", state: .queued, received: 0, expected: 8 << 20, rate: nil), task(1, "Show/One.mp3"),
        ])
        let shown: [String] = lines(80).map { line in line.replacing(#/ +$/#, with: "") }
        let expected: [String] = [
            "1 running, 1 queued", "[####............]  30.0% 12.0 MiB/40.0 MiB   2.0 MiB/s  14s", "",
            "Show/One.mp3", "  running   [######..........]  37.5% 12.0 MiB/32.0 MiB   2.0 MiB/s  10s",
            "Show/Two.mp3", "  queued    [................]   0.0% 0 B/8.0 MiB         -          -",
        ]
        #expect(shown == expected)
        #expect(lines(20)[3...4] == ["Show/One.mp3", "  running    37.5%"])
    }

    @Test func noLineIsWiderAndNoFrameIsHigherThanTheTerminal() {
        let hostile = "番組\u{1B}[2J/\u{9B}31m 👩‍👩‍👧‍👦 e\u{301}pisode \u{202E}3pm.mp3\nnext"
        let tasks = (1...30).map { (number: Int) -> TaskInfo in
            let error: String? = number % 4 == 3 ? "the server said \u{1B}]0;x\u{7}" : nil
            return task(
                TaskID(Int64(number)), hostile, state: TaskState.counted[number % 4],
                expected: number % 3 == 0 ? nil : 32 << 20, error: error)
        }
        board.replace(with: tasks)
        for width in Array(1...30) + [59, 69, 70, 80, 200] {
            for height in [1, 2, 7, 100] {
                let plain = lines(width, height: height)
                #expect(plain.count <= height)
                #expect(plain.allSatisfy { TextWidth.columns($0) <= width })
                #expect(plain.allSatisfy { !$0.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x9B } })
                #expect(lines(width, height: height, colour: true).map(PseudoTerminal.withoutSequences) == plain)
            }
        }
        #expect(lines(80, height: 11)[9] == "and 27 more")
    }

    @Test func theSelectedTaskIsVisibleAndTheFooterLast() {
        board.replace(with: (1...20).map { task(TaskID(Int64($0)), "Show/Episode \($0).mp3") })
        let shown = lines(80, height: 12, colour: true, selected: 9)
        #expect(shown.count == 12 && shown.contains("\u{1B}[7mShow/Episode 9.mp3\u{1B}[0m"))
        #expect(shown.last == "\u{1B}[2mkeys\u{1B}[0m")
        // Without colors, a mark replaces the inverse video.
        #expect(lines(80, height: 12, selected: 9).contains("> Show/Episode 9.mp3"))
        // A small screen shows tasks instead of the help.
        #expect(lines(80, height: 5, selected: 9).last?.hasSuffix("more") == true)
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

    @Test func eventsMoveTheBarsAndEndedTransfersAreListed() {
        var board = board
        func lines() -> [String] { StatusScreen(width: 60, hasColour: false).lines(board) }
        board.apply(event(Event.Body.state, state: .running, received: 10, rate: 10))
        #expect(lines().contains("Show/Seven.mp3") && lines().last?.contains(" 10.0%") == true)
        board.apply(event(Event.Body.progress, state: .running, received: 60, rate: 20))
        #expect(lines().last?.contains(" 60.0%") == true && lines().last?.contains("2s") == true)
        board.apply(event(Event.Body.completed, state: .cached, received: 100))
        #expect(lines() == ["no active tasks, 1 done", "", "done   Show/Seven.mp3  100 B"])
        board.apply(event(Event.Body.failed, state: .failed, error: "the server answered 404"))
        #expect(lines().contains("  failed: the server answered 404"))
        #expect(lines().contains("failed Show/Seven.mp3  the server answered 404"))
        board.apply(event(Event.Body.state, state: .remote))
        #expect(lines().first == "no active tasks, 1 done")
    }

    @Test func theTotalIncludesCompletedDownloadsButNeitherUploadsNorSuspendedOnes() {
        var board = board
        board.apply(event(Event.Body.completed, state: .cached, received: 100))
        var upload = TaskInfo(id: 9, state: .completed)
        (upload.kind, upload.received) = (.upload, 1_000)
        board.apply(Event(sequence: 1, time: 0, .completed(upload)))
        var estimated = task(2, "b", state: .queued, received: 0, expected: nil, rate: nil)
        estimated.estimate = 200
        let suspended = task(3, "c", state: .suspended, received: 7, expected: 900)
        board.replace(with: [task(1, "a", received: 50, expected: 100, rate: 10), estimated, suspended])
        #expect(board.total?.received == 150 && board.total?.expected == 400 && board.total?.rate == 10)
        estimated.estimate = nil
        board.replace(with: [estimated])
        #expect(board.total?.received == 100 && board.total?.expected == nil)
        board.replace(with: [suspended])
        #expect(board.total == nil && board.done == 2)
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
        let lines = [(TaskState.running, nil), (.failed, "refused"), (.cancelled, nil), (.cancelled, nil)].map {
            state, error in
            var upload = TaskInfo(id: 8, kind: .upload, path: "A title", state: state, received: 40, expected: 100)
            upload.error = error
            return log.line(for: Event(sequence: 1, time: 0, state == .failed ? .failed(upload) : .state(upload))) ?? ""
        }
        // The log has forgotten the cancelled task, so it prints a second report.
        #expect(zip(lines, ["running ", "failed ", "cancelled ", "cancelled "]).allSatisfy { $0.hasPrefix($1) })
        #expect(lines[0].contains("[########") && lines[1].hasSuffix("upload:8 A title: refused"))
    }

    @Test func theEnvironmentHasTheSizeThatTheTerminalDoesNotReport() {
        let usual = TerminalTraits(descriptor: -1, environment: ["TERM": "xterm", "LINES": "x"])
        #expect(!usual.isScreen && !usual.hasColour && usual.width == 80 && usual.height == 24)
        #expect(TerminalTraits(descriptor: -1, environment: ["COLUMNS": "33"]).width == 33)
    }

    @Test func controlCharactersAreEscapedInJSON() {
        #expect(JSONText.escaped("{\"a\": \"x\u{9B}31m\u{202E}日\"}\n") == "{\"a\": \"x\\u009B31m\\u202E日\"}\n")
    }

    // MARK: Keys

    @Test(arguments: [
        ("q", [WatchKey.quit]), ("jk", [.down, .up]), ("\u{1B}[A\u{1B}[B", [.up, .down]), ("\u{1B}OB", [.down]),
        ("\u{1B}[1;5A", [.up]), ("src", [.act(.suspend), .act(.resume), .act(.cancel)]), ("o\r", [.open, .open]),
        ("\u{1B}", []),
        ("xyz \u{7F}", []), ("\u{1B}[200~q", [.quit]), ("\u{1B}[", []),
    ]) func bytesAreKeys(text: String, keys: [WatchKey]) {
        #expect(WatchKey.keys(in: text) == keys)
    }

    @Test func keysActOnNoOtherTaskIfTheSelectedOneHasEnded() {
        var selection = TaskSelection()
        func press(_ key: WatchKey, tasks: [TaskID]) -> TaskID? {
            let mayAct = selection.apply(key, to: tasks)
            return mayAct ? selection.task : nil
        }
        // The first key selects the first task.
        #expect(press(.act(.suspend), tasks: [1, 2, 3]) == 1)
        #expect(press(.down, tasks: [1, 2, 3]) == 2)
        for key in [WatchKey.act(.suspend), .act(.resume), .act(.cancel), .open] {
            #expect(press(key, tasks: [1, 3]) == nil, "\(key)")
        }
        #expect(press(.down, tasks: [1, 3]) == 1)
        #expect(press(.act(.cancel), tasks: [1, 3]) == 1)
    }

    /// Of a shared daemon's fetches, only those of the command's shows count, and each show once.
    @Test func onlyTheShowsOfTheCommandCount() {
        let progress = FetchProgress(ProgressLine(), shows: ["One", "Two"])
        for (path, state, count) in [
            ("Three", TaskState.remote, 0), ("https://e.example/feed.xml", .remote, 0), ("One", .running, 0),
            ("One", .remote, 1), ("One", .remote, 1), ("Two", .remote, 2),
        ] {
            var report = TaskInfo(id: 1, state: state)
            (report.kind, report.path) = (.refresh, path)
            progress.apply(Event(sequence: 1, time: 100, .state(report)))
            #expect(progress.count == count, "\(path)")
        }
    }
}
