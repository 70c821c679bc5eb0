import Foundation
import Testing

@testable import PodcastFilesystem
@testable import PodcastService

/// Simulations of players that act at random: they start, pause, seek, change the track and the rate, wait for bytes,
/// crash, and seek to positions that they have stored themselves. The laptop sleeps, the daemon is killed, the bus goes
/// away, and a hostile program sends nonsense.
///
/// Each seed determines one *world*: a run with its own players, daemon and bus. `PODFS_PLAYER_SEEDS` is the number of
/// worlds (default 1,000), `PODFS_PLAYER_SEED` the seed of the first (default 0).
@Suite struct PlayerSimulation {
    private static func number(_ name: String, otherwise value: Int) -> Int {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? value
    }

    @Test func noWorldViolatesAnInvariant() {
        let first = Self.number("PODFS_PLAYER_SEED", otherwise: 0)
        var counts: [String: Int] = [:]
        var failures: [String] = []
        for seed in first..<first + Self.number("PODFS_PLAYER_SEEDS", otherwise: 1_000) {
            var world = PlayerWorld(seed: UInt64(seed))
            for _ in 0..<40 where world.violations.isEmpty { world.step() }
            if !world.violations.isEmpty { failures.append("seed \(seed): \(world.violations)") }
            counts.merge(world.counts, uniquingKeysWith: +)
        }
        #expect(failures.isEmpty, "\(failures.count) worlds: \(failures.prefix(5))")
        // Each of these must have occurred in some world; otherwise the checks that depend on it never ran.
        for name in ["starts", "resumes", "marks", "ends", "comparisons"] {
            #expect(counts[name, default: 0] > 0, "no \(name)")
        }
        print("players:", counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", "))
    }
}
