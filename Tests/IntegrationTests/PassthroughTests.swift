import Foundation
import Glibc
import TestSupport
import Testing

/// The system's support for passthrough.
private enum Passthrough {
    /// Whether the tests have CAP_SYS_ADMIN in the initial user namespace, and the kernel has passthrough.
    static let isPossible: Bool = {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("CapEff:") } ?? ""
        let capabilities = line.split(whereSeparator: \.isWhitespace).last.flatMap { UInt64($0, radix: 16) } ?? 0
        let map = (try? String(contentsOfFile: "/proc/self/uid_map", encoding: .utf8)) ?? ""
        let isInitial = map.split(whereSeparator: \.isWhitespace) == ["0", "0", "4294967295"]
        let release = (try? String(contentsOfFile: "/proc/sys/kernel/osrelease", encoding: .utf8)) ?? ""
        let name = release.trimmingCharacters(in: .whitespacesAndNewlines)
        let version = name.split(whereSeparator: { !$0.isNumber }).prefix(2).compactMap { Int($0) }
        let settings = (try? String(contentsOfFile: "/boot/config-\(name)", encoding: .utf8)) ?? ""
        return capabilities & (1 << 21) != 0 && isInitial && !version.lexicographicallyPrecedes([6, 9])
            && !settings.contains("# CONFIG_FUSE_PASSTHROUGH is not set")
    }()

    static let isOverlayPossible =
        ((try? String(contentsOfFile: "/proc/filesystems", encoding: .utf8)) ?? "").contains("overlay")
}

/// Episodes that the kernel reads from the cache file itself (passthrough). To prove that it does, the tests kill the
/// mount's process. After that, only the kernel can answer a read.
@Suite(
    .timeLimit(.minutes(5)),
    .enabled(if: Passthrough.isPossible, "only root on Linux 6.9 or newer can hand files to the kernel"))
struct PassthroughTests {
    private static let size = 3_000_000
    private static let content = MountedShow.content(1, size: size)

    /// Mounts a show whose first episode is cached and closed.
    private static func cached(
        options: [String] = [], prepare: (PodfsHome) async throws -> Void = { _ in }
    ) async throws -> MountedShow {
        let show = try await MountedShow(episodes: 2, size: size, length: size, isMounted: false, prepare: prepare)
        let mounted = try await show.home.run(["mount"] + options + [show.mount.mountPoint])
        try #require(mounted.exitCode == 0, "\(mounted.error)")
        let read = try await show.read(show.path(1))
        #expect(content.matches(read.standardOutput) && read.standardOutput.count == size)
        try await show.waitForState("cached", of: show.path(1))
        try await show.waitUntilReleased()
        return show
    }

    private func expectWhole(_ reading: OpenFileReader.Reading, _ line: SourceLocation = #_sourceLocation) {
        #expect(reading.error == 0, sourceLocation: line)
        #expect(reading.bytes.count == Self.size && Self.content.matches(reading.bytes), sourceLocation: line)
    }

    @Test func anOpenEpisodeOutlivesTheMountProcess() async throws {
        let show = try await Self.cached()
        let first = try await OpenFileReader(show.path(1))
        let second = try await OpenFileReader(show.path(1))
        expectWhole(try await first.read(0..<Self.size))
        try await show.killMount()
        expectWhole(try await first.read(0..<Self.size))
        expectWhole(try await second.read(0..<Self.size))
        // The cache file cannot be evicted: the kernel still has the file open, so the mount's lock on it (the lease)
        // is not released.
        let refused = try await show.home.run("evict", "\(MountedShow.show)/2026-01-01 Episode 1.mp3")
        #expect(refused.exitCode != 0 && refused.error.contains("it is open in a program"), "\(refused.error)")
        try await first.end()
        try await second.end()
        // A new mount replaces the dead one. The episode is no longer open.
        try await show.remount()
        try await waitUntil(deadline: .seconds(60), description: "the episode can be evicted") {
            try await show.home.run("evict", show.path(1)).exitCode == 0
        }
    }

