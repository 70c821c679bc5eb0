import Foundation
import TestSupport
import Testing

/// A comparison of the filesystem with the reference model. The test sends the filesystem its requests directly, so no
/// kernel is involved.
///
/// The environment variable `PODFS_MODEL_OPERATIONS` sets the number of operations (default 5,000), and
/// `PODFS_MODEL_SEED` the seed (default 1).
@Suite(.timeLimit(.minutes(60))) struct ModelTests {
    @Test func theFilesystemMatchesTheModel() async throws {
        let began = Int64(time(nil))
        let start = ContinuousClock.now
        let server = HTTPTestServer()
        try server.start()
        let subject = try await ModelFilesystem()
        var run = ModelRun(
            subject, server: server, settings: ModelSettings(operations: 5_000),
            started: began...Int64(Date().timeIntervalSince1970), cacheLimit: ModelFilesystem.cacheLimit)
        try await run.perform()
        try await subject.end()
        print("model without a kernel: \(run.summary), \(ContinuousClock.now - start)")
    }
}
