import Foundation
import TestSupport
import Testing

/// Behavior when the wall clock jumps, as it does after a suspend, or when a person or a time server sets it.
@Suite(.timeLimit(.minutes(5))) struct ClockTests {
    @Test func jumpsOfTheClockEndNeitherAReadNorTheDaemon() async throws {
        let clock = try await FakeClock()
        let size = 2_000_000
        let show = try await MountedShow(
            episodes: 2, size: size, length: size,
            configuration: MountedShow.patience(stall: 30, reader: 40) + "[daemon]\nidle_exit = \"30 s\"\n",
            environment: clock.environment)
        let gate = Gate(heldAt: 1_000_000)
        show.server.serve("/1.mp3", MountedShow.resource(1, size: size), [.hold(gate)])
        let reader = try ChildProcess("cat", [show.path(1)])
        try await gate.waitUntilReached()
        let daemon = try #require(show.home.daemonProcessIdentifier)
        for days in [400, -400, 1] {
            try clock.move(byDays: Int64(days))
            let told = try await ChildProcess.run("stat", ["-c", "%Y", "\(show.mount.mountPoint)/.status"]).output
            let moment = try #require(Double(told.trimmingCharacters(in: .whitespacesAndNewlines)))
            // The modification time of `.status` is the mount's current time.
            #expect(abs(moment - Date().timeIntervalSince1970 - Double(days) * 86_400) < 3_600)
            // The mount and the daemon still work at the new time, since part of another episode can be read.
            let part = try await show.read(show.path(2), 0..<65_536)
            #expect(MountedShow.content(2, size: size).matches(part.standardOutput), "\(part.error)")
            #expect(part.standardOutput.count == 65_536)
            #expect(reader.isRunning)
        }
        gate.open()
        let result = try await reader.wait().succeeded()
        #expect(MountedShow.content(1, size: size).equals(result.standardOutput))
        #expect(show.requests(1).count == 1)
        #expect(show.home.daemonProcessIdentifier == daemon)
        try await show.expectWhole(2, MountedShow.content(2, size: size))
    }

    @Test func aReadTimesOutAlthoughTheClockIsSetBack() async throws {
        let clock = try await FakeClock()
        let show = try await MountedShow(
            episodes: 1, configuration: MountedShow.patience(stall: 2, reader: 3),
            environment: clock.environment)
        try await show.confirmSize(of: show.path(1))
        let gate = Gate(heldAt: 0)
        show.server.serve("/1.mp3", MountedShow.resource(1)) { _ in .holdHead(gate) }
        let reader = try ChildProcess("cat", [show.path(1)])
        try await gate.waitUntilReached()
        try clock.move(byDays: -30)
        let result = try await reader.wait()
        #expect(result.says(ETIMEDOUT), "\(result.error)")
        gate.open()
        try await show.waitForState("cached", of: show.path(1))
        try await show.expectWhole(1, MountedShow.content(1))
    }
}
