import Foundation
import PodcastProtocol
import Testing
import Transfers

@testable import PodcastPages

private func task(
    _ id: TaskID = 7, path: String = "Show/Episode.mp3", state: TaskState = .running, received: Int64 = 523,
    expected: Int64? = 1_000, rate: Double? = 3, error: String? = nil
) -> StatusReport.Task {
    StatusReport.Task(
        TaskInfo(
            id: id, kind: .download, path: path, episode: nil, state: state, received: received, expected: expected,
            rate: rate, error: error, started: 1_795_168_800), now: 0)
}

struct StatusReportTests {
    private func json(_ report: StatusReport) throws -> [String: Any] {
        let value = try JSONSerialization.jsonObject(with: Data(report.jsonBytes))
        return try #require(value as? [String: Any])
    }

    private func firstTask(_ report: StatusReport) throws -> [String: Any] {
        let tasks = try #require(try json(report)["tasks"] as? [[String: Any]])
        return try #require(tasks.first)
    }

    // MARK: JSON

    @Test func jsonHasTheDocumentedMembersInTheirOrder() throws {
        let text = String(decoding: StatusReport(tasks: [task()]).jsonBytes, as: UTF8.self)
        #expect(
            text == """
                {
                  "tasks": [
                    {
                      "id": 7,
                      "kind": "download",
                      "path": "Show/Episode.mp3",
                      "state": "running",
                      "progress": 52.3,
                      "bytes_received": 523,
                      "bytes_expected": 1000,
                      "rate": 3,
                      "eta": 159,
                      "error": null,
                      "started": "2026-11-20T10:00:00Z"
                    }
                  ],
                  "summary": {
                    "running": 1,
                    "queued": 0,
                    "suspended": 0,
                    "failed": 0,
                    "rate": 3
                  }
                }

                """)
    }

    @Test func unknownValuesAreNull() throws {
        let value = try firstTask(StatusReport(tasks: [task(state: .queued, received: 0, expected: nil, rate: nil)]))
        for name in ["progress", "bytes_expected", "rate", "eta", "error"] {
            #expect(value[name] is NSNull, "\(name)")
        }
        #expect(value["bytes_received"] as? Int == 0)
    }

    @Test func aWaitingTaskShowsItsEstimatedSizeAndItsNextTry() throws {
        var waiting = task(state: .queued, received: 0, expected: nil, rate: nil, error: "the server answered 500")
        waiting.estimate = 3_000_000
        waiting.retryIn = 75
        let line = StatusReport(tasks: [waiting]).text.split(separator: "\n")[1]
        #expect(line.contains("[....................]   0.0% 0 B/~2.9 MiB"))
        #expect(line.hasSuffix("Show/Episode.mp3: the server answered 500; next try in 1m15s"))
        let value = try firstTask(StatusReport(tasks: [waiting]))
        #expect(value["bytes_estimated"] as? Int == 3_000_000 && value["retry_in"] as? Int == 75)
        #expect(value["bytes_expected"] is NSNull && value["error"] as? String == "the server answered 500")
        // A confirmed size replaces the estimate.
        waiting.expected = 2_000_000
        #expect(try firstTask(StatusReport(tasks: [waiting]))["bytes_estimated"] == nil)
        #expect(StatusReport(tasks: [waiting]).text.contains("0 B/1.9 MiB"))
    }

    @Test func onlyARunningTaskHasATimeLeft() throws {
        for state in [TaskState.queued, .suspended, .failed] {
            let value = try firstTask(StatusReport(tasks: [task(state: state)]))
            #expect(value["eta"] is NSNull, "\(state)")
        }
        // The time left is also unknown for a stalled task, and for one that has received more than expected.
        #expect(task(rate: 0).eta == nil)
        #expect(task(received: 1_001).eta == nil)
        #expect(task(received: 1_000).eta == 0)
        #expect(task(received: 997).eta == 1)
        #expect(task(received: 996).eta == 2)
    }

    @Test func theSummaryCountsStatesAndAddsRates() throws {
        let report = StatusReport(tasks: [
            task(1, rate: 1_000.5), task(2, rate: 2_000.5), task(3, state: .queued, rate: nil),
            task(4, state: .suspended, rate: nil), task(5, state: .failed, rate: nil, error: "gone"),
        ])
        let summary = try #require(try json(report)["summary"] as? [String: Int])
        #expect(summary == ["running": 2, "queued": 1, "suspended": 1, "failed": 1, "rate": 3_001])
    }

    @Test func tasksAreOrderedByNumber() throws {
        let report = StatusReport(tasks: [task(9), task(-1), task(3)])
        let tasks = try #require(try json(report)["tasks"] as? [[String: Any]])
        #expect(tasks.compactMap { $0["id"] as? Int } == [-1, 3, 9])
    }

    @Test func hostileNamesAreCompleteInJSON() throws {
        let path = "Show \"x\"\\/\u{1B}[31mred\u{7}\n\u{202E}gpj.exe\u{2028}\u{7F}"
        let report = StatusReport(tasks: [task(path: path, state: .failed, error: "a\nb\u{1B}c")])
        let value = try firstTask(report)
        #expect(value["path"] as? String == path)
        #expect(value["error"] as? String == "a\nb\u{1B}c")
        // The JSON escapes control characters, so a terminal that displays it does not act on them.
        #expect(!report.jsonBytes.contains(0x1B))
        #expect(!report.jsonBytes.contains(0x07))
    }

    // MARK: Progress

    @Test func progressReaches100OnlyWithTheLastByte() throws {
        let sizes: [Int64] = [2, 3, 1_000, 10_007, 123_456_789, 1 << 40, 1 << 53, 1 << 60]
        for size in sizes {
            let almost = StatusReport(tasks: [task(received: size - 1, expected: size)])
            let shown = try #require(try firstTask(almost)["progress"] as? Double)
            #expect(shown < 100, "\(size)")
            #expect(!almost.text.contains("100.0%"), "\(size)")
            #expect(!almost.text.contains(String(repeating: "#", count: 20)), "\(size)")
            let whole = StatusReport(tasks: [task(received: size, expected: size)])
            #expect(try firstTask(whole)["progress"] as? Double == 100)
            #expect(whole.text.contains("100.0%"))
        }
    }

    @Test func progressIsRoundedDown() throws {
        for (received, shown) in [(9_999, 99.9), (5_239, 52.3), (0, 0)] as [(Int64, Double)] {
            let report = StatusReport(tasks: [task(received: received, expected: 10_000)])
            #expect(try firstTask(report)["progress"] as? Double == shown)
        }
        #expect(task(expected: 0).progress == nil)
        #expect(task(received: 2_000).progress == 100)
    }

    // MARK: Text

    @Test func textWithoutTasksSaysSo() { #expect(StatusReport(tasks: []).text == "no active tasks\n") }

    @Test func textHasAHeadingAndOneLinePerTask() {
        let report = StatusReport(tasks: [
            task(1, path: "A/b.mp3", received: 524_288, expected: 1_048_576, rate: 2_048),
            task(2, path: "C/d.mp3", state: .queued, received: 0, expected: nil, rate: nil),
            task(3, path: "E/f.mp3", state: .failed, received: 0, expected: 1_000, rate: nil, error: "404"),
        ])
        #expect(
            report.text == """
                1 running, 1 queued, 0 suspended, 1 failed, 2.0 KiB/s
                running   [##########..........]  50.0% 512.0 KiB/1.0 MiB   2.0 KiB/s  4m16s    A/b.mp3
                queued    [....................]   0.0% 0 B/?               -          -        C/d.mp3
                failed    [....................]   0.0% 0 B/1000 B          -          -        E/f.mp3: 404

                """)
    }

    @Test func tasksThatAreNotListedAreCounted() throws {
        var report = StatusReport(tasks: [task(1)])
        #expect(try json(report)["omitted"] == nil)
        report.omitted = [.queued: 4_900, .failed: 2]
        let lines = report.text.split(separator: "\n")
        #expect(lines.first == "1 running, 4900 queued, 0 suspended, 2 failed, 3 B/s")
        #expect(lines.last == "4902 more; podfs status --all lists them")
        #expect(try json(report)["omitted"] as? Int == 4_902)
        let summary = try #require(try json(report)["summary"] as? [String: Any])
        #expect(summary["queued"] as? Int == 4_900)
    }

    @Test func hostileNamesAreEscapedForTheTerminal() {
        let path = "Show\u{1B}]0;x\u{7}/a\nb\r\u{85}\u{2028}\u{2029}\u{202E}3pm\u{2066}\u{61C}\u{200F}.mp3"
        let text = StatusReport(tasks: [task(path: path, state: .failed, error: "line 1\nline 2\u{1B}[2J")]).text
        #expect(text.split(separator: "\n", omittingEmptySubsequences: false).count == 3)
        let harmful = text.unicodeScalars.filter {
            $0.properties.generalCategory == .control && $0 != "\n" || $0.properties.isBidiControl
                || $0 == "\u{2028}" || $0 == "\u{2029}"
        }
        #expect(harmful.isEmpty)
        #expect(text.contains(".mp3: line 1\u{FFFD}line 2\u{FFFD}[2J\n"))
    }
}

