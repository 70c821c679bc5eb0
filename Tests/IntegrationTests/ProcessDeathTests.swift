import Foundation
import Glibc
import TestSupport
import Testing

/// The effects that the death of the daemon or of a mount's process has on the other processes, and what `unmount`
/// does to open files and waiting reads.
@Suite(.timeLimit(.minutes(5))) struct ProcessDeathTests {
    private static let size = 4_000_000
    private static let content = MountedShow.content(1, size: size)

    private static func show(_ configuration: String = "") async throws -> MountedShow {
        try await MountedShow(episodes: 1, size: size, length: size, configuration: configuration)
    }

    private static var resource: Resource { MountedShow.resource(1, size: size) }

    @Test func readersEverywhereInAFileWaitForTheNextDaemon() async throws {
        let show = try await Self.show()
        let gate = Gate(heldAt: 0)
        show.server.serve("/1.mp3", Self.resource) { _ in .hold(gate) }
        try await show.confirmSize(of: show.path(1))
        let offsets = (0..<12).map { $0 * 330_000 }
        let readers = try offsets.map { offset in
            try ChildProcess(
                "dd",
                [
                    "if=\(show.path(1))", "bs=4096", "skip=\(offset)", "count=10000", "status=none",
                    "iflag=skip_bytes,count_bytes,fullblock",
                ])
        }
        for _ in 0..<2 {
            try await gate.waitUntilReached()
            let daemon = try #require(show.home.daemonProcessIdentifier)
            show.home.killDaemon()
            // No command runs, so only the mount can start the next daemon.
            try await waitUntil(deadline: .seconds(60), description: "the next daemon serves") {
                if let ended = readers.first(where: { !$0.isRunning }) {
                    throw DeadlineError("the next daemon serves: a reader has ended: \(ended.error)")
                }
                let next = show.home.daemonProcessIdentifier
                return next != nil && next != daemon
            }
        }
        #expect(readers.allSatisfy { $0.isRunning })
        gate.open()
        for (offset, reader) in zip(offsets, readers) {
            let result = try await reader.wait()
            #expect(result.exitCode == 0, "\(offset): \(result.error)")
            #expect(result.standardOutput.count == 10_000)
            #expect(Self.content.matches(result.standardOutput, at: offset))
        }
        try await show.expectWhole(1, Self.content)
    }

    @Test func aDownloadOfADeadDaemonContinuesFromItsCheckpoint() async throws {
        let show = try await Self.show()
        show.server.serve("/1.mp3", Self.resource) { $0.index == 0 ? .throttle(bytesPerSecond: 1_000_000) : .normal }
        #expect(try await show.home.run("download", show.path(1)).exitCode == 0)
        // These bytes take more than two seconds at that rate. By then the daemon has written a checkpoint that
        // covers at least the first second.
        try await waitUntil(deadline: .seconds(60), description: "half of the episode is received") {
            Int(try await show.attribute("bytes_received", of: show.path(1)) ?? "") ?? 0 > 2_200_000
        }
        let mount = try await show.mountProcess()
        kill(mount, SIGKILL)
        show.home.killDaemon()
        let received = show.server.bodyBytesWritten(for: "/1.mp3")
        try await show.home.waitUntilDaemonHasEnded()
        // The next daemon resumes the tasks of the killed one.
        #expect(try await show.home.run("daemon").exitCode == 0)
        try await show.home.waitForOutput("cached", of: "list", MountedShow.show)
        let next = try #require(show.requests(1).dropFirst().first)
        let start = try #require(next.range?.firstByte)
        // At most one second of transfer and the bytes in flight are lost.
        #expect(received - start <= 1_300_000, "\(received) were sent, it went on from \(start)")
        #expect(next.headers["If-Range"] == "\"episode-1\"")
        #expect(show.requests(1).count == 2)
        try await show.remount()
        try await show.expectWhole(1, Self.content)
        #expect(show.requests(1).count == 2)
    }

    @Test func anOpenFileOfADeadMountFailsAndTheNextMountServesThePath() async throws {
        let show = try await Self.show()
        let reader = try await OpenFileReader(show.path(1))
        #expect(Self.content.matches(try await reader.read(0..<4_096).bytes))
        kill(try await show.mountProcess(), SIGKILL)
        let dead = try await reader.read(3_900_000..<3_910_000).error
        #expect(dead == ENOTCONN || dead == ECONNABORTED)
        let listed = try await ChildProcess.run("ls", [show.mount.mountPoint])
        #expect(listed.says(ENOTCONN), "\(listed.error)")
        try await show.remount()
        // The descriptor stays invalid, and returns no bytes of the new mount.
        let after = try await reader.read(3_900_000..<3_910_000)
        #expect(after.error == ENOTCONN || after.error == ECONNABORTED)
        try await show.expectWhole(1, Self.content)
    }

    // MARK: Unmounting

    @Test func aFolderWithAnOpenFileIsUnmountedOnlyByForce() async throws {
        let show = try await Self.show()
        let reader = try await OpenFileReader(show.path(1))
        #expect(Self.content.matches(try await reader.read(0..<4_096).bytes))
        try await show.home.run("unmount", show.mount.mountPoint).failed(
            says: "perl (\(reader.processIdentifier))", "--force")
        #expect(show.mount.isMounted)
        // Reads fail with EIO during the attempt to unmount, and succeed again soon after it has failed.
        var part = try await reader.read(2_000_000..<2_010_000)
        try await waitUntil(deadline: .seconds(60), description: "the reader gets data again") {
            if part.error == EIO { part = try await reader.read(2_000_000..<2_010_000) }
            return part.error != EIO
        }
        #expect(part.error == 0 && Self.content.matches(part.bytes, at: 2_000_000))
        let process = try await show.mountProcess()
        try await show.home.run("unmount", "--force", show.mount.mountPoint).succeeded()
        #expect(!show.mount.isMounted)
        // The mount's process has exited. Until it is reaped, its entry in /proc remains, but without an executable.
        #expect((try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/exe")) == nil)
        let after = try await reader.read(3_900_000..<3_910_000).error
        #expect(after == ENOTCONN || after == ECONNABORTED || after == ENODEV)
    }

    // MARK: Two daemons

    @Test(arguments: ["XDG_DATA_HOME", "XDG_CACHE_HOME"])
    func aDaemonThatSharesAFolderWithAnotherExits(_ shared: String) async throws {
        let show = try await MountedShow(isMounted: false)
        let own = try #require(show.home.daemonProcessIdentifier)
        // Everything else is separate, so that only the folder's lock conflicts.
        let folder = try TemporaryDirectory()
        var environment = show.home.environment
        for name in ["DATA", "CACHE", "CONFIG", "STATE"].map({ "XDG_\($0)_HOME" }) + ["XDG_RUNTIME_DIR"]
        where name != shared {
            environment[name] = try folder.makeDirectory(name)
        }
        try await ChildProcess.run(PodfsHome.executable, ["daemon", "--foreground"], environment: environment).failed(
            says: "another daemon already serves")
        #expect(show.home.daemonProcessIdentifier == own)
        #expect(try await show.home.run("list").output == "Example Show: 3 episodes\n")
    }
}
