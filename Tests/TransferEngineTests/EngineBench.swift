import Dispatch
import Glibc
import Synchronization
import SystemPackage
import TestSupport
import Testing

@testable import Transfers

/// An engine with its own cache, a test server, and a test double of the engine's owner, which is the daemon. The test
/// double applies the engine's events to its own list of files, as the daemon does to its library.
final class EngineBench: Sendable {
    /// A test double of the engine's owner: its files, and the events it received.
    private struct Owner {
        var sources: [MediaID: DownloadSource] = [:]
        var events: [TransferEvent] = []
        /// Events that wait while the owner is busy; `nil` while it is not.
        var waiting: [TransferEvent]?

        /// Applies an event to the files.
        mutating func apply(_ event: TransferEvent) {
            switch event {
            case .confirmed(let key, let generation, let pin):
                if sources[key]?.generation != generation { sources[key]?.file = nil }
                sources[key]?.generation = generation
                sources[key]?.confirmedSize = pin.total
            case .fileCreated(let key, let generation, let file, _, _):
                sources[key]?.generation = generation
                sources[key]?.file = file
            case .abandoned(let key, let generation, let file):
                if sources[key]?.file == file {
                    sources[key]?.file = nil
                    sources[key]?.confirmedSize = nil
                    sources[key]?.generation = generation + 1
                }
            case .completed(let key, _, _): sources[key]?.isComplete = true
            case .progress, .failed, .storageFull, .addressRefused, .upload: break
            }
        }
    }

    let server: HTTPTestServer
    let folder: TemporaryDirectory
    private let owner = Mutex(Owner())
    private let running = Mutex<TransferEngine?>(nil)
    private let configuration: TransferConfiguration

    /// - Parameter change: Modifies the tests' configuration, which has short retry delays and long timeouts.
    init(
        sendBuffer: Int? = nil, address: String = "127.0.0.1", in parent: String = "/tmp",
        _ change: (inout TransferConfiguration) -> Void = { _ in }
    ) throws {
        server = HTTPTestServer(sendBuffer: sendBuffer, address: address)
        folder = try TemporaryDirectory(in: parent)
        var configuration = TransferConfiguration(userAgent: "podfs-test")
        configuration.limits.retry.firstDelay = .milliseconds(20)
        // Generous, so that a machine under load causes neither stalls nor reader timeouts.
        configuration.limits.stall = .seconds(120)
        configuration.limits.readerDeadline = .seconds(240)
        configuration.limits.maxHold = .seconds(240)
        change(&configuration)
        self.configuration = configuration
        try server.start()
        try start()
    }

    /// An engine and its file 1. The server calls `behaviour` for each request for the file.
    convenience init(
        _ resource: Resource, _ change: (inout TransferConfiguration) -> Void = { _ in },
        behaviour: @escaping @Sendable (RequestInfo) -> Behaviour
    ) throws {
        try self.init(change)
        server.serve("/1.mp3", resource, behaviour: behaviour)
        know("/1.mp3")
    }

    deinit {
        running.withLock { $0 }?.shutDown()
        server.stop()
    }

    /// Starts an engine on the existing cache.
    func start() throws {
        let engine = try TransferEngine(
            configuration: configuration, cacheFolder: cacheFolder,
            events: { [weak self] event in self?.receive(event) })
        running.withLock { $0 = engine }
    }

    /// Stops the engine, as a daemon does when it exits.
    func shutDown() {
        let engine = running.withLock { engine in
            defer { engine = nil }
            return engine
        }
        engine?.shutDown()
    }

    var cacheFolder: String { folder.file("cache") }

    var engine: TransferEngine {
        get throws {
            guard let engine = running.withLock({ $0 }) else { throw TransferError(.failed, "no engine runs") }
            return engine
        }
    }

    // MARK: The owner

