import Foundation
import Glibc
import TestSupport
import Testing

/// Killed processes and unmounts.
@Suite(.timeLimit(.minutes(5))) struct SurvivalTests {
    @Test func aFinishedEpisodeNeedsNoDaemon() async throws {
        let show = try await MountedShow()
        _ = try await show.read(show.path(1))
        try await show.waitForState("cached", of: show.path(1))
        try await show.home.endDaemon()
        show.server.stop()
        let result = try await show.read(show.path(1))
        #expect(MountedShow.content(1).equals(result.standardOutput))
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
