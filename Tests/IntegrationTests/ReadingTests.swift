import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct ReadingTests {
    @Test func anUncachedEpisodeIsReadWholeWithOneRequest() async throws {
        let show = try await MountedShow()
        let result = try await show.read(show.path(1))
        #expect(result.exitCode == 0, "\(result.error)")
        #expect(MountedShow.content(1).matches(result.standardOutput))
        #expect(result.standardOutput.count == 300_000)
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
        let json = try await ChildProcess.run("cat", ["\(show.mount.mountPoint)/.status.json"])
        let report = try Self.decoder.decode(Status.self, from: Data(json.standardOutput))
        #expect(report.summary.running == 1)
        #expect(report.tasks.map(\.bytesReceived) == [1_000_000])
        let command = try await show.home.run("status", "--json")
        #expect(try Self.decoder.decode(Status.self, from: Data(command.standardOutput)).tasks.count == 1)
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
        let refused = try await show.home.run("evict", show.path(1))
        #expect(refused.exitCode == 1 && refused.error.contains("it is open in a program"), "\(refused.error)")
        #expect(try await second.read(1_900_000..<2_000_000).bytes == content.bytes(in: 1_900_000..<2_000_000))
        try await second.end()
        try await waitUntil(deadline: .seconds(60), description: "the episode can be evicted") {
            try await show.home.run("evict", show.path(1)).exitCode == 0
        }
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
            let refused = try await show.home.run("evict", show.path(number))
            #expect(refused.exitCode == 1 && refused.error.contains("it is open in a program"), "\(refused.error)")
            #expect(try await reader.read(4_096..<20_000).bytes == content.bytes(in: 4_096..<20_000))
            try await show.waitForState("cached", of: show.path(number))
            #expect(try await show.home.run("evict", show.path(number)).exitCode == 1)
            try await reader.end()
            #expect(show.requests(number).count == 1)
        }
        try await waitUntil(deadline: .seconds(60), description: "the episode can be evicted") {
            try await show.home.run("evict", show.path(10)).exitCode == 0
        }
    }

    private static var decoder: JSONDecoder {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return decoder
    }

    private struct Status: Decodable {
        struct Task: Decodable {
            var bytesReceived: Int64
            var progress: Double
        }
        struct Summary: Decodable { var running: Int }
        var tasks: [Task]
        var summary: Summary
    }

    @Test func aSecondReaderJoinsTheFirst() async throws {
        // Larger than the kernel's largest read (256 KiB for sequential reads).
        let size = 2_000_000
        let show = try await MountedShow(size: size, length: size)
        let gate = Gate(heldAt: 1_000_000)
        show.server.serve("/1.mp3", MountedShow.resource(1, size: size), [.hold(gate)])
        let first = try ChildProcess("cat", [show.path(1)])
        try await gate.waitUntilReached()
        let second = try ChildProcess("cat", [show.path(1)])
        try await waitUntil(deadline: .seconds(60), description: "the second reader has received bytes") {
            second.output.utf8.count > 0
        }
        gate.open()
        for reader in [first, second] {
            let result = try await reader.wait()
            #expect(result.exitCode == 0)
            #expect(result.standardOutput.count == size)
            #expect(MountedShow.content(1, size: size).matches(result.standardOutput))
        }
        #expect(show.requests(1).count == 1)
    }

    @Test func openReturnsTheTrueSizeIfTheFeedIsWrong() async throws {
        let show = try await MountedShow(length: 123_456)
        #expect(try await ChildProcess.run("stat", ["-c", "%s", show.path(1)]).output == "123456\n")
        let opened = try await ChildProcess.run("sh", ["-c", "stat -Lc %s /dev/stdin < \"$0\"", show.path(1)])
        #expect(opened.output == "300000\n", "\(opened.error)")
        let result = try await show.read(show.path(2))
        #expect(result.standardOutput.count == 300_000)
        #expect(MountedShow.content(2).matches(result.standardOutput))
        #expect(try await ChildProcess.run("stat", ["-c", "%s", show.path(2)]).output == "300000\n")
    }

    @Test func anEpisodeWithoutALengthIsReadToItsEnd() async throws {
        let show = try await MountedShow(length: nil)
        var resource = MountedShow.resource(1)
        resource.sendsLength = false
        resource.supportsRanges = false
        show.server.serve("/1.mp3", resource)
        let result = try await show.read(show.path(1))
        #expect(result.exitCode == 0, "\(result.error)")
        #expect(result.standardOutput.count == 300_000)
        #expect(MountedShow.content(1).matches(result.standardOutput))
        try await show.waitForState("cached", of: show.path(1))
        #expect(try await ChildProcess.run("stat", ["-c", "%s", show.path(1)]).output == "300000\n")
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

    @Test(arguments: [
        (status: 404, says: "No data available"), (status: 403, says: "Permission denied"),
    ])
    func aServersRefusalFailsTheOpen(_ refusal: (status: Int, says: String)) async throws {
        let show = try await MountedShow(length: nil)
        show.server.serve("/1.mp3", MountedShow.resource(1)) { _ in .status(refusal.status) }
        let result = try await show.read(show.path(1))
        #expect(result.exitCode == 1)
        #expect(result.error.contains(refusal.says), "\(result.error)")
        try await show.waitForState("failed", of: show.path(1))
        #expect(try await show.attribute("error", of: show.path(1)) == "the server answered \(refusal.status)")
    }

    @Test func aPageInPlaceOfMediaIsNeverStored() async throws {
        let show = try await MountedShow(length: nil)
        show.server.serve(
            "/1.mp3", Resource(text: "<html><body>Log in</body></html>", contentType: "text/html; charset=utf-8"))
        let result = try await show.read(show.path(1))
        #expect(result.exitCode == 1)
        #expect(result.standardOutput.isEmpty)
        try await show.waitForState("failed", of: show.path(1))
        let error = try await show.attribute("error", of: show.path(1))
        #expect(error == "the server sent a web page instead of media")
        let cached = FileManager.default.enumerator(atPath: show.home.cacheDirectory + "/media")?.allObjects ?? []
        #expect(!cached.contains { ($0 as? String)?.hasSuffix(".json") ?? false })
    }
}