    /// Serves `resource` at a path named after the key, and adds the key to the owner's files.
    @discardableResult
    func add(_ key: MediaID, _ resource: Resource, _ script: [Behaviour] = []) -> String {
        let path = "/\(key).mp3"
        server.serve(path, resource, script)
        know(DownloadSource(key: key, url: server.url(path), generation: 1))
        return path
    }

    /// Adds file 1, at a path of the server, to the owner's files.
    func know(_ path: String) { know(DownloadSource(key: 1, url: server.url(path), generation: 1)) }

    func know(_ source: DownloadSource) { owner.withLock { $0.sources[source.key] = source } }

    func source(_ key: MediaID) -> DownloadSource? { owner.withLock { $0.sources[key] } }

    /// Records in the owner that the user suspended or resumed a download; the caller also informs the engine.
    func setSuspended(_ key: MediaID, _ suspended: Bool) {
        owner.withLock { $0.sources[key]?.isSuspended = suspended }
    }

    func loader(_ key: MediaID) -> TransferEngine.Loader {
        { [weak self] in
            guard let source = self?.source(key) else { throw TransferError(.missing, "unknown to the owner") }
            return source
        }
    }

    private func receive(_ event: TransferEvent) {
        let isApplied = owner.withLock { owner in
            owner.events.append(event)
            if owner.waiting != nil {
                owner.waiting?.append(event)
                return false
            }
            owner.apply(event)
            return true
        }
        if isApplied { running.withLock { $0 }?.acknowledgeEvents(1) }
    }

    /// Makes the owner busy, like a library in a large transaction: events wait until it is free.
    func beBusy() { owner.withLock { $0.waiting = [] } }

    func beFree() {
        let count = owner.withLock { owner in
            let waiting = owner.waiting ?? []
            owner.waiting = nil
            waiting.forEach { owner.apply($0) }
            return waiting.count
        }
        running.withLock { $0 }?.acknowledgeEvents(count)
    }

    var events: [TransferEvent] { owner.withLock { $0.events } }

    var failures: [TransferError] {
        events.compactMap { if case .failed(_, let error) = $0 { error } else { nil } }
    }

    /// The downloads whose URLs were refused, with the errors.
    var refusals: [(key: MediaID, error: TransferError)] {
        events.compactMap { if case .addressRefused(let key, let error) = $0 { (key, error) } else { nil } }
    }

    /// Reports of missing space, with the download that detected it.
    var storageFailures: [(key: MediaID, error: TransferError)] {
        events.compactMap { if case .storageFull(let key, let error) = $0 { (key, error) } else { nil } }
    }

    /// The facts of completed files, by key.
    var completed: [MediaID: FileFacts] {
        events.reduce(into: [:]) { if case .completed(let key, _, let facts) = $1 { $0[key] = facts } }
    }

    func snapshots(_ key: MediaID) -> [DownloadSnapshot] {
        events.compactMap {
            if case .progress(let snapshot) = $0, snapshot.key == key { snapshot } else { nil }
        }
    }

    // MARK: Reading

    func open(_ key: MediaID) async throws -> ReadGrant {
        let engine = try engine
        return try await withCheckedContinuation { continuation in
            engine.open(key, load: loader(key)) { continuation.resume(returning: $0) }
        }.get()
    }

    /// Requests a range of a file. `generation` counts the file's versions; `nil` means the one that the owner knows.
    func grant(
        _ key: MediaID, _ range: Range<Int>, generation: Int? = nil, takesHead: Bool = true
    ) async throws -> ReadGrant {
        let engine = try engine
        let generation = generation ?? source(key)?.generation ?? 0
        return try await withCheckedContinuation { continuation in
            engine.read(
                key, range: Int64(range.lowerBound)..<Int64(range.upperBound), generation: generation,
                takesHead: takesHead, load: loader(key)
            ) { continuation.resume(returning: $0) }
        }.get()
    }

