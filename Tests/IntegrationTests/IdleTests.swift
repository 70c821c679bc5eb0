import Foundation
import Glibc
import TestSupport
import Testing

/// Idle processes of podfs, which must not wake a laptop's processor.
@Suite(.timeLimit(.minutes(5))) struct IdleTests {
    /// Whether a timer descriptor of the process expires within five seconds, according to proc_pid_fdinfo(5).
    private static func isToWakeSoon(_ process: Int32) throws -> Bool {
        let folder = "/proc/\(process)/fdinfo"
        return try FileManager.default.contentsOfDirectory(atPath: folder).contains { descriptor in
            guard let text = try? String(contentsOfFile: "\(folder)/\(descriptor)", encoding: .utf8),
                let line = text.split(separator: "\n").first(where: { $0.hasPrefix("it_value: (") })
            else { return false }
            let numbers = line.split { !$0.isNumber }.compactMap { Int($0) }
            return numbers.count == 2 && numbers != [0, 0] && numbers[0] < 5
        }
    }

    @Test func anIdleDaemonAndAnIdleMountHaveNoTimerDueSoon() async throws {
        let show = try await MountedShow(configuration: "[daemon]\nidle_exit = 600\n")
        let read = try await show.read(show.path(1))
        #expect(MountedShow.content(1).matches(read.standardOutput))
        try await show.waitForState("cached", of: show.path(1))
        _ = try await show.home.run("refresh")
        let processes = [try await show.mountProcess(), try #require(show.home.daemonProcessIdentifier)]
        for process in processes {
            // A repeating timer is unset for a moment after each expiration, so 20 checks in a row must find none.
            var quiet = 0
            try await waitUntil(deadline: .seconds(60), description: "process \(process) has no timer due") {
                quiet = try Self.isToWakeSoon(process) ? 0 : quiet + 1
                return quiet == 20
            }
        }
    }
}
