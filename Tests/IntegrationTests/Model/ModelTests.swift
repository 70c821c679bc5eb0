import Foundation
import TestSupport
import Testing

/// A comparison of a mount with the reference model.
///
/// The environment variable `PODFS_MODEL_OPERATIONS` sets the number of operations (default 1,500), and
/// `PODFS_MODEL_SEED` the seed (default 1).
@Suite(.timeLimit(.minutes(60))) struct ModelTests {
    @Test func theMountMatchesTheModel() async throws {
        let start = ContinuousClock.now
        let server = HTTPTestServer()
        try server.start()
        let home = try PodfsHome()
        try home.configure("tagged = true\n[cache]\nlimit = \"4 GiB\"\nkeep_free = \"1 MiB\"\n")
        let mount = try home.makeMountPoint(deadline: .seconds(3_000))
        let subject = ModelMount(home: home, mount: mount)
        let began = Int64(time(nil))
        try await subject.mountAgain()
        var run = ModelRun(
            subject, server: server, settings: ModelSettings(operations: 1_500),
            started: began...Int64(Date().timeIntervalSince1970), cacheLimit: 4 << 30)
        try await run.perform()
        try await subject.end()
        print("model of the mount: \(run.summary), \(ContinuousClock.now - start)")
    }
}
