import Foundation
import TestSupport
import Testing

/// Two installations of podfs, each with its own home folder, that use one sync account. The reports of a player in one
/// of them reach the other.
@Suite(.timeLimit(.minutes(3))) struct ListeningSyncTests {
    private static let configuration = "[sync]\ninterval = \"1 s\"\ndelay = \"0 s\"\n"
    private static let link = "2026-01-02 Episode 2 - Example Show.mp3"

    /// An installation and its mount.
    private struct Device {
        let name: String
        let show: MountedShow

        var home: PodfsHome { show.home }

        func path(_ number: Int) -> String { show.path(number) }

        func login(_ server: SyncServer) async throws {
            try await home.run(
                ["sync", "login", server.url, "--user", "anna", "--device", name, "--password-stdin"],
                input: Array("s3cret pass\n".utf8)
            ).succeeded()
        }

        func list(_ view: String) async throws -> [String] {
            try await ChildProcess.run("ls", ["\(show.mount.mountPoint)/\(view)"]).output.split(separator: "\n")
                .map(String.init)
        }

        func value(_ name: String, of number: Int) async throws -> String? {
            try await show.attribute(name, of: path(number))
        }

        /// Reports on episode 2 like a player, and returns the output of podfs: the position to which the player must
        /// seek, or nothing.
        func play(_ reports: (phase: String, position: Double)...) async throws -> String {
            var output = ""
            for report in reports {
                let result = try await home.run(
                    "player", "report", "--player", "test", "--phase", report.phase, "--position",
                    "\(report.position)", "--duration", "1500", "--", path(2)
                ).succeeded()
                output += result.output
            }
            return output
        }
    }

    @Test func aPausedEpisodeIsContinuedAndFinishedOnAnotherDevice() async throws {
        let server = SyncServer()
        try server.start()
        // Three of the four episodes fit into the cache.
        let show = try await MountedShow(
            episodes: 4, configuration: Self.configuration + "[cache]\nlimit = \"1000 KiB\"\nkeep_free = \"1 MiB\"\n")
        let here = Device(name: "here", show: show)
        let home = try PodfsHome()
        try home.configure(Self.configuration)
        let there = Device(name: "there", show: try MountedShow(of: show, in: home))
        try await here.login(server)
        try await there.login(server)
        try await waitUntil(description: "the show is subscribed") {
            try await home.run("list").output.contains(MountedShow.show)
        }
        try await there.show.remount()
        #expect(try await there.list("In Progress") == ["index.html", "playlist.m3u8"])

        // On the first device, the episode is paused at 754 s (12:34).
        for number in [1, 3, 2] {
            _ = try await show.read(here.path(number))
            try await show.waitForState("cached", of: here.path(number))
        }
        #expect(try await here.play(("started", 0), ("seeked", 751), ("paused", 754)) == "")
        #expect(try await here.list("In Progress") == [Self.link, "index.html", "playlist.m3u8"])
        try await waitUntil(description: "the episode is in progress on the other device") {
            try await there.list("In Progress") == [Self.link, "index.html", "playlist.m3u8"]
        }
        // The first device may upload the seek to 751 s in one sync and the pause at 754 s in the next.
        try await waitUntil(description: "the position is synced") {
            try await there.value("position", of: 2) == "754"
        }
        let action = try #require(server.actions.last)
        #expect(["started", "position", "total"].map { action[$0] as? Int } == [751, 754, 1_500])

        // The other device continues the episode and plays it nearly to its end.
        #expect(try await there.play(("started", 0)) == "751.0\n")
        #expect(try await there.play(("seeked", 1_466), ("playing", 1_470.5), ("stopped", 1_472)) == "")
        #expect(try await there.value("played", of: 2) == "1")
        try await waitUntil(description: "the episode is played") { try await here.value("played", of: 2) == "1" }
        #expect(try await here.value("position", of: 2) == nil)
        #expect(try await here.list("In Progress") == ["index.html", "playlist.m3u8"])
        #expect(try await here.list("Unplayed").contains { $0.hasPrefix("2026-01-02") } == false)
        #expect(try await here.list("Unplayed").count == 5)

        // The played episode is evicted first, although it was opened after the two other cached episodes.
        _ = try await show.read(here.path(4))
        try await show.waitForState("cached", of: here.path(4))
        try await show.waitForState("remote", of: here.path(2))
        for number in [1, 3] { #expect(try await here.value("state", of: number) == "cached") }
    }
}
