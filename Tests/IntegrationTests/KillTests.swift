import Foundation
import TestSupport
import Testing

/// Mount and daemon are killed repeatedly while files are read through the mount.
///
/// The environment variable `PODFS_KILLS` sets the number of kills (default 12), and `PODFS_SEED` the seed (default 1)
/// of the victims, the pauses and the reads. The results are printed in one line.
@Suite(.timeLimit(.minutes(30))) struct KillTests {
    @Test func everyFileIsWholeAfterManyKills() async throws {
        let kills = environmentNumber("PODFS_KILLS", otherwise: 12)
        let seed = environmentNumber("PODFS_SEED", otherwise: 1)
        let began = ContinuousClock.now
        let run = try await KillRun(kills: kills, seed: UInt64(bitPattern: Int64(seed)))
        try await run.perform()
        let report = try await run.finish()
        print("kill test: seed \(seed), \(report.text), \(ContinuousClock.now - began)")

        #expect(report.wrongBytes.isEmpty, "bytes that differ from the file: \(report.wrongBytes)")
        #expect(report.hung.isEmpty, "reads that did not return: \(report.hung)")
        #expect(report.unexplained.isEmpty, "errors that no kill explains: \(report.unexplained)")
        #expect(report.digestsDiffer.isEmpty, "files that differ in the end: \(report.digestsDiffer)")
        #expect(report.kills == kills)
        // A kill without a transfer tests nothing. The share of such kills depends on the machine's load: one in ten on
        // an idle machine.
        #expect(report.killsInTransfer * 2 >= kills, "\(report.text)")
        #expect(report.readsDone > 0)
    }
}
