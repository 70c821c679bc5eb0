import Foundation
import TestSupport
import Testing

/// Programs that only probe files: podfs fetches what they read, and starts no download.
@Suite(.timeLimit(.minutes(5))) struct ProbeTests {
    @Test func aProbeFetchesWhatItReadsAndAPlayerTheRest() async throws {
        let size = 4_000_000
        let show = try await MountedShow(episodes: 2, size: size, length: size)
        let probe = try show.home.directory.copyProgram("/usr/bin/head", as: "bin/ffprobe")
        let tail = try show.home.directory.copyProgram("/usr/bin/tail", as: "bin/mediainfo")
        let content = MountedShow.content(1, size: size)
        let head = try await ChildProcess.run(probe, ["-c", "1000", show.path(1)])
        #expect(Array(head.standardOutput) == content.bytes(in: 0..<1_000), "\(head.error)")
        let end = try await ChildProcess.run(tail, ["-c", "128", show.path(1)])
        #expect(Array(end.standardOutput) == content.bytes(in: size - 128..<size), "\(end.error)")
        #expect(show.requests(1).first?.range == .closed(0, 65_535))
        #expect(show.server.bodyBytesWritten(for: "/1.mp3") <= 512 * 1024)
        #expect(try await show.attribute("state", of: show.path(1)) == "remote")
        #expect(try await show.status() == "no active tasks\n")
        #expect(try await show.home.run("status", "--json").output.contains("\"probed\": 1"))
        // A player gets the whole file. Only the missing parts are fetched.
        #expect(content.matches(try await show.read(show.path(1)).standardOutput))
        try await show.waitForState("cached", of: show.path(1))
        #expect(show.server.bodyBytesWritten(for: "/1.mp3") <= size + 128 * 1024)
    }

    @Test(arguments: [("all", "head", "remote"), ("none", "ffprobe", "cached")])
    func theMountOptionOverrulesTheList(option: String, name: String, state: String) async throws {
        let size = 1_000_000
        let show = try await MountedShow(episodes: 1, size: size, length: size, isMounted: false)
        try await show.home.run("mount", "-o", "probe=\(option)", show.mount.mountPoint).succeeded()
        let program = try show.home.directory.copyProgram("/usr/bin/head", as: "bin/\(name)")
        #expect(try await ChildProcess.run(program, ["-c", "10", show.path(1)]).standardOutput.count == 10)
        try await show.waitForState(state, of: show.path(1))
        try await show.waitForNoTasks()
    }

    @Test func withoutRangesAProbeCanReadOnlyTheStart() async throws {
        let size = 6_000_000
        let show = try await MountedShow(episodes: 1, size: size, length: size)
        show.server.serve("/1.mp3", MountedShow.resource(1, size: size)) { _ in .normal.ignoreRange() }
        let head = try show.home.directory.copyProgram("/usr/bin/head", as: "bin/ffprobe")
        let tail = try show.home.directory.copyProgram("/usr/bin/tail", as: "bin/mediainfo")
        #expect(try await ChildProcess.run(head, ["-c", "200000", show.path(1)]).standardOutput.count == 200_000)
        let refused = try await ChildProcess.run(tail, ["-c", "128", show.path(1)])
        #expect(refused.standardOutput.isEmpty && refused.says(EIO), "\(refused.error)")
        #expect(try await show.attribute("state", of: show.path(1)) == "remote")
        #expect(try await show.read(show.path(1)).standardOutput.count == size)
    }
}