struct StatusPageTests {
    @Test func anIdlePageSaysSo() {
        let page = text(StatusPage.bytes(StatusReport(tasks: []), rates: [0, 0]))
        #expect(page.contains("no active tasks") && page.contains("data-seconds=\"10\""))
        #expect(!page.contains("http-equiv=\"refresh\""))
        #expect(!markup(page).contains("<svg") && !markup(page).contains("<progress"))
        // The rates of the last minutes are still shown.
        #expect(text(StatusPage.bytes(StatusReport(tasks: []), rates: [9, 0])).contains("<svg "))
        // Without running tasks, the page is reloaded as seldom.
        let failed = text(StatusPage.bytes(StatusReport(tasks: [task(state: .failed, rate: nil)]), rates: []))
        #expect(failed.contains("data-seconds=\"10\"") && failed.contains("<strong>0 B/s</strong>"))
    }

    @Test func theProblemOfTheArchiveIsOnThePage() {
        var report = StatusReport(tasks: [])
        report.archive = "/srv/podcasts <disk> is full"
        #expect(
            text(StatusPage.bytes(report, rates: []))
                .contains("<p class=\"facts bad\">Archive: /srv/podcasts &lt;disk&gt; is full</p>"))
    }

    @Test func tasksAreShownAsBarsAndText() {
        let report = StatusReport(tasks: [
            task(1, rate: 100), task(2, state: .queued, expected: nil, rate: nil),
            task(3, state: .failed, rate: nil, error: "the server answered 404"), task(4, expected: nil, rate: 100),
        ])
        let page = text(StatusPage.bytes(report, rates: [0, 100, 200]))
        for part in [
            "<title>2 running, 1 queued, 1 failed – podfs</title>", "data-seconds=\"2\"",
            "<progress max=\"100\" value=\"52.3\" aria-label", "<progress max=\"100\" value=\"0.0\" aria-label",
            "<progress aria-label=\"Progress\"></progress>", "<span class=\"top\">200 B/s</span>",
            "<span class=\"half\">100 B/s</span>", "<span>just now</span><span>now</span>",
            "<span>523 B of 1000 B</span><span>100 B/s</span><span>5s left</span>",
            "<a href=\"Show/index.html\">Episode.mp3</a>", "the server answered 404</p>", "<strong>200 B/s</strong>",
            "peak 200 B/s in the last 3 seconds", "d=\"M0 40.0L1 20.5L2 1.0\"",
        ] {
            #expect(page.contains(part), "\(part)")
        }
    }

    @Test func recentTransfersAreListed() {
        let ended = [
            StatusPage.Ended(path: "Show/B.mp3", time: 880, error: "the server answered 404"),
            StatusPage.Ended(path: "Show/A.mp3", time: 400, size: 2_048),
        ]
        let page = text(StatusPage.bytes(StatusReport(tasks: []), rates: [], ended: ended, now: 1_000))
        for part in [
            "Show/B.mp3</span><p class=\"facts line bad\"><span>failed</span><span>2 minutes ago</span>",
            "<span>downloaded</span><span>2.0 KiB</span><span>10 minutes ago</span>",
        ] {
            #expect(page.contains(part), "\(part)")
        }
    }
}
