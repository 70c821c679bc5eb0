import CLinux
import Foundation
import PodcastLibrary
import PodcastProtocol
import TestSupport
import Testing
import Transfers

@testable import PodcastService

/// Uploads by the daemon.
@Suite(.stopsDaemons, .timeLimit(.minutes(5))) struct UploadServiceTests {
    private let home = ServiceHome()
    private let server: VideoServer
    private let content = TestContent(seed: 4, size: 1_500_000)

    init() throws {
        server = try VideoServer()
    }

    private func start() async throws -> (RunningService, ServiceClient) {
        try await home.connect { $0.transfers.limits.retry.firstDelay = .milliseconds(20) }
    }

    /// Writes a snapshot of the media, as `podfs publish` does, and returns a request to publish it.
    private func request(_ title: String = "Title", user: String = "", url: String? = nil) throws -> PublishRequest {
        let name = UUID().uuidString
        try Data(content.bytes).write(to: URL(fileURLWithPath: "\(home.paths.uploads)/\(name)"))
        return PublishRequest(
            url: (url ?? server.url()).replacing("http://", with: "http://\(user)"), title: title, description: "Text",
            media: SnapshotFile(file: name, name: "a.mp4", type: "video/mp4"))
    }

    private func publish(_ request: PublishRequest, _ client: ServiceClient) async throws -> TaskInfo {
        let info = try await client.perform(.publish(request), \.task)
        return info
    }

    private func end(of id: TaskID, _ client: ServiceClient) async throws -> Event {
        try await client.event("upload \(id) ends") { $0.task?.id == id && $0.endsTask }
    }

    private func act(_ action: TaskAction, _ id: TaskID, _ client: ServiceClient) async throws -> [String] {
        let problems = try await client.perform(.actOnUploads(action, ids: [id]), \.acted).problems
        return problems
    }

    private func state(_ state: TaskState, of id: TaskID, _ client: ServiceClient) async throws {
        try await waitUntil(description: "upload \(id) is \(state)") {
            try await client.tasks().first { $0.id == id }?.state == state
        }
    }

    private var copies: [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: home.paths.uploads)) ?? []
    }

    private func expectWhole() throws {
        #expect(server.videos.count == 1)
        let movie = try #require(server.videos.first?.movie)
        #expect(content.matches(try #require(FileManager.default.contents(atPath: movie))))
        #expect(server.videos.first?.size == content.size)
    }

    @Test func anUploadCompletesAndItsFinalEventIsStored() async throws {
        let (daemon, client) = try await start()
        let info = try await publish(request(), client)
        #expect(info.kind == .upload && info.path == "Title" && info.expected == Int64(content.size))
        let event = try await end(of: info.id, client)
        #expect(event.kind == .completed && event.task?.kind == .upload && event.path == "Title")
        #expect(event.task?.state == .completed && event.task?.received == Int64(content.size) && event.episode == nil)
        try expectWhole()
        #expect(try await client.tasks().isEmpty && daemon.library.uploads().isEmpty && copies.isEmpty)
        let kept = try await client.perform(.events(since: 0), \.events)
        #expect(kept == [event])
    }

    @Test func anUploadIsSuspendedResumedAndCancelled() async throws {
        server.change { $0.bytesPerSecond = 200_000 }
        let (daemon, client) = try await start()
        let id = try await publish(request(), client).id
        try await client.event("bytes go") { $0.task?.id == id && ($0.task?.received ?? 0) > 0 }
        #expect(try await act(.suspend, id, client) == [])
        try await state(.suspended, of: id, client)
        #expect(try daemon.library.upload(id: id)?.suspended == true)
        #expect(try await act(.resume, id, client) == [])
        try await state(.running, of: id, client)
        #expect(try await act(.pin, id, client).count == 1)
        #expect(try await act(.cancel, id, client) == [])
        let event = try await end(of: id, client)
        #expect(event.kind == .state && event.task?.state == .cancelled)
        #expect(try await client.tasks().isEmpty && daemon.library.uploads().isEmpty && copies.isEmpty)
        #expect(try await act(.resume, id, client) == ["there is no upload:\(id); see: podfs status"])
    }

    @Test func aSuspendedUploadStaysSuspendedInTheNextDaemon() async throws {
        server.stop()
        let (first, client) = try await start()
        let id = try await publish(request(), client).id
        _ = try await act(.suspend, id, client)
        await first.stop()
        try server.start()
        let (_, other) = try await start()
        #expect(try await other.tasks().map(\.state) == [.suspended])
        #expect(server.calls.isEmpty)
        _ = try await act(.resume, id, other)
        #expect(try await end(of: id, other).kind == .completed)
        try expectWhole()
    }

    // MARK: Lost responses

    /// Makes the server ignore the keys of POST requests.
    private func ignoreKeys() { server.change { ($0.heedsKeys, $0.namesKeys) = (false, false) } }

    /// With keys, the server does not store the repeated POST; without them, its list does not contain the item.
    @Test(arguments: [true, false])
    func aPostIsRepeatedIfTheServerHeedsTheKeyOrHasNoItem(heedsKeys: Bool) async throws {
        if !heedsKeys { ignoreKeys() }
        server.misbehave { call in
            guard call.method == "POST", call.index == 0 else { return nil }
            return heedsKeys ? .dropAnswer : .dropBody(after: 100)
        }
        let (_, client) = try await start()
        let id = try await publish(request(), client).id
        #expect(try await end(of: id, client).kind == .completed)
        try expectWhole()
        let keys = server.calls("POST").map { $0.headers["Idempotency-Key"] }
        #expect(keys.count == 2 && keys[0] == keys[1] && keys[0] != nil)
    }

    @Test func withoutKeysThePostedItemIsFoundInTheList() async throws {
        ignoreKeys()
        let (_, client) = try await start()
        // The first upload leaves an item with the same title. Since that item has media, the second does not use it.
        #expect(try await end(of: try await publish(request(), client).id, client).kind == .completed)
        server.misbehave { $0.method == "POST" && $0.index == 1 ? .dropAnswer : nil }
        let id = try await publish(request(), client).id
        #expect(try await end(of: id, client).kind == .completed)
        #expect(server.calls("POST").count == 2)
        #expect(server.videos.map(\.timesStored) == [1, 1])
    }

    @Test func aTitleWithoutLettersAndDigitsIsNotRecognizedInTheList() async throws {
        ignoreKeys()
        server.misbehave { $0.method == "POST" && $0.index == 0 ? .dropAnswer : nil }
        let (_, client) = try await start()
        let event = try await end(of: try await publish(request("???"), client).id, client)
        #expect(event.kind == .failed && event.task?.error?.contains("check there") ?? false, "\(event)")
        #expect(server.calls("POST").count == 1 && server.videos.map(\.timesStored) == [0])
    }

    @Test func withoutAListTheUploadFailsUntilItIsResumed() async throws {
        ignoreKeys()
        server.change { $0.lists = false }
        server.misbehave { $0.method == "POST" && $0.index == 0 ? .dropBody(after: 100) : nil }
        let (daemon, client) = try await start()
        let id = try await publish(request(), client).id
        let event = try await end(of: id, client)
        #expect(event.kind == .failed && event.task?.error?.contains("check there") ?? false, "\(event)")
        #expect(server.calls("POST").count == 1)
        await daemon.stop()
        // The next daemon does not retry until the user, who can check the server, resumes the upload.
        let (_, other) = try await start()
        #expect(try await other.tasks().map(\.state) == [.failed])
        _ = try await act(.resume, id, other)
        #expect(try await end(of: id, other).kind == .completed)
        try expectWhole()
    }

    // MARK: Bad input

    @Test func credentialsAreStoredSeparatelyAndRemovedWithTheUpload() async throws {
        server.change { $0.authorization = "Basic dTpw" }
        server.misbehave { $0.method == "PUT" && $0.index == 0 ? .status(403) : nil }
        let (daemon, client) = try await start()
        let id = try await publish(request(user: "u:p@"), client).id
        #expect(try await end(of: id, client).kind == .failed)
        #expect(try daemon.library.upload(id: id)?.url == server.url())
        #expect(try home.mode(of: home.paths.uploadCredentials) == 0o600)
        _ = try await act(.resume, id, client)
        try await client.event("it completes") { $0.task?.id == id && $0.kind == .completed }
        let left = try #require(FileManager.default.contents(atPath: home.paths.uploadCredentials))
        #expect(!String(decoding: left, as: UTF8.self).contains("password"))
    }

    @Test func invalidRequestsAreRefused() async throws {
        let (daemon, client) = try await start()
        var request = try request(url: "ftp://e.com/videos")
        #expect(await client.failure(of: .publish(request))?.kind == .usage)
        request = try self.request("")
        #expect(await client.failure(of: .publish(request))?.kind == .usage)
        for name in ["../library.sqlite", "", "/etc/passwd", UUID().uuidString] {
            request = try self.request()
            request.media.file = name
            #expect(await client.failure(of: .publish(request)) != nil, "\(name)")
        }
        #expect(try daemon.library.uploads().isEmpty)
    }

    @Test func aMissingCopyFailsTheUpload() async throws {
        server.stop()
        let (first, client) = try await start()
        let id = try await publish(request(), client).id
        await first.stop()
        for name in copies { unlink("\(home.paths.uploads)/\(name)") }
        let (_, other) = try await start()
        let task = try #require(try await other.tasks().first { $0.id == id })
        #expect(task.state == .failed && task.error?.contains("the copy of a.mp4 is gone") ?? false)
    }

    @Test func unknownCopiesAreRemovedUnlessTheyAreLocked() async throws {
        server.stop()
        let (first, client) = try await start()
        _ = try await publish(request(), client)
        await first.stop()
        let known = copies
        let (orphan, locked) = (UUID().uuidString, UUID().uuidString)
        for name in [orphan, locked] {
            try Data("x".utf8).write(to: URL(fileURLWithPath: "\(home.paths.uploads)/\(name)"))
        }
        let lock = open("\(home.paths.uploads)/\(locked)", O_RDWR | O_CLOEXEC)
        #expect(clinux_ofd_lock(lock, Int16(F_WRLCK)) == 0)
        _ = try await start()
        #expect(Set(copies) == Set(known + [locked]))
        close(lock)
    }

    @Test func anUploadPreventsTheIdleExit() async throws {
        server.change { $0.bytesPerSecond = 300_000 }
        let (daemon, client) = try await home.connect { $0.idleExit = .seconds(1) }
        let id = try await publish(request(), client).id
        client.connection.close()
        try await waitUntil(description: "the upload has arrived") { server.videos.first?.movie != nil }
        #expect(daemon.idle.entries.isEmpty)
        try await waitUntil(description: "the daemon is idle") { !daemon.idle.entries.isEmpty }
        #expect(try daemon.library.upload(id: id) == nil)
    }
}
