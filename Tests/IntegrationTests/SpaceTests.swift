import Foundation
import TestSupport
import Testing

/// A cache that is smaller than the requested episodes.
@Suite(.timeLimit(.minutes(2))) struct SpaceTests {
    private static let size = 3_000_000

    /// One of three episodes fits.
    @Test func downloadsThatDoNotFitWaitWithAReasonAndReadsAreServed() async throws {
        let show = try await MountedShow(
            size: Self.size, length: Self.size, configuration: "[cache]\nlimit = \"5 MB\"\nkeep_free = \"0 B\"\n")
        let result = try await show.home.run("download", MountedShow.show, "--wait")
        #expect(result.exitCode == 2, "one of three episodes is downloaded")
        let lines = result.error.split(separator: "\n").filter { $0.contains("waits: no space left in the cache") }
        #expect(lines.count == 2, "\(result.error)")
        #expect(lines.allSatisfy { $0.contains("raise cache.limit") && $0.contains("2.9 MiB more needed") })
        var states: [String] = []
        for number in 1...3 { states.append(try await show.attribute("state", of: show.path(number)) ?? "none") }
        #expect(states.sorted() == ["cached", "queued", "queued"])
        let waiting = try #require(states.firstIndex(of: "queued")) + 1
        let reason = try #require(try await show.attribute("error", of: show.path(waiting)))
        #expect(reason.hasPrefix("no space left in the cache: the cache is full"))
        #expect(try await show.status().contains(reason))
        #expect(try await show.home.run("status").output.contains(reason))
        // A read of an episode whose download waits is served completely.
        let read = try await show.read(show.path(waiting))
        #expect(MountedShow.content(waiting, size: Self.size).matches(read.standardOutput), "\(read.error)")
    }
}
