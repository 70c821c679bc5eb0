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
    private static func cached(options: [String] = []) async throws -> MountedShow {
        let show = try await MountedShow(episodes: 2, size: size, length: size, isMounted: false)
        try await show.home.run(["mount"] + options + [show.mount.mountPoint]).succeeded()
        #expect(content.equals(try await show.read(show.path(1)).standardOutput))
        try await show.waitForState("cached", of: show.path(1))
        try await show.waitUntilReleased()
        return show
    }

    private func expectWhole(_ reading: OpenFileReader.Reading, _ line: SourceLocation = #_sourceLocation) {
        #expect(reading.error == 0 && Self.content.equals(reading.bytes), sourceLocation: line)
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
        try await show.waitUntilEvicted(show.path(1))
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
        try await ChildProcess.run("dd", ["if=\(show.path(1))", "iflag=nocache", "count=0"]).succeeded()
        try await show.killMount()
        #expect(try await reader.read(2_000_000..<2_500_000).error != 0)
    }

    @Test func anUnmountByForceLeavesOpenFilesReadable() async throws {
        let show = try await Self.cached()
        let reader = try await OpenFileReader(show.path(1))
        try await show.home.run("unmount", show.mount.mountPoint).failed(says: "in use")
        try await show.home.run("unmount", "--force", show.mount.mountPoint).succeeded()
        expectWhole(try await reader.read(0..<Self.size))
        try await reader.end()
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
