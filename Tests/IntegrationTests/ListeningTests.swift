import Foundation
import Glibc
import TestSupport
import Testing

/// Tests with real players that play a mounted episode of five minutes. podfs stores the last position of a player, and
/// the next player continues there.
@Suite(
    .timeLimit(.minutes(3)), .enabled(if: PrivateBus.isInstalled, "dbus-daemon is not installed (package dbus-daemon)"))
struct ListeningTests {
    private static let seconds = 300

    /// A mount with an episode of five minutes, and a D-Bus session bus. If the tests run as root, the mount admits
    /// other users, since one test runs its player as `nobody`.
    private struct Station {
        let bus: PrivateBus
        let show: MountedShow
        let episode: String

        init(hasBus: Bool = true) async throws {
            let bus = try await PrivateBus(in: TemporaryDirectory())
            self.bus = bus
            show = try await MountedShow(
                environment: hasBus ? ["DBUS_SESSION_BUS_ADDRESS": bus.address] : [:], isMounted: false)
            let bytes = Station.sound()
            show.server.serve("/sound", Resource(bytes: bytes, contentType: "audio/x-wav"))
            var feed = FeedBuilder(title: MountedShow.show)
            feed.items.append(
                FeedBuilder.Item(
                    title: "Sound #1 50%", guid: "sound", url: show.server.url("/sound"), length: bytes.count,
                    type: "audio/x-wav", duration: "\(ListeningTests.seconds)"))
            show.server.serve(feed: feed)
            try await show.home.run("refresh").succeeded()
            let isRoot = getuid() == 0
            if isRoot {
                chmod(show.home.directory.path, 0o711)
                chmod(bus.folder.path, 0o711)
                chmod(bus.folder.file("bus"), 0o777)
                try await show.home.run("mount", "--allow-other", show.mount.mountPoint).succeeded()
            } else {
                try await show.remount()
            }
            let list = try await ChildProcess.run("ls", ["\(show.mount.mountPoint)/\(MountedShow.show)"])
            let name = try #require(list.output.split(separator: "\n").first { $0.contains("Sound") }, "\(list.output)")
            episode = "\(show.mount.mountPoint)/\(MountedShow.show)/\(name)"
        }

        /// Returns silence as a WAV file: PCM, 8 kHz, 8 bits, mono.
        private static func sound() -> [UInt8] {
            let count = UInt32(ListeningTests.seconds * 8_000)
            var bytes = Array("RIFF".utf8)
            func append(_ value: UInt32, _ size: Int) {
                for index in 0..<size { bytes.append(UInt8(truncatingIfNeeded: value >> UInt32(8 * index))) }
            }
            append(36 + count, 4)
            bytes += Array("WAVEfmt ".utf8)
            for (value, size) in [(16, 4), (1, 2), (1, 2), (8_000, 4), (8_000, 4), (1, 2), (8, 2)] as [(UInt32, Int)] {
                append(value, size)
            }
            bytes += Array("data".utf8)
            append(count, 4)
            return bytes + [UInt8](repeating: 128, count: Int(count))
        }

        func value(_ name: String) async throws -> String? { try await show.attribute(name, of: episode) }

        /// Waits until the stored position is about `expected` seconds.
        ///
        /// - Parameter tolerance: In seconds. The last position of a player that has quit is an estimate.
        func expectPosition(_ expected: Int, tolerance: Double) async throws {
            try await waitUntil(deadline: .seconds(20), description: "the position is about \(expected)") {
                try await value("position").flatMap(Double.init).map { abs($0 - Double(expected)) <= tolerance }
                    ?? false
            }
        }

        /// Plays a few seconds, then plays again without a start position, and expects that podfs moves the player to
        /// the stored position.
        func expectResumed(tolerance: Double, _ play: (_ start: Int?, _ end: Int) async throws -> Double) async throws {
            _ = try await play(100, 106)
            try await expectPosition(106, tolerance: tolerance)
            #expect(try await value("played") == "0")
            #expect(try await value("last_played") != nil)
            // Playing from the beginning would take more than 20 s, even at five times the speed.
            let duration = try await play(nil, 112)
            #expect(duration < 20)
            try await expectPosition(112, tolerance: tolerance)
        }
    }

    @Test(.enabled(if: InstalledProgram.exists("mpv"), "mpv is not installed"))
    func mpvReportsByItsScriptWithoutABus() async throws {
        let station = try await Station(hasBus: false)
        let script = station.show.home.directory.file("podfs.lua")
        let printed = try await station.show.home.run("player", "mpv")
        try Data(printed.standardOutput).write(to: URL(fileURLWithPath: script))
        let options = [
            "--no-config", "--vo=null", "--ao=null", "--script=\(script)",
            "--script-opts=podfs-program=\(PodfsHome.executable)", "--speed=5",
        ]
        /// Plays from one position to another, and returns how many seconds it took.
        func play(from start: Int?, until end: Int) async throws -> Double {
            let begin = ContinuousClock.now
            let arguments = options + ["--start=\(start ?? 0)", "--end=\(end)", "--", station.episode]
            try await ChildProcess.run("mpv", arguments, environment: station.show.home.environment).succeeded()
            return begin.duration(to: .now) / .seconds(1)
        }
        try await station.expectResumed(tolerance: 1, play)
        // An episode counts as played if playback reaches its last part, but not if playback starts in that part.
        _ = try await play(from: 280, until: 285)
        try await station.expectPosition(285, tolerance: 1)
        #expect(try await station.value("played") == "0")
        _ = try await play(from: 262, until: 275)
        try await waitUntil(description: "the episode is played") { try await station.value("played") == "1" }
        #expect(try await station.value("position") == nil)
        try await station.bus.stop()
    }

    /// VLC refuses to run as root. If the tests run as root, they run VLC as `nobody`.
    @Test(
        .enabled(if: InstalledProgram.exists("cvlc"), "vlc is not installed"),
        .enabled(if: getuid() != 0 || ChildProcess.canRunAsNobody, "runuser is not installed"))
    func vlcReportsByMPRIS() async throws {
        let station = try await Station()
        let results = try station.show.home.directory.makeDirectory("results")
        if getuid() == 0 { chmod(results, 0o777) }
        try await station.expectResumed(tolerance: 2.5) { start, end in
            let begin = ContinuousClock.now
            var arguments = [
                "HOME=\(results)", "LANG=C.UTF-8", "DBUS_SESSION_BUS_ADDRESS=\(station.bus.address)", "cvlc",
                "--intf=dummy", "--control=dbus", "--no-one-instance", "--play-and-exit", "--quiet", "--aout=adummy",
                "--rate=2", "--stop-time=\(end)",
            ]
            if let start { arguments.append("--start-time=\(start)") }
            arguments += [station.episode, "vlc://quit"]
            let result =
                getuid() == 0
                ? try await ChildProcess.runAsNobody("env", arguments) : try await ChildProcess.run("env", arguments)
            #expect(result.exitCode == 0, "\(result.output)\(result.error)")
            return begin.duration(to: .now) / .seconds(1)
        }
        try await station.bus.stop()
    }
}
