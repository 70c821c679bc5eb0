import Foundation
import TestSupport
import Testing

/// `podfs doctor --verify` on a cache that other programs have modified.
@Suite(.timeLimit(.minutes(5))) struct VerifyTests {
    @Test func damagedEpisodesAreReportedRemovedAndFetchedAgain() async throws {
        let show = try await MountedShow(episodes: 4, isMounted: false)
        let home = show.home
        let names = (1...4).map { "Example Show/2026-01-0\($0) Episode \($0).mp3" }
        #expect(try await home.run(["download", "--wait"] + names).exitCode == 0)
        let sound = try await home.run("doctor", "--verify")
        #expect(sound.output.contains("episodes: 4 cached episodes verified, 1.1 MiB read\n"), "\(sound.output)")
        let found = try await ChildProcess.run("find", [home.cacheDirectory + "/media", "-size", "300000c"]).output
        let files = found.split(separator: "\n").map(String.init).sorted()
        try #require(files.count == 4, "\(found)")
        show.server.clearLog()
        try await Tampering.overwritten.apply(to: files[0])
        try await Tampering.linked.apply(to: files[1])
        try await Tampering.copied.apply(to: files[2])
        let result = try await home.run("doctor", "--verify", "--json").failed()
        let lines: [[String: Any]] = try result.json()
        let told = lines.filter { $0["check"] as? String == "episodes" }
        let problems = told.filter { $0["status"] as? String == "problem" }.compactMap { $0["message"] as? String }
        #expect(problems.count == 2 && problems.allSatisfy { problem in names.contains { problem.hasPrefix($0) } })
        #expect(problems.contains { $0.hasSuffix("its content is not what was downloaded") }, "\(problems)")
        #expect(problems.contains { $0.hasSuffix("it is not a regular file") }, "\(problems)")
        #expect(told.contains { ($0["message"] as? String)?.hasPrefix("2 cached episodes verified") == true })
        #expect(show.server.requests.isEmpty)
        #expect(try await home.run(["download", "--wait"] + names).exitCode == 0)
        #expect(show.server.requests.count == 2)
        #expect(try await home.run("doctor", "--verify").output.contains("4 cached episodes verified"))
    }
}
