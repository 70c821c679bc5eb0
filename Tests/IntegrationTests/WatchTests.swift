import Foundation
import Glibc
import PodcastLibrary
import PodcastProtocol
import TestSupport
import Testing
import Transfers

@testable import podfs

/// `podfs status --watch` and progress lines, on pseudo-terminals and without a terminal.
@Suite(.timeLimit(.minutes(5))) struct WatchTests {
    private let show: MountedShow
    private let path = "Example Show/2026-01-01 Episode 1.mp3"

    private static let enter = "\u{1B}[?1049h"
    private static let leave = "\u{1B}[?1049l"
    private static let showCursor = "\u{1B}[?25h"

    init() async throws { show = try await MountedShow(isMounted: false) }

    private func terminal(
        _ arguments: String..., columns: Int = 80, environment: [String: String] = ["TERM": "xterm"],
        standardOutput: String? = nil
    ) throws -> PseudoTerminal {
        try PseudoTerminal(
            PodfsHome.executable, arguments, environment: show.home.environment.merging(environment) { $1 },
            columns: columns, rows: 24, standardOutput: standardOutput)
    }

    /// Starts a download whose responses each stop after 100,000 bytes until the gate opens: the first at a third of
    /// the episode, the response to a resumed download at two thirds. Returns when the download runs.
    private func beginDownload() async throws -> Gate {
        let gate = Gate(heldAt: 100_000)
        show.server.serve("/1.mp3", MountedShow.resource(1)) { _ in .hold(gate) }
        try await show.home.run("download", path).succeeded()
        try await show.home.waitForOutput("1 running", of: "status")
        return gate
    }

    private func waitForPicture(_ terminal: PseudoTerminal, _ holds: ([String]) -> Bool) async throws {
        do {
            try await waitUntil(deadline: .seconds(120)) { holds(terminal.lastPicture) }
        } catch {
            Issue.record("the terminal shows \(terminal.lastPicture)")
            throw error
        }
    }

    @Test func barsFollowTransferAndWindowAndAnInterruptEndsNoTransfer() async throws {
        let watch = try terminal("status", "--watch")
        try await watch.waitForText("no active tasks")
        #expect(!watch.echoes)
        let gate = try await beginDownload()
        try await waitForPicture(watch) { lines in
            lines.contains(path) && lines.contains { $0.contains("33.3%") && $0.contains("97.7 KiB/293.0 KiB") }
        }
        watch.resize(columns: 20, rows: 6)
        try await waitForPicture(watch) { lines in
            lines.count == 5 && lines.contains("Example Sh…ode 1.mp3") && lines.contains { $0.hasSuffix("33.3%") }
                && lines.allSatisfy { TextWidth.columns($0) <= 20 }
        }
        watch.type("\u{3}")
        #expect(try await watch.wait() == .signalled(SIGINT))
        // The last output may arrive after the exit.
        try await waitUntil(deadline: .seconds(120)) { watch.text.contains(Self.leave) }
        #expect(watch.text.contains(Self.showCursor))
        #expect(watch.echoes)
        // The last frame stays on the main screen.
        let after = try #require(watch.text.components(separatedBy: Self.leave).last)
        #expect(PseudoTerminal.withoutSequences(after).contains("1 running"))
        #expect(try await show.home.run("status").output.contains("1 running"))
        gate.open()
        try await waitUntil(description: "the download has ended") {
            try await show.home.run("status").output == "no active tasks\n"
        }
        #expect(try await show.home.run("list", MountedShow.show).output.contains("Episode 1.mp3  293.0 KiB  cached"))
    }

    @Test func aStoppedWatchRestoresTheTerminalUntilItContinues() async throws {
        let watch = try terminal("status", "--watch")
        try await watch.waitForText("no active tasks")
        watch.type("\u{1A}")
        try await waitUntil(description: "the command is stopped") {
            let status = try String(contentsOfFile: "/proc/\(watch.processIdentifier)/stat", encoding: .utf8)
            return status.contains(") T ")
        }
        try await waitUntil(description: "the last frame is on the main screen") {
            let after = watch.text.components(separatedBy: Self.leave).dropFirst().last ?? ""
            return PseudoTerminal.withoutSequences(after).hasPrefix("no active tasks")
        }
        #expect(watch.echoes)
        watch.signal(SIGCONT)
        try await waitUntil(description: "the command draws again") {
            watch.text.components(separatedBy: Self.enter).count == 3
        }
        try await waitUntil(description: "echo is off again") { !watch.echoes }
        watch.signal(SIGTERM)
        #expect(try await watch.wait() == .signalled(SIGTERM))
        try await waitUntil(description: "the alternate screen is left twice") {
            watch.text.components(separatedBy: Self.leave).count == 3
        }
    }

    @Test func aDumbTerminalGetsLinesAndNoColorDisablesColours() async throws {
        let gate = try await beginDownload()
        let dumb = try terminal("status", "--watch", environment: ["TERM": "dumb"])
        try await dumb.waitForText("1 running, 0 queued")
        #expect(!dumb.text.contains("\u{1B}"))
        let colourless = try terminal("status", "--watch", environment: ["TERM": "xterm", "NO_COLOR": "1"])
        try await waitForPicture(colourless) { $0.contains(path) }
        #expect(colourless.text.contains(Self.enter))
        #expect(colourless.text.firstMatch(of: #/\u{1B}\[[0-9;]*m/#) == nil)
        let coloured = try terminal("status", "--watch")
        try await waitForPicture(coloured) { $0.contains(path) }
        #expect(coloured.text.contains("\u{1B}[32m"))
        gate.open()
    }

    @Test func keysActOnTheSelectedTask() async throws {
        let gate = try await beginDownload()
        let watch = try terminal("status", "--watch", environment: ["TERM": "xterm", "NO_COLOR": "1"])
        try await waitForPicture(watch) { $0.contains { $0.hasSuffix(path) } }
        for (key, answer, state) in [("s", "suspended", "suspended"), ("r", "resumed", "running")] {
            watch.type(key)
            try await waitForPicture(watch) { $0.contains("\(answer) \(path)") }
            try await waitUntil(description: "the episode is \(state)") {
                try await show.home.run("list", MountedShow.show).output.split(separator: "\n").contains {
                    $0.contains("Episode 1.mp3") && $0.contains(state)
                }
            }
        }
        watch.type("c")
        try await waitForPicture(watch) { $0.contains("cancelled \(path)") }
        #expect(try await show.home.run("status").output == "no active tasks\n")
        watch.type("q")
        #expect(try await watch.wait() == .exited(0))
        #expect(watch.echoes)
        gate.open()
    }

    // MARK: Long commands

    @Test func aDownloadWithWaitShowsItsProgress() async throws {
        let gate = Gate(heldAt: 100_000)
        show.server.serve("/1.mp3", MountedShow.resource(1), [.hold(gate)])
        let output = show.home.directory.file("output")
        let download = try terminal("download", path, "--wait", standardOutput: output)
        try await download.waitForText("0 of 1 [###.......] 33% 97.7 KiB/293.0 KiB")
        gate.open()
        #expect(try await download.wait() == .exited(0))
        #expect(try String(contentsOfFile: output, encoding: .utf8) == "1 episode downloaded\n")
        // The line is cleared at the end. The terminal's output may arrive after the exit.
        try await waitUntil(description: "the progress line is erased") { download.text.hasSuffix("\r\u{1B}[K") }
        let silent = try await show.home.run("download", "Example Show", "--wait")
        #expect(
            silent.exitCode == 0 && silent.output == "2 episodes downloaded\n" && silent.error.isEmpty,
            "\(silent.error)")
    }

    @Test func aDownloadWithWaitContinuesWithTheNextDaemon() async throws {
        let gate = Gate(heldAt: 100_000)
        show.server.serve("/1.mp3", MountedShow.resource(1), [.hold(gate)])
        let download = try show.home.start("download", path, "Example Show/2026-01-02 Episode 2.mp3", "--wait")
        try await waitUntil(description: "one episode is cached and the other partly received") {
            let list = try await show.home.run("list", MountedShow.show).output
            return list.contains("Episode 2.mp3  293.0 KiB  cached") && list.contains("running 33.3%")
        }
        let first = try #require(show.home.daemonProcessIdentifier)
        show.home.killDaemon()
        try await waitUntil(description: "the next daemon runs") {
            show.home.daemonProcessIdentifier.map { $0 != first } ?? false
        }
        gate.open()
        let result = try await download.wait()
        #expect(result.exitCode == 0 && result.error.isEmpty, "\(result.error)")
        #expect(try await show.home.run("status").output == "no active tasks\n")
        let list = try await show.home.run("list", MountedShow.show).output
        #expect(list.contains("Episode 1.mp3  293.0 KiB  cached"))
    }

    /// No event of a cancellation is stored, so the command has to conclude it from the missing task.
    @Test func aDownloadCancelledBetweenTwoDaemonsIsNotStartedAgain() async throws {
        let gate = Gate(heldAt: 100_000)
        show.server.serve("/1.mp3", MountedShow.resource(1), [.hold(gate)])
        let download = try show.home.start("download", path, "--wait")
        try await show.home.waitForOutput("running 33.3%", of: "list", MountedShow.show)
        // While the test has this lock, no process can start a daemon.
        let lock = open(show.home.runtimeDirectory + "/start.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        #expect(lock >= 0 && flock(lock, LOCK_EX) == 0)
        try await show.home.endDaemon()
        do {
            let library = try Library.openForWriting(at: show.home.library)
            for row in try library.downloads() { try library.removeDownload(id: row.id) }
        }
        flock(lock, LOCK_UN)
        close(lock)
        let result = try await download.wait()
        gate.open()
        #expect(result.exitCode == 1 && result.error.contains("the download was cancelled"), "\(result.error)")
    }

    @Test func commandsThatFetchFeedsShowTheirProgress() async throws {
        let feed = FeedBuilder.show("Large", episodes: 3_000, length: 10) { "http://127.0.0.1/\($0).mp3" }.text
        let gate = Gate(heldAt: 200_000)
        show.server.serve("/large", Resource(text: feed, contentType: "application/rss+xml"), [.hold(gate)])
        let subscribe = try terminal("subscribe", show.server.url("/large"), columns: 100)
        try await subscribe.waitForText("/large: waiting for the server")
        gate.open()
        #expect(try await subscribe.wait() == .exited(0))
        try await subscribe.waitForText("Large: 3000 episodes")

        let second = Gate(heldAt: 0)
        // The refresh sends the second request for the feed. The server continues its count of requests when the route
        // is replaced, so this request gets the second behaviour.
        let behaviours: [Behaviour] = [.hold(second), .hold(second)]
        show.server.serve("/large", Resource(text: feed, contentType: "application/rss+xml"), behaviours)
        let refresh = try terminal("refresh")
        try await refresh.waitForText("1 of 2: Example Show")
        second.open()
        #expect(try await refresh.wait() == .exited(0))
    }
}
