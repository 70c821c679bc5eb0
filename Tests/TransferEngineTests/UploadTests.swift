import Platform
import TestSupport
import Testing

@testable import Transfers

/// Uploads over real connections to a server that can be made faulty.
@Suite(.timeLimit(.minutes(5))) struct UploadTests {
    private let bench: UploadEngineBench

    init() throws { bench = try UploadEngineBench() }

    @Test func aPostArrivesWithItsMedia() async throws {
        bench.source.form = [
            FormPart(name: "title", content: .text("Größe, 1")), FormPart(name: "description", content: .text("")),
            FormPart(
                name: "thumbnail",
                content: .file(
                    path: try bench.folder.write("cover", TestContent(seed: 9, size: 30_000).bytes), name: "cover.jpg",
                    type: "image/jpeg")),
        ]
        bench.source.contentType = "video/mp4"
        try await bench.run()
        let video = try #require(bench.server.videos.first)
        #expect(bench.server.videos.count == 1)
        #expect(video.title == "Größe, 1" && video.description == "")
        #expect(video.thumbnail == TestContent(seed: 9, size: 30_000).bytes)
        #expect(video.type == "video/mp4")
        try bench.expectWhole()
        let post = try #require(bench.server.calls("POST").first)
        #expect(post.headers["Idempotency-Key"] == "\"key-1\"")
        #expect(bench.server.calls("PUT").allSatisfy { $0.headers["Idempotency-Key"] == nil })
        #expect(bench.snapshots.last?.state == .completed && bench.snapshots.last?.sent == bench.source.size)
        #expect(bench.records.map(\.step) == [.posting, .posted, .posted])
    }

    @Test func tusContinuesWhereTheConnectionBroke() async throws {
        bench.server.change { $0.speaksTus = true }
        bench.server.misbehave { $0.method == "PATCH" && $0.index < 2 ? .dropBody(after: 1_000_000) : nil }
        try await bench.run()
        try bench.expectWhole()
        let offsets = bench.server.calls("PATCH").map { $0.headers["Upload-Offset"] }
        #expect(offsets == ["0", "1000000", "2000000"])
        // Only the first PATCH request states the length of the upload.
        let lengths = bench.server.calls("PATCH").map { $0.headers["Upload-Length"] }
        #expect(lengths == ["3000000", nil, nil])
        #expect(bench.server.calls("PUT").isEmpty)
    }

    @Test(arguments: [true, false]) func aLostResponseToTheMediaMakesNoSecondVideo(_ speaksTus: Bool) async throws {
        bench.server.change { $0.speaksTus = speaksTus }
        bench.server.misbehave { ["PUT", "PATCH"].contains($0.method) && $0.index == 0 ? .dropAnswer : nil }
        try await bench.run()
        try bench.expectWhole()
        #expect(bench.server.videos.map(\.timesStored) == [speaksTus ? 1 : 2])
    }

    @Test(arguments: [true, false]) func aPostWithALostResponseIsInDoubtAndNotRepeated(_ isReused: Bool) async throws {
        // The connection of this request stays open. If the POST reused it, and it closed before the response, curl
        // would send the POST again.
        let request = DataRequest(url: bench.server.url(), limit: 1 << 20)
        if isReused { for try await _ in bench.engine.data(for: request) {} }
        bench.server.misbehave { $0.method == "POST" && $0.index == 0 ? .dropAnswer : nil }
        bench.finding = .arrived(location: bench.server.url("/videos/1/movie"))
        try await bench.run()
        try bench.expectWhole()
        #expect(bench.server.calls("POST").count == 1)
        #expect(bench.doubts == 1)
    }

    @Test func aPostThatReachesNoServerIsNotInDoubt() async throws {
        bench.server.stop()
        bench.start()
        try await bench.wait("the upload waits for a retry") { $0.contains { $0.state == .queued && $0.error != nil } }
        try bench.server.start()
        try await bench.waitForEnd()
        try bench.expectWhole()
        #expect(bench.doubts == 0 && bench.server.calls("POST").count == 1)
    }

    /// Starts uploads to a server that answers none of them, and returns the server.
    private func startUploads(_ count: Int64) throws -> HTTPTestServer {
        let held = HTTPTestServer()
        try held.start()
        held.serve("/videos", Resource(bench.content)) { _ in .holdHead(Gate(heldAt: 0)) }
        for key in 1...count {
            var source = bench.source
            source.key = TaskID(key)
            source.url = held.url("/videos")
            bench.engine.upload(source)
        }
        return held
    }

    /// Three uploads share two slots. The third has sent nothing, so a restart must not find its POST in doubt.
    @Test func aPostThatWaitsForASlotIsNotRecorded() async throws {
        let held = try startUploads(3)
        defer { held.stop() }
        try await bench.wait("two have begun") { $0.filter { $0.state == .running }.count == 2 }
        #expect(bench.records.map(\.step) == [.posting, .posting])
        #expect(bench.snapshots.last { $0.key == 3 }?.state == .queued)
        bench.engine.cancelUpload(1)
        try await bench.wait("the third has begun") { $0.contains { $0.key == 3 && $0.state == .running } }
        #expect(bench.records.map(\.step) == [.posting, .posting, .posting])
    }

    @Test func aWaitingUploadThatIsSuspendedLeavesTheQueue() async throws {
        let held = try startUploads(4)
        defer { held.stop() }
        bench.engine.suspendUpload(3)
        try await bench.wait("it is suspended") { $0.contains { $0.key == 3 && $0.state == .suspended } }
        bench.engine.cancelUpload(1)
        try await bench.wait("the fourth has begun") { $0.contains { $0.key == 4 && $0.state == .running } }
        #expect(!bench.snapshots.contains { $0.key == 3 && $0.state == .running })
    }

    @Test(arguments: [413, 401, 403, 404]) func refusedMediaCanBeSentLater(_ status: Int) async throws {
        bench.server.misbehave { $0.method == "PUT" && $0.index == 0 ? .status(status) : nil }
        let error = try #require(try await bench.failure())
        #expect(error.message.contains("\(status)"))
        #expect(bench.server.calls("PUT").count == 1)
        // The user resumes the failed upload.
        bench.start()
        try await bench.waitForEnd()
        try bench.expectWhole()
        #expect(bench.server.calls("POST").count == 1)
    }

    @Test func aResumedUploadSendsTheNewCredentials() async throws {
        bench.server.change { $0.authorization = "Basic dTpw" }
        let origin = try #require(WebAddress.origin(of: bench.server.url()))
        bench.source.credentials = Credentials(user: "u", password: "wrong", origin: origin)
        let error = try #require(try await bench.failure())
        #expect(error.message.contains("401"), "\(error)")
        bench.source.credentials = Credentials(user: "u", password: "p", origin: origin)
        try await bench.run()
        try bench.expectWhole()
    }

    @Test func aShorterFileIsNotSent() async throws {
        bench.source.size += 1
        #expect(try await bench.failure()?.message.contains("missing or damaged") ?? false)
        #expect(bench.server.videos.allSatisfy { $0.movie == nil })
    }

    @Test func credentialsAreSentOnlyToTheirOrigin() async throws {
        let other = try VideoServer()
        bench.server.change { $0.authorization = "Basic dTpw" }
        bench.source.credentials = Credentials(
            user: "u", password: "p", origin: try #require(WebAddress.origin(of: bench.server.url())))
        let away = other.url("/videos/1/movie")
        bench.server.misbehave { $0.method == "PUT" ? .redirect(307, to: away) : nil }
        bench.start()
        // The upload fails, because `other` has no such video.
        _ = try await bench.waitForFailure()
        #expect(bench.server.calls.allSatisfy { $0.headers["Authorization"] == "Basic dTpw" })
        #expect(!other.calls.isEmpty && other.calls.allSatisfy { $0.headers["Authorization"] == nil })
    }

    /// Locations whose host is the server's to some programs, and another one to libcurl.
    @Test(arguments: ["POST", "OPTIONS", "PUT"], ["\\@", "\\\\@", "\\:@"])
    func ambiguousLocationsAreRefused(_ method: String, _ separator: String) async throws {
        let other = try VideoServer()
        bench.source.credentials = Credentials(
            user: "u", password: "p", origin: try #require(WebAddress.origin(of: bench.server.url())))
        let place = other.url("/videos/1/movie").dropFirst("http://".count)
        let away = "http://127.0.0.1" + separator + place
        bench.server.misbehave { $0.method == method ? .redirect(method == "POST" ? 303 : 307, to: away) : nil }
        let error = try await bench.failure()
        #expect(error?.code == .unusable)
        #expect(other.calls.isEmpty)
    }

    @Test func aRedirectToAFileIsRefused() async throws {
        bench.server.misbehave { $0.method == "POST" ? .redirect(303, to: "file:///etc/passwd") : nil }
        #expect(try await bench.failure()?.code == .unusable)
    }

    @Test func aSuspendedUploadRestsUntilItIsResumed() async throws {
        bench.server.change {
            $0.speaksTus = true
            $0.bytesPerSecond = 500_000
        }
        bench.start()
        try await bench.wait("bytes are sent") { $0.contains { $0.sent > 0 } }
        bench.engine.suspendUpload(1)
        try await bench.wait("the upload is suspended") { $0.last?.state == .suspended }
        bench.server.change { $0.bytesPerSecond = nil }
        bench.start()
        try await bench.waitForEnd()
        try bench.expectWhole()
        #expect(bench.server.videos.count == 1)
    }
}
