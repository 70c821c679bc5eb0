import Foundation
import Glibc
import PodcastLibrary
import PodcastProtocol
import TestSupport
import Testing
import Transfers

struct EventsTests {
    private struct Line: Decodable {
        let seq: Int64
        let time: String
        let event: String
        let task: TaskID?
        let id: Int64?
        let path: String?
        let state: String?
        let bytesReceived: Int64?
        let bytesExpected: Int64?
        let error: String?
    }

    private let show: MountedShow
    private let path = "Example Show/2026-01-01 Episode 1.mp3"

    init() async throws { show = try await MountedShow(isMounted: false) }

    private func lines(_ output: String) throws -> [Line] {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try output.split(separator: "\n").map { try decoder.decode(Line.self, from: Data($0.utf8)) }
    }

    @Test func eventsArePrintedAsTheyHappenAndFinalEventsAreStored() async throws {
        let watcher = try show.home.start("events", "--json", "--since", "0")
        try await show.home.run("download", path, "--wait").succeeded()
        #expect(try await show.attribute("state", of: show.path(1)) == nil)
        try await watcher.waitForOutput("\"completed\"")
        let seen = try lines(watcher.output)
        let completed = try #require(seen.first { $0.event == "completed" })
        #expect(completed.path == path && completed.state == "cached" && completed.error == nil)
        #expect(completed.bytesReceived == 300_000 && completed.bytesExpected == 300_000)
        #expect(completed.task != nil && completed.id != nil && completed.time.hasSuffix("Z"))
        // Every member is present, even if its value is null.
        let first = try #require(watcher.output.split(separator: "\n").first)
        let names = [
            "seq", "time", "event", "task", "kind", "id", "path", "state", "bytes_received", "bytes_expected", "error",
        ]
        for name in names { #expect(first.contains("\"\(name)\":")) }

        // The watcher survives the death of the daemon, and misses no final event.
        show.home.killDaemon()
        try await show.home.run("download", "Example Show/2026-01-02 Episode 2.mp3", "--wait").succeeded()
        try await waitUntil(description: "the second completion is reported") {
            try lines(watcher.output).filter { $0.event == "completed" }.count == 2
        }
        watcher.kill(SIGINT)
        let all = try lines(watcher.output)
        let sequences = all.map(\.seq)
        #expect(Set(sequences).count == sequences.count)

        let kept = try await show.home.run("events", "--json", "--since", "0", "--once")
        #expect(try lines(kept.output).map(\.event) == ["completed", "completed"])
        let later = try await show.home.run("events", "--json", "--since", "\(completed.seq)", "--once")
        #expect(try lines(later.output).map(\.path) == ["Example Show/2026-01-02 Episode 2.mp3"])
        let text = try await show.home.run("events", "--since", "0", "--once")
        #expect(text.output.contains(" completed 293.0 KiB \(path)\n"))
    }

    /// The connection to the first daemon ends before the daemon has sent an event.
    @Test func finalEventsBetweenTwoDaemonsArePrintedWithoutSince() async throws {
        func completed(_ sequence: Int64, _ path: String) -> Event {
            var report = TaskInfo(id: TaskID(sequence), state: .cached)
            report.path = path
            return Event(sequence: sequence, time: 0, .completed(report))
        }
        let (early, late) = (completed(3, "Show/Early.mp3"), completed(7, "Show/Late.mp3"))
        let home = try PodfsHome()
        let daemon = try FrameServer.daemon(of: home) { peer, command, frame in
            guard case .events(let since)? = command else { return peer.answer(frame, .done) }
            let stored = peer.number == 0 ? [early] : [early, late]
            peer.answer(frame, .events(stored.filter { $0.sequence > since }))
            if peer.number == 0 { peer.end() }
        }
        let watcher = try home.start("events")
        try await watcher.waitForOutput("Late.mp3")
        #expect(!watcher.output.contains("Early.mp3"), "\(watcher.output)")
        withExtendedLifetime(daemon) {}
        watcher.kill()
    }

    @Test func aFailedDownloadFailsTheCommandThatWaitsForIt() async throws {
        show.server.serve("/1.mp3", MountedShow.resource(1)) { _ in .status(404) }
        let one = try await show.home.run("download", path, "--wait").failed()
        #expect(one.error == "podfs: \(path): the server answered 404\n")
        // An episode that is named twice counts once, so this is no partial failure.
        try await show.home.run("download", path, path, "--wait").failed()
        try await show.home.run("download", "Example Show", "--latest", "3", "--wait").failed(2)
        let kept = try await show.home.run("events", "--json", "--since", "0", "--once")
        let failed = try lines(kept.output).filter { $0.event == "failed" }
        #expect(!failed.isEmpty && failed.allSatisfy { $0.error?.contains("404") == true }, "\(kept.output)")
    }
}
