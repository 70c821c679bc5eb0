import Foundation
import Glibc
import TestSupport
import Testing

/// `podfs publish`, and the published episode in a mount.
@Suite(.timeLimit(.minutes(5))) struct PublishTests {
    private let home: PodfsHome
    private let server: VideoServer
    private let content = TestContent(seed: 6, size: 2_000_000)

    init() throws {
        home = try PodfsHome()
        server = try VideoServer()
    }

    private func file(_ name: String = "My talk.mp4") throws -> String {
        try home.directory.write(name, content.bytes)
    }

    private func publish(_ file: String, _ more: String...) async throws -> ChildProcess.Result {
        try await home.run(["publish", file, "--to", server.url(), "--title", "My talk"] + more)
    }

    /// Returns the tasks of `podfs status --json`.
    private func tasks() async throws -> [[String: Any]] {
        let output = try await home.run("status", "--json").standardOutput
        let value = try JSONSerialization.jsonObject(with: Data(output)) as? [String: Any]
        return try #require(value?["tasks"] as? [[String: Any]])
    }

    private func state(_ state: String) async throws {
        try await waitUntil(description: "the upload is \(state)") {
            try await tasks().first?["state"] as? String == state
        }
    }

    private func arrival() async throws {
        try await waitUntil(description: "the upload has arrived") {
            if server.videos.first?.movie == nil { return false }
            return try await tasks().isEmpty
        }
    }

    private func expectWhole() throws {
        #expect(server.videos.count == 1)
        let movie = try #require(server.videos.first?.movie)
        #expect(content.matches(try #require(FileManager.default.contents(atPath: movie))))
        #expect(server.videos.first?.size == content.size)
        #expect(try FileManager.default.contentsOfDirectory(atPath: "\(home.dataDirectory)/uploads").isEmpty)
    }

    // MARK: Publishing

    @Test func anEpisodeArrivesWithItsMetadata() async throws {
        let image: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0] + TestContent(seed: 8, size: 40_000).bytes
        let picture = try home.directory.write("talk.jpg", image)
        let result = try await publish(file(), "--description", "Größe\nand more", "--image", picture, "--wait")
            .succeeded()
        #expect(result.output.hasSuffix("published My talk\n") && result.output.hasPrefix("upload:"))
        try expectWhole()
        let video = try #require(server.videos.first)
        #expect(video.title == "My talk" && video.description == "Größe\nand more" && video.type == "video/mp4")
        #expect(video.thumbnail == image)
        let events = try await home.run("events", "--json", "--since", "0", "--once").output
        #expect(events.contains("\"event\":\"completed\"") && events.contains("\"kind\":\"upload\""), "\(events)")
    }

    @Test func publishPrintsTheNumberThatControlsTheTask() async throws {
        server.change { $0.bytesPerSecond = 200_000 }
        let task: [String: Any] = try await publish(file(), "--json").json()
        let id = try #require(task["id"] as? Int)
        #expect(task["kind"] as? String == "upload" && task["path"] as? String == "My talk")
        #expect(task["bytes_expected"] as? Int == content.size)
        #expect(try await home.run("suspend", "upload:\(id)").exitCode == 0)
        try await state("suspended")
        #expect(try await home.run("status").output.contains("upload:\(id) My talk"))
        #expect(try await home.run("resume", "upload:\(id)").exitCode == 0)
        try await state("running")
        try await home.run("evict", "upload:\(id)").failed(says: "is an upload")
        #expect(try await home.run("cancel", "upload:\(id)").exitCode == 0)
        #expect(try await tasks().isEmpty)
        let gone = try await home.run("resume", "upload:\(id)")
        #expect(gone.exitCode == 1 && gone.error == "podfs: there is no upload:\(id); see: podfs status\n")
        #expect(server.videos.allSatisfy { $0.movie == nil })
        // An argument of any other form is a path.
        #expect(try await home.run("resume", "upload:\(id)x").error.contains("there is no show"))
    }

    @Test func aFailureIsReportedAndStored() async throws {
        server.misbehave { $0.method == "POST" && $0.index == 0 ? .status(401) : nil }
        let result = try await publish(file(), "--wait").failed(says: "401", "podfs resume upload:")
        #expect(result.error.contains("podfs cancel upload:") && result.error.split(separator: "\n").count == 1)
        try await state("failed")
        let id = try #require(try await tasks().first?["id"] as? Int)
        // The failure is still reported after the daemon has exited.
        try await home.endDaemon(SIGTERM)
        try await state("failed")
        #expect(try await home.run("resume", "upload:\(id)").exitCode == 0)
        try await arrival()
        try expectWhole()
    }

    /// Error statuses of the POST, and a part of the expected message.
    @Test(arguments: [
        (404, "list of videos"), (405, "list of videos"), (422, "this title"), (403, "does not allow"),
        (413, "too large"),
    ])
    func anErrorStatusIsExplainedInOneLine(_ status: Int, _ words: String) async throws {
        server.misbehave { $0.method == "POST" ? .status(status) : nil }
        let result = try await publish(file(), "--wait")
        #expect(result.exitCode == 1 && result.error.contains("\(status)") && result.error.contains(words))
        #expect(result.error.split(separator: "\n").count == 1, "\(result.error)")
    }

    @Test func aMissingUploadLocationIsReportedInOneLine() async throws {
        let web = HTTPTestServer()
        try web.start()
        web.serveElsewhere { _ in .status(200, body: "{}") }
        let result = try await home.run("publish", file(), "--to", web.url("/videos"), "--title", "T", "--wait")
        #expect(result.exitCode == 1 && result.error.contains("303") && result.error.contains("Location"))
        #expect(result.error.split(separator: "\n").count == 1, "\(result.error)")
    }

    @Test func waitingReportsThatTheServerIsUnreachable() async throws {
        server.stop()
        let command = try home.start("publish", file(), "--to", server.url(), "--title", "My talk", "--wait")
        try await waitUntil(description: "the command reports the retry") { command.error.contains("podfs retries it") }
        #expect(command.isRunning)
        try server.start()
        let result = try await command.wait()
        #expect(result.exitCode == 0 && result.error.split(separator: "\n").count == 1, "\(result.error)")
        try expectWhole()
    }

    @Test func wrongUsageIsReportedAndLeavesNoFile() async throws {
        let file = try file()
        let empty = try home.directory.write("empty.mp4", text: "")
        let cases: [([String], Int32, String)] = [
            (["publish", empty, "--to", server.url(), "--title", "T"], 1, "is empty"),
            (["publish", home.directory.path, "--to", server.url(), "--title", "T"], 1, "is a folder"),
            (["publish", home.directory.file("none"), "--to", server.url(), "--title", "T"], 1, "No such file"),
            (["publish", file, "--to", "ftp://e.com/", "--title", "T"], 64, "is not http or https"),
            (["publish", file, "--to", "videos", "--title", "T"], 64, "is not http or https"),
            (["publish", file, "--to", server.url(), "--title", " "], 64, "--title"),
            (["publish", file, "--to", server.url()], 64, "--title"),
            (["publish", file, "--title", "T"], 64, "--to"),
            (["publish", file, "--to", server.url(), "--title", "T", "--image", empty], 1, "is empty"),
            (["publish", file, "--to", server.url(), "--title", "T", "--image", file], 1, "is not a picture"),
        ]
        for (arguments, code, message) in cases {
            let result = try await home.run(arguments)
            #expect(result.exitCode == code && result.error.contains(message), "\(arguments): \(result.error)")
        }
        #expect(server.calls.isEmpty)
        let copies = "\(home.dataDirectory)/uploads"
        #expect((try? FileManager.default.contentsOfDirectory(atPath: copies)) ?? [] == [])
    }

    // MARK: Subscribing to the server

    @Test(arguments: VideoServer.Listing.allCases) func aPublishedEpisodeIsReadInTheMount(
        _ listing: VideoServer.Listing
    ) async throws {
        server.change { $0.listing = listing }
        #expect(try await publish(file(), "--description", "Text", "--wait").exitCode == 0)
        try await home.run("subscribe", server.url(), "--name", "Mine").printed("Mine: 1 episode\n")
        let mount = try await home.mounted()
        let path = "\(mount.mountPoint)/Mine/2026-11-20 My talk.mp4"
        let result = try await ChildProcess.run("cat", [path])
        #expect(
            result.standardOutput.count == content.size && content.matches(result.standardOutput), "\(result.error)")
        let sums = try await ChildProcess.run("sha256sum", [file(), path]).output.split(separator: "\n")
        #expect(sums.count == 2 && sums[0].prefix(64) == sums[1].prefix(64), "\(sums)")
        // A second episode is listed after a refresh.
        try await home.run("publish", file("b.mp4"), "--to", server.url(), "--title", "Two", "--wait").succeeded()
        #expect(try await home.run("refresh", "Mine").exitCode == 0)
        #expect(try await home.run("list", "Mine").output.contains("Two.mp4"))
    }

    @Test func theStatusOfTheMountShowsTheUpload() async throws {
        server.change { $0.bytesPerSecond = 100_000 }
        let mount = try await home.mounted()
        try await publish(file()).succeeded()
        try await waitUntil(description: "the status lists the upload") {
            let status = try await ChildProcess.run("cat", ["\(mount.mountPoint)/.status.json"]).output
            return status.contains("\"kind\": \"upload\"") && status.contains("\"path\": \"My talk\"")
        }
        let id = try #require(try await tasks().first?["id"] as? Int)
        let text = try await ChildProcess.run("cat", ["\(mount.mountPoint)/.status"]).output
        #expect(text.contains("upload:\(id) My talk\n"), "\(text)")
        server.change { $0.bytesPerSecond = nil }
        try await waitUntil(description: "the status lists no task") {
            try await ChildProcess.run("cat", ["\(mount.mountPoint)/.status"]).output == "no active tasks\n"
        }
        try expectWhole()
    }
}
