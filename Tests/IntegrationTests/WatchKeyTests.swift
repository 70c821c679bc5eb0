import PodcastProtocol
import Testing
import Transfers

@testable import podfs

/// Keys of `podfs status --watch`, and what the screen shows for them.
struct WatchKeyTests {
    @Test(arguments: [
        ("q", [WatchKey.quit]), ("jk", [.down, .up]), ("\u{1B}[A\u{1B}[B", [.up, .down]), ("\u{1B}OB", [.down]),
        ("\u{1B}[1;5A", [.up]), ("src", [.suspend, .resume, .cancel]), ("o\r", [.open, .open]), ("\u{1B}", []),
        ("xyz \u{7F}", []), ("\u{1B}[200~q", [.quit]), ("\u{1B}[", []),
    ]) func bytesAreKeys(text: String, keys: [WatchKey]) {
        #expect(WatchKey.keys(in: Array(text.utf8)) == keys)
    }

    private func board(_ count: Int) -> TaskBoard {
        let board = TaskBoard()
        board.replace(
            with: (1...count).map { number in
                var info = TaskInfo(
                    id: TaskID(Int64(number)), kind: .download, path: "Show/Episode \(number).mp3", episode: nil,
                    state: .queued, received: 0, expected: nil, rate: nil, error: nil, started: Int64(number))
                info.estimate = 3_000_000
                return info
            }, now: 0)
        return board
    }

    @Test func theSelectedTaskIsVisibleAndTheFooterLast() {
        var screen = StatusScreen(width: 80, height: 12, hasColour: true)
        (screen.selected, screen.footer) = (9, WatchKey.help)
        let lines = screen.lines(board(20), now: 0)
        #expect(
            lines.count == 12 && lines.allSatisfy { TextWidth.columns($0.replacing(/\e\[[0-9]+m/, with: "")) <= 80 })
        #expect(lines.contains("\u{1B}[7mShow/Episode 9.mp3\u{1B}[0m"))
        #expect(lines.last == "\u{1B}[2m\(WatchKey.help)\u{1B}[0m")
        #expect(lines.contains { $0.contains("0.0%          0 B/~2.9 MiB") })
        // Without colors, a mark replaces the inverse video.
        screen.hasColour = false
        #expect(screen.lines(board(20), now: 0).contains("> Show/Episode 9.mp3"))
        // A small screen shows tasks instead of the help.
        screen.height = 5
        #expect(screen.lines(board(20), now: 0).last?.hasSuffix("more") == true)
    }

    @Test func keysActOnNoOtherTaskIfTheSelectedOneHasEnded() {
        var selection = TaskSelection()
        func press(_ key: WatchKey, tasks: [TaskID]) -> TaskID? {
            let mayAct = selection.apply(key, to: tasks)
            return mayAct ? selection.task : nil
        }
        // The first key selects the first task.
        #expect(press(.suspend, tasks: [1, 2, 3]) == 1)
        #expect(press(.down, tasks: [1, 2, 3]) == 2)
        for key in [WatchKey.suspend, .resume, .cancel, .open] {
            #expect(press(key, tasks: [1, 3]) == nil, "\(key)")
        }
        #expect(press(.down, tasks: [1, 3]) == 1)
        #expect(press(.cancel, tasks: [1, 3]) == 1)
    }

    @Test func finishedTasksAreListedBelow() {
        let board = board(1)
        var report = TaskInfo(id: 7, state: .cached)
        (report.path, report.received) = ("Show/Done.mp3", 2_048)
        board.apply(Event(sequence: 1, time: 0, .completed(report)), now: 1)
        (report.path, report.error, report.state) = ("Show/Gone.mp3", "the server answered 404", .failed)
        report.id = 0
        board.apply(Event(sequence: 2, time: 0, .failed(report)), now: 1)
        var screen = StatusScreen(width: 80, height: 12, hasColour: false)
        screen.listsEnded = true
        let lines = screen.lines(board, now: 1)
        #expect(lines.contains("failed Show/Gone.mp3  the server answered 404"))
        #expect(lines.contains("done   Show/Done.mp3  2.0 KiB"))
    }

    /// A terminal that becomes narrower wraps the drawn line over several rows. So podfs moves the cursor up to the
    /// first of these rows before it draws the line again. xterm and the Linux console truncate the line instead.
    @Test func aWrappedProgressLineIsErased() {
        #expect(ProgressLine.start(of: 79, in: 80, environment: [:]) == "\r")
        #expect(ProgressLine.start(of: 79, in: 40, environment: [:]) == "\u{1B}[1A\r\u{1B}[J")
        #expect(ProgressLine.start(of: 79, in: 26, environment: [:]) == "\u{1B}[3A\r\u{1B}[J")
        #expect(ProgressLine.start(of: 79, in: 40, environment: ["XTERM_VERSION": "XTerm(379)"]) == "\r")
        #expect(ProgressLine.start(of: 0, in: 40, environment: ["TERM": "linux"]) == "\r")
    }
}
