import Foundation
import Glibc
import TestSupport
import Testing

/// Killed processes and unmounts.
@Suite(.timeLimit(.minutes(5))) struct SurvivalTests {
    @Test func theDownloadContinuesWhenTheMountIsKilled() async throws {
        let show = try await MountedShow()
        let gate = Gate(heldAt: 150_000)
        show.server.serve("/1.mp3", MountedShow.resource(1), [.hold(gate)])
        let reader = try ChildProcess("cat", [show.path(1)])
        try await gate.waitUntilReached()
        // The first read starts the download. Until then, the daemon only holds the response that answered the open.
        try await show.waitForState("running", of: show.path(1))
        kill(try await show.mountProcess(), SIGKILL)
        #expect(try await reader.wait().exitCode == 1)
        gate.open()
        try await waitUntil(deadline: .seconds(60), description: "the daemon has finished the episode") {
            try await show.home.run("list", MountedShow.show).output.contains("Episode 1.mp3  293.0 KiB  cached")
        }
        // The next mount detaches the dead one and uses the same folder.
        try await show.remount()
        let result = try await show.read(show.path(1))
        #expect(MountedShow.content(1).matches(result.standardOutput))
        #expect(result.standardOutput.count == 300_000)
        #expect(show.requests(1).count == 1)
    }

    @Test func aFinishedEpisodeNeedsNoDaemon() async throws {
        let show = try await MountedShow()
        _ = try await show.read(show.path(1))
        try await show.waitForState("cached", of: show.path(1))
        show.home.killDaemon()
        try await show.home.waitUntilDaemonHasEnded()
        show.server.stop()
        let result = try await show.read(show.path(1))
        #expect(MountedShow.content(1).matches(result.standardOutput))
        #expect(result.standardOutput.count == 300_000)
        let listing = try await ChildProcess.run("ls", ["\(show.mount.mountPoint)/\(MountedShow.show)"])
        #expect(listing.output.split(separator: "\n").count == 5)
        #expect(show.home.daemonProcessIdentifier == nil)
    }

    @Test(arguments: [SIGTERM, SIGINT]) func aSignalUnmountsAlthoughReadersWait(_ number: Int32) async throws {
        let show = try await MountedShow(length: nil)
        let gate = Gate(heldAt: 100_000)
        show.server.serve("/1.mp3", MountedShow.resource(1), [.hold(gate)])
        let readers = try (1...20).map { _ in try ChildProcess("cat", [show.path(1)]) }
        try await gate.waitUntilReached()
        kill(try await show.mountProcess(), number)
        for reader in readers {
            let result = try await reader.wait()
            #expect(result.exitCode == 1, "\(result.status) \(result.error) \(result.standardOutput.count)")
        }
        try await waitUntil(deadline: .seconds(60), description: "the folder is unmounted") { !show.mount.isMounted }
        gate.open()
    }

    @Test func anIdleDaemonExits() async throws {
        let show = try await MountedShow(configuration: "[daemon]\nidle_exit = \"1 s\"\n", isMounted: false)
        try await show.home.waitUntilDaemonHasEnded()
        #expect(try await show.home.run("list").output == "Example Show: 3 episodes\n")
    }
}
