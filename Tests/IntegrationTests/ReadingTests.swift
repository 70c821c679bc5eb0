import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct ReadingTests {
    @Test func anUncachedEpisodeIsReadWholeWithOneRequest() async throws {
        let show = try await MountedShow()
        let result = try await show.read(show.path(1)).succeeded()
        #expect(MountedShow.content(1).equals(result.standardOutput))
        try await show.waitForState("cached", of: show.path(1))
        #expect(show.requests(1).count == 1)
        #expect(show.requests(1).first?.bodyBytesWritten == 300_000)
        #expect(try await show.attribute("progress", of: show.path(1)) == "100.0")
        #expect(try await show.attribute("ranges", of: show.path(1)) == "0-299999")
        #expect(try await show.attribute("size_source", of: show.path(1)) == "server")
        let sum = try await ChildProcess.run("sha256sum", ["--", show.path(1)]).output.prefix(64)
        #expect(try await show.attribute("sha256", of: show.path(1)) == String(sum))
        // 300,000 bytes are 585.9 blocks of 512.
        #expect(try await ChildProcess.run("stat", ["-c", "%b", show.path(1)]).output == "586\n")
        // The output of `podfs list` shows the new state as well.
        let list = try await show.home.run("list", MountedShow.show)
        #expect(list.output.contains("2026-01-01 Episode 1.mp3  293.0 KiB  cached"))
    }

    @Test func bytesAreReadWhileTheyArrive() async throws {
        let show = try await MountedShow(size: 2_000_000, length: 2_000_000)
        let gate = Gate(heldAt: 1_000_000)
        show.server.serve("/1.mp3", MountedShow.resource(1, size: 2_000_000), [.hold(gate)])
        let head = try await ChildProcess.run("head", ["-c", "500000", show.path(1)])
        #expect(MountedShow.content(1, size: 2_000_000).matches(head.standardOutput))
        #expect(head.standardOutput.count == 500_000)
        // The read may return before the mount receives the task's event.
        try await show.waitForState("running", of: show.path(1))
        try await waitUntil(deadline: .seconds(60), description: "progress is shown") {
            try await show.attribute("progress", of: show.path(1)) == "50.0"
        }
        let status = try await ChildProcess.run("cat", ["\(show.mount.mountPoint)/.status"])
        #expect(status.output.hasPrefix("1 running, 0 queued, 0 suspended, 0 failed"))
        #expect(status.output.contains(" 50.0% 976.6 KiB/1.9 MiB"))
        #expect(status.output.contains("\(MountedShow.show)/2026-01-01 Episode 1.mp3"))
        let report: [String: Any] = try await show.read("\(show.mount.mountPoint)/.status.json").json()
        #expect((report["summary"] as? [String: Any])?["running"] as? Int == 1)
        let tasks = report["tasks"] as? [[String: Any]] ?? []
        #expect(tasks.map { $0["bytes_received"] as? Int } == [1_000_000])
        let printed: [String: Any] = try await show.home.run("status", "--json").json()
        #expect((printed["tasks"] as? [Any])?.count == 1)
        gate.open()
        try await show.waitForState("cached", of: show.path(1))
        try await show.waitForNoTasks()
    }

    /// The kernel serves further opens of the file from its page cache, without reads that reach podfs.
    @Test func anOpenEpisodeIsNotEvictedAlthoughItsReadsDidNotReachPodfs() async throws {
        let show = try await MountedShow(episodes: 1, size: 2_000_000, length: 2_000_000)
        let content = MountedShow.content(1, size: 2_000_000)
        let gate = Gate(heldAt: 1_000_000)
        show.server.serve("/1.mp3", MountedShow.resource(1, size: 2_000_000), [.hold(gate)])
        let first = try await OpenFileReader(show.path(1))
        #expect(try await first.read(0..<500_000).bytes == content.bytes(in: 0..<500_000))
        let second = try await OpenFileReader(show.path(1))
        #expect(try await second.read(0..<4_096).bytes == content.bytes(in: 0..<4_096))
        gate.open()
        try await show.waitForState("cached", of: show.path(1))
        try await first.end()
        try await show.home.run("evict", show.path(1)).failed(says: "it is open in a program")
        #expect(try await second.read(1_900_000..<2_000_000).bytes == content.bytes(in: 1_900_000..<2_000_000))
        try await second.end()
        try await show.waitUntilEvicted(show.path(1))
    }

    /// The mount may answer the first read with bytes from the daemon's response to the open. The cache file may not
    /// exist yet.
    @Test func anOpenEpisodeIsNotEvictedAfterAReadOfItsFirstBytes() async throws {
        let show = try await MountedShow(episodes: 10, size: 20_000, length: 30_000)
        for number in 1...10 {
            let content = MountedShow.content(number, size: 20_000)
            let reader = try await OpenFileReader(show.path(number))
            // Nothing is cached yet.
            #expect(try await show.home.run("evict", show.path(number)).exitCode == 1)
            #expect(try await reader.read(0..<4_096).bytes == content.bytes(in: 0..<4_096))
            try await show.home.run("evict", show.path(number)).failed(says: "it is open in a program")
            #expect(try await reader.read(4_096..<20_000).bytes == content.bytes(in: 4_096..<20_000))
            try await show.waitForState("cached", of: show.path(number))
            #expect(try await show.home.run("evict", show.path(number)).exitCode == 1)
            try await reader.end()
            #expect(show.requests(number).count == 1)
        }
        try await show.waitUntilEvicted(show.path(10))
    }

    @Test func theEndOfALargeEpisodeIsReadBeforeItsMiddle() async throws {
        let size = 20_000_000
        let show = try await MountedShow(size: size, length: size)
        let gate = Gate(heldAt: 1_000_000)
        show.server.serve("/1.mp3", MountedShow.resource(1, size: size), [.hold(gate)])
        let head = try await ChildProcess.run("head", ["-c", "4096", show.path(1)])
        #expect(head.standardOutput.count == 4096)
        let tail = try await ChildProcess.run("tail", ["-c", "4096", show.path(1)])
        #expect(MountedShow.content(1, size: size).matches(tail.standardOutput, at: size - 4096))
        #expect(tail.standardOutput.count == 4096)
        gate.open()
        try await show.waitForState("cached", of: show.path(1))
        #expect(show.requests(1).count <= 3)
        let sum = try await ChildProcess.run("sha256sum", ["--", show.path(1)]).output.prefix(64)
        #expect(try await show.attribute("sha256", of: show.path(1)) == String(sum))
    }
}