    @Test func theDigestIsRightAndAnOpenUpdatesTheAccessTime() async throws {
        let show = try await Self.cached()
        let sum = try await ChildProcess.run("sha256sum", ["--", show.path(1)]).output.prefix(64)
        #expect(try await show.attribute("sha256", of: show.path(1)) == String(sum))
        #expect(show.requests(1).count == 1)
        let before = try #require(
            Int(try await ChildProcess.run("stat", ["-c", "%X", show.path(1)]).output.dropLast()))
        try await waitUntil(deadline: .seconds(60), description: "a second has passed") { time(nil) > before }
        let reader = try await OpenFileReader(show.path(1))
        let after = try #require(Int(try await ChildProcess.run("stat", ["-c", "%X", show.path(1)]).output.dropLast()))
        #expect(after > before)
        #expect(try await ChildProcess.run("stat", ["-c", "%s %b", show.path(1)]).output == "\(Self.size) 5860\n")
        let refused = try await show.home.run("evict", show.path(1))
        #expect(refused.exitCode != 0 && refused.error.contains("it is open in a program"), "\(refused.error)")
        try await reader.end()
        try await waitUntil(deadline: .seconds(60), description: "the episode can be evicted") {
            try await show.home.run("evict", show.path(1)).exitCode == 0
        }
        // The next reader opens the file under a new node ID, and gets the bytes from the server.
        let again = try await show.read(show.path(1))
        #expect(again.exitCode == 0 && Self.content.matches(again.standardOutput), "\(again.error)")
        #expect(show.requests(1).count == 2)
    }

    @Test func passthroughBeginsWhenTheHandlesOfTheDownloadAreClosed() async throws {
        let show = try await MountedShow(episodes: 1, size: Self.size, length: Self.size)
        let gate = Gate(heldAt: 1_000_000)
        show.server.serve("/1.mp3", MountedShow.resource(1, size: Self.size), [.hold(gate)])
        let early = try await OpenFileReader(show.path(1))
        let head = try await early.read(0..<100_000)
        #expect(head.error == 0 && Self.content.matches(head.bytes))
        gate.open()
        try await show.waitForState("cached", of: show.path(1))
        let late = try await OpenFileReader(show.path(1))
        #expect(late.openError == 0)
        expectWhole(try await late.read(0..<Self.size))
        expectWhole(try await early.read(0..<Self.size))
        try await early.end()
        // The handles of a file that are open at the same time must have the same mode. `late` was opened beside
        // `early`, and `third` is opened beside `late`, so podfs serves the reads of all three.
        let third = try await OpenFileReader(show.path(1))
        expectWhole(try await third.read(0..<Self.size))
        try await late.end()
        try await third.end()
        try await show.waitUntilReleased()
        let last = try await OpenFileReader(show.path(1))
        try await show.killMount()
        expectWhole(try await last.read(0..<Self.size))
    }

    @Test func anOptionDisablesPassthrough() async throws {
        let show = try await Self.cached(options: ["-o", "no_passthrough"])
        let reader = try await OpenFileReader(show.path(1))
        let part = try await reader.read(0..<4_096)
        #expect(part.error == 0 && Self.content.matches(part.bytes))
        // Drop the file's pages from the kernel's cache.
        let dropped = try await ChildProcess.run("dd", ["if=\(show.path(1))", "iflag=nocache", "count=0"])
        #expect(dropped.exitCode == 0, "\(dropped.error)")
        try await show.killMount()
        #expect(try await reader.read(2_000_000..<2_500_000).error != 0)
    }

    @Test func anOpenFileThatIsRemovedFromTheCacheIsReadToItsEnd() async throws {
        let show = try await Self.cached()
        let reader = try await OpenFileReader(show.path(1))
        let removed = try await ChildProcess.run(
            "find", [show.home.cacheDirectory, "-type", "f", "-size", "+1000k", "-print", "-delete"])
        #expect(!removed.output.isEmpty)
        let second = try await OpenFileReader(show.path(1))
        #expect(second.openError == 0)
        expectWhole(try await reader.read(0..<Self.size))
        expectWhole(try await second.read(0..<Self.size))
    }

    @Test func anUnmountByForceLeavesOpenFilesReadable() async throws {
        let show = try await Self.cached()
        let reader = try await OpenFileReader(show.path(1))
        let polite = try await show.home.run("unmount", show.mount.mountPoint)
        #expect(polite.exitCode == 1 && polite.error.contains("in use"), "\(polite.error)")
        let forced = try await show.home.run("unmount", "--force", show.mount.mountPoint)
        #expect(forced.exitCode == 0, "\(forced.error)")
        expectWhole(try await reader.read(0..<Self.size))
        try await reader.end()
    }

    /// A cache on overlayfs, which is stacked on another filesystem. Passthrough stacks the mount on the overlay, which
    /// reaches the kernel's maximum depth, 2. On two overlays the depth would be 3, so the kernel rejects the file
    /// (ELOOP), and podfs serves the reads.
    @Test(.enabled(if: Passthrough.isOverlayPossible, "this kernel has no overlayfs"), arguments: [1, 2])
    func aCacheOnOneOrTwoOverlaysIsRead(count: Int) async throws {
        // The layers are on a tmpfs, not in the folder for temporary files: in a container, that folder may be on an
        // overlay itself.
        let below = try await TemporaryFilesystem(mebibytes: 64)
        let folder = try TemporaryDirectory()
        var mounts: [String] = []
        defer { for path in mounts.reversed() { umount2(path, Int32(MNT_DETACH)) } }
        var lower = "\(below.path)/lower"
        mkdir(lower, 0o700)
        for number in 1...count {
            let (upper, work) = ("\(below.path)/upper\(number)", "\(below.path)/work\(number)")
            for path in [upper, work] { mkdir(path, 0o700) }
            let layer = try folder.makeDirectory("\(number)")
            let options = "lowerdir=\(lower),upperdir=\(upper),workdir=\(work)"
            let mounted = try await ChildProcess.run("mount", ["-t", "overlay", "-o", options, "overlay", layer])
            try #require(mounted.exitCode == 0, "\(mounted.error)")
            mounts.append(layer)
            lower = layer
        }
        let show = try await Self.cached { home in
            try FileManager.default.removeItem(atPath: home.directory.file("cache"))
            try FileManager.default.createSymbolicLink(
                atPath: home.directory.file("cache"), withDestinationPath: lower)
        }
        let reader = try await OpenFileReader(show.path(1))
        expectWhole(try await reader.read(0..<Self.size))
        let dropped = try await ChildProcess.run("dd", ["if=\(show.path(1))", "iflag=nocache", "count=0"])
        #expect(dropped.exitCode == 0, "\(dropped.error)")
        try await show.killMount()
        if count == 1 {
            expectWhole(try await reader.read(0..<Self.size))
        } else {
            #expect(try await reader.read(0..<Self.size).error != 0)
        }
        try await reader.end()
        show.home.killDaemon()
        try await show.home.waitUntilDaemonHasEnded()
        show.mount.unmount()
    }
}

extension MountedShow {
    /// Kills the mount's process, and waits until requests to the mount fail.
    fileprivate func killMount() async throws {
        kill(try await mountProcess(), SIGKILL)
        try await waitUntil(deadline: .seconds(60), description: "the mount is dead") {
            try await ChildProcess.run("stat", [path(2)]).exitCode != 0
        }
    }

    /// Waits until the mount's process has answered every release, since close(2) does not wait for the answer.
    fileprivate func waitUntilReleased() async throws {
        let connection = try await FuseConnection(at: mount.mountPoint)
        try await waitUntil(deadline: .seconds(60), description: "no request waits") { try connection.waiting == 0 }
    }
}
