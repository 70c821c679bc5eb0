import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Transfers

/// An engine with one upload, a server for it, and an owner (the user of the engine) that confirms at once that it has
/// stored each record of the progress.
final class UploadEngineBench: Sendable {
    private struct Owner {
        var source: UploadSource
        var finding = UploadMachine.Finding.repeatable
        var snapshots: [UploadSnapshot] = []
        var records: [UploadResumeData] = []
        var doubts = 0
        var isCompleted = false
        var failures: [TransferError] = []
        var engine: TransferEngine?
    }

    let server: VideoServer
    let folder: TemporaryDirectory
    let content: TestContent
    private let owner: Mutex<Owner>

    init(size: Int = 3_000_000) throws {
        content = TestContent(seed: 3, size: size)
        server = try VideoServer()
        folder = try TemporaryDirectory()
        let path = try folder.write("media", content.bytes)
        var source = UploadSource(
            key: 1, url: server.url(), path: path, size: Int64(content.size), idempotencyKey: "key-1")
        source.form = [FormPart(name: "title", content: .text("Title"))]
        owner = Mutex(Owner(source: source))
        var configuration = TransferConfiguration(userAgent: "podfs-test")
        configuration.limits.retry.firstDelay = .milliseconds(20)
        // A busy machine must not look like a stalled server.
        configuration.limits.stall = .seconds(120)
        let engine = try TransferEngine(configuration: configuration, cacheFolder: folder.file("cache")) {
            [weak self] event in
            if case .upload(let event) = event { self?.receive(event) }
        }
        owner.withLock { $0.engine = engine }
    }

    deinit {
        owner.withLock { $0.engine }?.shutDown()
        server.stop()
    }

    var engine: TransferEngine {
        guard let engine = owner.withLock({ $0.engine }) else { fatalError("no engine runs") }
        return engine
    }

    var source: UploadSource {
        get { owner.withLock { $0.source } }
        set { owner.withLock { $0.source = newValue } }
    }
    var finding: UploadMachine.Finding {
        get { owner.withLock { $0.finding } }
        set { owner.withLock { $0.finding = newValue } }
    }
    var snapshots: [UploadSnapshot] { owner.withLock { $0.snapshots } }
    var records: [UploadResumeData] { owner.withLock { $0.records } }
    var doubts: Int { owner.withLock { $0.doubts } }

    private func receive(_ event: UploadEvent) {
        switch event {
        case .record(let key, let id, let data):
            owner.withLock { $0.records.append(data) }
            engine.recorded(key, id)
        case .doubtful(let key, _):
            owner.withLock { $0.doubts += 1 }
            engine.resolveDoubt(key, finding)
        case .progress(let snapshot): owner.withLock { $0.snapshots.append(snapshot) }
        case .completed: owner.withLock { $0.isCompleted = true }
        case .failed(_, let error): owner.withLock { $0.failures.append(error) }
        }
    }

    // MARK: Running

    func start() { engine.upload(source) }

    /// Runs the upload to its successful end.
    func run() async throws {
        start()
        try await waitForEnd()
    }

    func waitForEnd() async throws {
        try await waitUntil(description: "the upload is complete") { owner.withLock { $0.isCompleted } }
        try await wait("the end is reported") { $0.last?.state == .completed }
    }

    /// Starts the upload, and returns the failure with which it ends.
    func failure() async throws -> TransferError? {
        start()
        return try await waitForFailure()
    }

    func waitForFailure() async throws -> TransferError? {
        try await waitUntil(description: "the upload has failed") { owner.withLock { !$0.failures.isEmpty } }
        return owner.withLock { $0.failures.first }
    }

    func wait(_ description: String, _ condition: ([UploadSnapshot]) -> Bool) async throws {
        try await waitUntil(description: description) { condition(snapshots) }
    }

    /// Checks that there is one video, and that its media equal the file.
    func expectWhole() throws {
        #expect(server.videos.count == 1)
        let movie = try #require(server.videos.first?.movie)
        let bytes = try #require(FileManager.default.contents(atPath: movie))
        #expect(bytes.count == content.size && content.matches(bytes))
    }
}
