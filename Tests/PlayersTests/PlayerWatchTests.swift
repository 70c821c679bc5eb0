import Foundation
import PodcastProtocol
import Synchronization
import TestSupport
import Testing
import Transfers

@testable import PodcastFilesystem

/// `PlayerWatch` on a real D-Bus daemon, with players that a test controls.
@Suite(
    .timeLimit(.minutes(2)),
    .enabled(if: PrivateBus.isInstalled, "dbus-daemon is not installed (package dbus-daemon)"))
struct PlayerWatchTests {
    /// A mount with one episode, `Show/a.mp3`. It records the reports that a daemon would receive.
    private final class Mount: Sendable {
        let reports = Mutex<[ListeningReport]>([])
        private let folder: String

        init(_ folder: String = "/mnt/p") { self.folder = folder }

        func watch(_ address: String?, resume: Double? = nil) -> PlayerWatch {
            var options = PlayerWatch.Options(folder: folder, address: { address })
            options.linger = .milliseconds(100)
            return PlayerWatch(
                options,
                mount: PlayerWatch.Mount(
                    episode: { $0 == ["Show", "a.mp3"] ? 1 : nil },
                    report: { report, answer in
                        self.reports.withLock { $0.append(report) }
                        answer(report.phase == .started ? resume : nil)
                    }))
        }

        func last(_ phase: ListeningReport.Phase, _ player: String) -> ListeningReport? {
            reports.withLock { $0.last { $0.phase == phase && $0.player == player } }
        }
    }

    private static let url = "file:///mnt/p/Show/a%2Emp3"

    @Test func aPlayerIsFollowedFromStartToEnd() async throws {
        let bus = try await PrivateBus(in: TemporaryDirectory())
        let folder = try TemporaryDirectory()
        try folder.makeDirectory("Show")
        let file = FileHandle(forReadingAtPath: try folder.write("Show/a.mp3", text: "a"))
        defer { try? file?.close() }
        let mount = Mount(folder.path)
        let watch = mount.watch(bus.address, resume: 497)
        // One player runs before the episode is opened, and its URL leads through a link. Another player starts later.
        let early = try FakePlayer("early", on: bus.address, .init(url: "file:///home/me/p/Show/a.mp3"))
        watch.opened(1)
        try await waitUntil(description: "the start is reported") { mount.last(.started, "early") != nil }
        let late = try FakePlayer(
            "vlc.instance7", on: bus.address, .init(url: "file://\(folder.path)/Show/a%2Emp3", position: 400_000))
        try await waitUntil(description: "the other start is reported") { mount.last(.started, "vlc.instance7") != nil }
        let report = try #require(mount.last(.started, "vlc.instance7"))
        #expect(report.episode == 1 && report.duration == 1_000 && abs(report.position - 0.4) < 0.3)
        #expect(report.process == getpid())
        try await waitUntil(description: "the player is moved") { late.seeks == [497] }
        try await waitUntil(description: "the seek is reported") { mount.last(.seeked, "vlc.instance7") != nil }
        late.set { $0.position = 500_250_000 }
        late.announce { $0.status = "Paused" }
        try await waitUntil(description: "the pause is reported") { mount.last(.paused, "vlc.instance7") != nil }
        #expect(mount.last(.paused, "vlc.instance7")?.position == 500.25)
        late.stop()
        try await waitUntil(description: "the end is reported") { mount.last(.stopped, "vlc.instance7") != nil }
        #expect(late.seeks == [497], "the player is moved once")
        watch.closed(1)
        try await waitUntil(description: "the connection ends after the last close") { !watch.isRunning }
        #expect(mount.last(.stopped, "early") != nil)
        early.stop()
        watch.stop()
        try await bus.stop()
    }

