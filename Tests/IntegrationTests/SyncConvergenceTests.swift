import Foundation
import TestSupport
import Testing

/// Two homes on one sync server end alike, whatever happened to them.
///
/// `PODFS_SYNC_SEEDS` says how many schedules are run (2 by default), `PODFS_SYNC_SEED` with which seed they begin (1). Seeds
/// that are even meet on Nextcloud's gpoddersync, the others on the gPodder API. What was found is printed, one line a seed.
@Suite(.timeLimit(.minutes(60))) struct SyncConvergenceTests {
    private static func number(_ name: String, otherwise value: Int) -> Int {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? value
    }

    @Test func twoHomesEndAlike() async throws {
        let first = Self.number("PODFS_SYNC_SEED", otherwise: 1)
        for seed in first..<first + Self.number("PODFS_SYNC_SEEDS", otherwise: 2) {
            let began = ContinuousClock.now
            let report = try await SyncConvergence(seed: UInt64(seed)).perform()
            print("sync: seed \(seed), \(report.text), \(ContinuousClock.now - began)")
            #expect(report.differences.isEmpty, "seed \(seed): \(report.differences); \(report.trail)")
            #expect(report.exchanges > 0 && report.kills > 0)
        }
    }
}
