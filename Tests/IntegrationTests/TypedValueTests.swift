import PodcastProtocol
import TestSupport
import Testing
import Transfers

@testable import podfs

/// Parsing of typed values and addresses; no process is started.
struct TypedValueTests {
    @Test(
        arguments: [
            ("90", 90.0), ("90.5", 90.5), ("1:30", 90), ("62:30", 3_750), ("1:02:30", 3_750), ("0:00:01.5", 1.5),
            ("0", 0), (String(repeating: "9", count: 400), .greatestFiniteMagnitude),
            ("1:75", nil), ("1:2:3:4", nil), ("-5", nil), ("", nil), ("1:", nil), ("1.5:00", nil), ("abc", nil),
            ("1e3", nil),
            (" 5", nil), ("0x10", nil), ("inf", nil),
        ] as [(String, Double?)]) func aPositionIsSecondsOrAClockTime(text: String, seconds: Double?)
    {
        #expect(EpisodeSetting.seconds(text) == seconds)
    }

    @Test func aSettingIsPrintedAsItIsTyped() throws {
        #expect(try EpisodeSetting("position=1:02:30").description == "position=1:02:30")
        #expect(try EpisodeSetting("position=90").description == "position=1:30")
        #expect(try EpisodeSetting("played=yes") == .played(true))
        #expect(throws: CommandError.self) { try EpisodeSetting("played") }
        #expect(throws: CommandError.self) { try EpisodeSetting("=1") }
    }

    @Test(arguments: [
        ("example.com/feed.xml", "https://example.com/feed.xml"), ("example.com", "https://example.com"),
        ("localhost:8080/f", "https://localhost:8080/f"), ("example.com:81?x", "https://example.com:81?x"),
        ("feed://example.com/f", "https://example.com/f"), ("feed:https://example.com/f", "https://example.com/f"),
        ("pcast://example.com/f", "https://example.com/f"), ("FEED:http://h/f", "http://h/f"),
        ("<https://example.com/f>", "https://example.com/f"), (" https://example.com/f\n", "https://example.com/f"),
        ("http://example.com/f", "http://example.com/f"), ("ftp://example.com/f", "ftp://example.com/f"),
        ("history of rome", "history of rome"), ("nonsense", "nonsense"), ("a..b/c", "a..b/c"), ("", ""),
        ("x.y:port/z", "x.y:port/z"), ("/no/such/file", "/no/such/file"),
    ]) func anAddressWithoutASchemeMeansHTTPS(typed: String, address: String) throws {
        #expect(try FeedArgument.address(typed) == address)
    }

    /// Without a progress line, `download --wait` prints why a download waits, and does not repeat the reason that it
    /// printed last. After bytes have arrived, it prints the reason again.
    @Test func aReasonIsPrintedOnce() {
        var log = DownloadWait.RetryErrorLog()
        func event(_ error: String?, received: Int64 = 0, nextTry: Int64? = nil) -> Event {
            var report = TaskInfo(id: 1, state: error == nil ? .running : .queued)
            (report.path, report.error, report.received) = ("A/B.mp3", error, received)
            report.nextTry = nextTry
            return Event(sequence: 1, time: 100, .progress(report))
        }
        #expect(log.line(for: event("500", nextTry: 112)) == "A/B.mp3: 500; next try in 12s")
        #expect(log.line(for: event("500", nextTry: 150)) == nil)
        #expect(log.line(for: event("no route")) == "A/B.mp3: no route")
        #expect(log.line(for: event(nil)) == nil)
        #expect(log.line(for: event("no route")) == nil)
        #expect(log.line(for: event(nil, received: 5)) == nil)
        #expect(log.line(for: event("no route")) == "A/B.mp3: no route")
    }

    // MARK: - Waiting for downloads

    private func event(
        _ episode: EpisodeID, _ body: (TaskInfo) -> Event.Body, error: String? = nil, waitsForSpace: Bool = false
    ) -> Event {
        var report = TaskInfo(id: 1, state: .queued)
        (report.episode, report.error, report.waitsForSpace) = (episode, error, waitsForSpace)
        return Event(sequence: 9, time: 0, body(report))
    }

    /// Returns downloads that were started after two events.
    private func started(_ episodes: [EpisodeID]) -> DownloadWait.Downloads {
        var downloads = DownloadWait.Downloads(episodes)
        downloads.began(missed: [])
        for episode in episodes { created(&downloads, episode, id: 0) }
        for episode in episodes {
            downloads.started(episode, after: 2)
            downloads.confirmed(episode)
        }
        return downloads
    }

    private func created(_ downloads: inout DownloadWait.Downloads, _ episode: EpisodeID, id: TaskID) {
        downloads.created(
            episode,
            TaskInfo(
                id: id, kind: .download, path: "A/\(episode).mp3", episode: episode, state: .suspended, received: 0,
                expected: nil, rate: nil, error: nil, started: 0))
    }

    @Test func onlyEventsAfterTheStartEndADownload() {
        var downloads = started([1, 2])
        downloads.apply(event(1, Event.Body.failed, error: "of an earlier download"), 2)
        #expect(downloads.remaining == [1, 2])
        downloads.apply(event(2, Event.Body.completed), 3)
        downloads.apply(event(1, Event.Body.failed, error: "404"), 4)
        #expect(downloads.remaining.isEmpty && downloads.problems == ["A/1.mp3: 404"])
    }

    @Test func theWaitEndsWhenAllRemainingDownloadsWaitForSpace() {
        var downloads = started([1, 2, 3])
        downloads.apply(event(1, Event.Body.state, error: "full", waitsForSpace: true), 3)
        downloads.apply(event(2, Event.Body.state, error: "full", waitsForSpace: true), 4)
        #expect(!downloads.allWaitForSpace)
        downloads.apply(event(3, Event.Body.completed), 5)
        #expect(downloads.allWaitForSpace)
        // The download has got the space of another that ended.
        downloads.endWaits([2])
        #expect(downloads.remaining == [1, 2] && !downloads.allWaitForSpace)
        downloads.apply(event(1, Event.Body.progress), 6)
        downloads.apply(event(1, Event.Body.state, error: "full again", waitsForSpace: true), 7)
        downloads.endWaits([1, 2])
        #expect(downloads.problems == ["A/1.mp3: waits: full again", "A/2.mp3: waits: full"])
        #expect(downloads.remaining.isEmpty)
    }

    @Test func aStartThatNoDaemonHasConfirmedIsRepeated() {
        var downloads = DownloadWait.Downloads([1])
        downloads.began(missed: [])
        created(&downloads, 1, id: 0)
        // The daemon is killed before it answers, and the next one has no task.
        downloads.started(1, after: 2)
        downloads.began(missed: [])
        created(&downloads, 1, id: 0)
        #expect(downloads.remaining == [1] && downloads.problems.isEmpty)
    }

    @Test func endsBetweenTwoDaemonsAreRecorded() {
        var downloads = started([1, 2, 3])
        var old = event(3, Event.Body.failed, error: "old")
        old = Event(sequence: 0, time: 0, old.body)
        downloads.began(missed: [old, event(1, Event.Body.failed, error: "500")])
        // The task of the second has gone, so it was cancelled. The third continues.
        created(&downloads, 2, id: 0)
        created(&downloads, 3, id: 7)
        #expect(downloads.remaining == [3])
        #expect(downloads.problems == ["A/1.mp3: 500", "A/2.mp3: the download was cancelled"])
    }
}