    @Test func aPlayerThatGivesUpOneOfTwoNamesIsStillFollowed() async throws {
        let bus = try await PrivateBus(in: TemporaryDirectory())
        let mount = Mount()
        let watch = mount.watch(bus.address)
        watch.opened(1)
        let first = try FakePlayer("first", on: bus.address, .init(url: Self.url))
        try await waitUntil(description: "the watch is connected") { mount.last(.started, "first") != nil }
        let player = try FakePlayer("vlc", and: "vlc.instance7", on: bus.address, .init(url: Self.url))
        try await waitUntil(description: "the start is reported") { mount.last(.started, "vlc") != nil }
        player.release("vlc")
        player.announce { $0.status = "Paused" }
        try await waitUntil(description: "the pause is reported") { mount.last(.paused, "vlc") != nil }
        #expect(mount.last(.stopped, "vlc") == nil)
        player.stop()
        try await waitUntil(description: "the end is reported") { mount.last(.stopped, "vlc") != nil }
        first.stop()
        watch.stop()
        try await bus.stop()
    }

    @Test func hostilePlayersDoNotAffectOthers() async throws {
        let bus = try await PrivateBus(in: TemporaryDirectory())
        let mount = Mount()
        let watch = mount.watch(bus.address)
        let huge = String(repeating: "x", count: 1 << 20)
        let players = [
            try FakePlayer("other", on: bus.address, .init(url: "file:///home/other/mnt/p/Show/a.mp3")),
            try FakePlayer("above", on: bus.address, .init(url: "file:///mnt/p/../p/Show/a.mp3")),
            try FakePlayer("unopened", on: bus.address, .init(url: "file:///mnt/p/Show/b.mp3")),
            try FakePlayer("huge", on: bus.address, .init(url: "file:///mnt/p/Show/" + huge)),
            try FakePlayer(
                "wrong", on: bus.address,
                .init(url: Self.url, length: .min, position: .min, status: huge, rate: .infinity)),
        ]
        watch.opened(1)
        let flood = try FakePlayer("flood", on: bus.address, .init(url: Self.url))
        try await waitUntil(description: "the start is reported") { mount.last(.started, "flood") != nil }
        flood.seek((0..<10_000).map { $0 * 90_000 % 900_000_000 })
        flood.announce { $0.url = "file:///" + huge }
        let good = try FakePlayer("good", on: bus.address, .init(url: Self.url, position: 60_000_000))
        try await waitUntil(description: "the other player's start is reported") { mount.last(.started, "good") != nil }
        good.announce { $0.status = "Paused" }
        try await waitUntil(description: "the other player's pause is reported") { mount.last(.paused, "good") != nil }
        let reports = mount.reports.withLock { $0 }
        #expect(Set(reports.map(\.player)).isSubset(of: ["flood", "good"]), "\(Set(reports.map(\.player)))")
        #expect(reports.count < 50, "\(reports.count)")
        for player in players + [flood, good] { player.stop() }
        watch.stop()
        try await bus.stop()
    }

    @Test func withoutAnOpenEpisodeOrABusNothingIsReported() async throws {
        let bus = try await PrivateBus(in: TemporaryDirectory())
        let mount = Mount()
        let player = try FakePlayer("vlc", on: bus.address, .init(url: Self.url))
        let watch = mount.watch(bus.address)
        watch.opened(1)
        watch.closed(1)
        for address in [nil, "unix:path=/nonexistent/bus", "nonsense"] {
            let other = mount.watch(address)
            other.opened(1)
            other.stop()
        }
        #expect(PlayerList.names(at: bus.address) == ["vlc"])
        #expect(PlayerList.names(at: "unix:path=/nonexistent/bus") == nil)
        #expect(player.positionReads == 0)
        #expect(mount.reports.withLock { $0.isEmpty })
        player.stop()
        watch.stop()
        try await bus.stop()
    }

    @Test func theAddressIsThatOfTheSessionBus() throws {
        let folder = try TemporaryDirectory()
        #expect(SessionBus.address(["DBUS_SESSION_BUS_ADDRESS": "unix:path=/x"]) == "unix:path=/x")
        #expect(SessionBus.address([:]) == nil)
        #expect(SessionBus.address(["XDG_RUNTIME_DIR": folder.path]) == nil)
        for address in ["autolaunch:", "unix:path=/x;unixexec:path=/bin/true", "unix:path=/x;autolaunch:"] {
            #expect(SessionBus.address(["DBUS_SESSION_BUS_ADDRESS": address]) == nil)
        }
    }
}