    /// Reads a range like a mount: requests it, then reads the cache file or the bytes in the grant.
    func read(_ key: MediaID, _ range: Range<Int>, generation: Int? = nil) async throws -> [UInt8] {
        let grant = try await grant(key, range, generation: generation)
        let end = min(range.upperBound, grant.total.map { Int($0) } ?? range.upperBound)
        guard range.lowerBound < end else { return [] }
        guard let name = grant.file else { return Array(grant.head.dropFirst(range.lowerBound).prefix(range.count)) }
        return try bytes(of: name, range.lowerBound..<end)
    }

    func bytes(of name: String, _ range: Range<Int>) throws -> [UInt8] {
        let reader = try MediaReader(name: name, in: FilePath(cacheFolder))
        var bytes = [UInt8](repeating: 0, count: range.count)
        let count = try bytes.withUnsafeMutableBytes { try reader.read(into: $0, at: Int64(range.lowerBound)) }
        return Array(bytes.prefix(count))
    }

    func fill(_ keys: MediaID..., priority: TransferPriority = .asked) throws {
        for key in keys { try engine.fill(key, priority: priority, load: loader(key)) }
    }

    /// Runs `body` on the engine's thread.
    @discardableResult
    func onLoop<Value: Sendable>(_ body: @escaping @Sendable (EngineLoop) -> Value) async throws -> Value {
        let engine = try engine
        return await withCheckedContinuation { continuation in
            engine.mailbox.post { continuation.resume(returning: body($0)) }
        }
    }

    /// Returns the queue that writes the checkpoints of an episode's file.
    func checkpoints(of key: MediaID) async throws -> DispatchQueue {
        let queue = try await onLoop { loop in loop.download(key)?.file.map { loop.queues.checkpoints(of: $0) } }
        return try #require(queue)
    }

    // MARK: Waiting

    func wait(_ description: String, _ condition: () async throws -> Bool) async throws {
        try await waitUntil(description: description, condition)
    }

    func waitUntilWhole(_ keys: MediaID...) async throws {
        try await wait("\(keys) are complete") { Set(completed.keys).isSuperset(of: keys) }
    }

    /// Waits until the engine has received `count` bytes of a file.
    func waitUntilReceived(_ key: MediaID, _ count: Int) async throws {
        let engine = try engine
        try await wait("\(count) bytes of \(key) are received") {
            await engine.snapshots().contains { $0.key == key && $0.received >= Int64(count) }
        }
    }

    func snapshot(_ key: MediaID) async throws -> DownloadSnapshot? {
        try await engine.snapshots().first { $0.key == key }
    }

    /// Returns the number of bytes that the server has sent for a path, divided by `size`.
    func share(_ path: String, of size: Int) -> Double {
        Double(server.bodyBytesWritten(for: path)) / Double(size)
    }

    /// Whether the cache file of a key equals `content`.
    func holds(_ key: MediaID, _ content: TestContent) throws -> Bool {
        guard let name = source(key)?.file else { return false }
        return try bytes(of: name, 0..<content.size + 1) == content.bytes
    }

    func expectWhole(_ key: MediaID, _ content: TestContent) async throws {
        try await waitUntilWhole(key)
        #expect(try holds(key, content))
    }

    /// Requests the download of a file, and waits until the cache file equals `content`.
    func download(_ key: MediaID, _ content: TestContent) async throws {
        try fill(key)
        try await expectWhole(key, content)
    }
}

// MARK: Data requests

extension EngineBench {
    /// Sends a data request, and returns the heads and the body of the answer.
    @discardableResult
    func fetch(_ request: DataRequest) async throws -> (heads: [ResponseHead], bytes: [UInt8]) {
        var heads: [ResponseHead] = []
        var bytes: [UInt8] = []
        for try await event in try engine.data(for: request) {
            switch event {
            case .head(let head): heads.append(head)
            case .bytes(let piece): bytes += piece
            }
        }
        return (heads, bytes)
    }
}

/// Returns the error thrown by `body`; `nil` if there is none.
func failure(of body: () async throws -> some Sendable) async -> TransferError? {
    do {
        _ = try await body()
        return nil
    } catch {
        return error as? TransferError
    }
}
