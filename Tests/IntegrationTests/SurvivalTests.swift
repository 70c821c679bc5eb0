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

    @Test func aReaderOutlivesTheDaemon() async throws {
        let size = 4_000_000
        let show = try await MountedShow(size: size, length: size)
        let gate = Gate(heldAt: 2_000_000)
        show.server.serve("/1.mp3", MountedShow.resource(1, size: size), [.hold(gate)])
        let reader = try ChildProcess("cat", [show.path(1)])
        try await gate.waitUntilReached()
        let daemon = try #require(show.home.daemonProcessIdentifier)
        show.home.killDaemon()
        let result = try await reader.wait()
        #expect(result.exitCode == 0, "\(result.error)")
        #expect(result.standardOutput.count == size)
        #expect(MountedShow.content(1, size: size).matches(result.standardOutput))
        #expect(show.home.daemonProcessIdentifier != daemon)
        gate.open()
        // Later requests either continue the same rendition or fetch the whole file.
        #expect(
            show.requests(1).dropFirst().allSatisfy { $0.headers["if-range"] == "\"episode-1\"" || $0.range == nil })
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

    @Test func unmountNamesTheProcessesThatUseTheFolder() async throws {
        let show = try await MountedShow()
        let holder = try ChildProcess("sh", ["-c", "cd \"$0\" && echo in && exec sleep 600", show.mount.mountPoint])
        try await holder.waitForOutput("in")
        let refused = try await show.home.run("unmount", show.mount.mountPoint)
        #expect(refused.exitCode == 1)
        #expect(refused.error.contains("is in use by sleep (\(holder.processIdentifier))"), "\(refused.error)")
        let forced = try await show.home.run("unmount", "--force", show.mount.mountPoint)
        #expect(forced.exitCode == 0, "\(forced.error)")
        #expect(!show.mount.isMounted)
        holder.kill()
    }

    @Test func manyReadersOfAStalledHostDoNotFreezeTheMount() async throws {
        let show = try await MountedShow(episodes: 3)
        _ = try await show.read(show.path(2))
        let gate = Gate(heldAt: 0)
        show.server.serve("/1.mp3", MountedShow.resource(1)) { _ in .hold(gate) }
        // There are more readers than the kernel's default limit of background requests, and than threads of the mount.
        let readers = try (1...40).map { _ in try ChildProcess("cat", [show.path(1)]) }
        try await gate.waitUntilReached()
        let cached = try await show.read(show.path(2))
        #expect(cached.standardOutput.count == 300_000)
        let listing = try await ChildProcess.run("ls", ["-l", "\(show.mount.mountPoint)/\(MountedShow.show)"])
        #expect(listing.exitCode == 0)
        // A waiting reader can be killed at once.
        readers[0].kill()
        #expect(try await readers[0].wait().status == .signalled(SIGKILL))
        gate.open()
        for reader in readers.dropFirst() {
            let result = try await reader.wait()
            #expect(result.standardOutput.count == 300_000)
        }
    }

    @Test func twoDaemonsCannotRun() async throws {
        let show = try await MountedShow(isMounted: false)
        let second = try await show.home.run("daemon")
        #expect(second.exitCode == 1)
        #expect(second.error.contains("another daemon already serves"), "\(second.error)")
    }

    @Test func anIdleDaemonExits() async throws {
        let show = try await MountedShow(configuration: "[daemon]\nidle_exit = \"1 s\"\n", isMounted: false)
        try await show.home.waitUntilDaemonHasEnded()
        #expect(try await show.home.run("list").output == "Example Show: 3 episodes\n")
    }
}
