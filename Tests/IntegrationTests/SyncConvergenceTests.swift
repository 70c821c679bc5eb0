import Foundation
import TestSupport
import Testing

/// Two homes (installations of podfs) with one sync server. They must converge after random actions, kills and faults.
///
/// A seed determines one sequence of actions, kills and faults. The environment variable `PODFS_SYNC_SEEDS` sets the
/// number of seeds (default 2), and `PODFS_SYNC_SEED` the first seed (default 1). Even seeds use Nextcloud's
/// gpoddersync, odd ones the gPodder API. The results are printed, one line for each seed.
@Suite(.timeLimit(.minutes(60))) struct SyncConvergenceTests {
    @Test func twoHomesConverge() async throws {
        let first = environmentNumber("PODFS_SYNC_SEED", otherwise: 1)
        for seed in first..<first + environmentNumber("PODFS_SYNC_SEEDS", otherwise: 2) {
            let began = ContinuousClock.now
            let report = try await SyncConvergence(seed: UInt64(seed)).perform()
            print("sync: seed \(seed), \(report.text), \(ContinuousClock.now - began)")
            #expect(report.differences.isEmpty, "seed \(seed): \(report.differences); \(report.trail)")
            #expect(report.exchanges > 0 && report.kills > 0)
        }
    }
}
