import Foundation
import GRDB
import PodcastLibrary
import PodcastProtocol
import Synchronization
import TestSupport
import Testing
import Transfers

@testable import PodcastService

/// A separate installation with a web server; the daemon runs in the test's process.
final class ServiceHome: Sendable {
    let directory: TemporaryDirectory
    let paths: InstallationPaths
    let web = HTTPTestServer()

    /// Not throwing, so that a home can be a property's initial value.
    init() {
        do {
            directory = try TemporaryDirectory()
            paths = try #require(
                InstallationPaths(environment: [
                    "XDG_DATA_HOME": directory.file("d"), "XDG_CACHE_HOME": directory.file("c"),
                    "XDG_CONFIG_HOME": directory.file("g"), "XDG_STATE_HOME": directory.file("s"),
                    "XDG_RUNTIME_DIR": directory.file("r"),
                ]))
            for folder in paths.folders {
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            }
            try web.start()
        } catch {
            fatalError("no installation: \(error)")
        }
    }

    /// Starts a daemon, which the suite's trait stops. The default intervals are longer than a test, so scheduled work
    /// runs only if a test makes it due.
    @discardableResult
    func start(_ change: (inout ServiceConfiguration) -> Void = { _ in }) async throws -> RunningService {
        var configuration = ServiceConfiguration(
            paths: paths, version: "test", transfers: TransferConfiguration(userAgent: "podfs-test"))
        // After an open, the engine holds (pauses) the response until the first read. This timeout is longer than any
        // test, so an unread response ends only at the last close.
        configuration.transfers.limits.maxHold = .seconds(3_600)
        change(&configuration)
        let list = try #require(DaemonStopping.list, "the suite lacks the trait .stopsDaemons")
        let daemon = try await RunningService(configuration, home: self, list: list)
        list.running.withLock { $0.append(daemon) }
        return daemon
    }

    /// Starts a daemon and connects a client that receives events.
    func connect(
        _ change: (inout ServiceConfiguration) -> Void = { _ in }
    ) async throws -> (RunningService, ServiceClient) {
        let daemon = try await start(change)
        return (daemon, try await daemon.connect())
    }

    /// Starts a daemon and connects a client that subscribes to `/feed.xml`.
    @discardableResult
    func subscribe(
        _ change: (inout ServiceConfiguration) -> Void = { _ in }
    ) async throws -> (RunningService, ServiceClient) {
        let (daemon, client) = try await connect(change)
        try await client.subscribe(web.url("/feed.xml"))
        return (daemon, client)
    }

    /// Subscribes like `subscribe`, and also returns the first episode of the show.
    func subscribeToEpisode(
        _ change: (inout ServiceConfiguration) -> Void = { _ in }
    ) async throws -> (RunningService, ServiceClient, EpisodeID) {
        let (daemon, client) = try await subscribe(change)
        return (daemon, client, try daemon.episode().id)
    }

    /// Serves a show of `count` episodes at `path`, each with media of `size` bytes at `media(_:of:)`.
    func publish(
        _ title: String = "Show", episodes count: Int = 1, size: Int = 200_000, path: String = "/feed.xml",
        etag: String? = nil
    ) {
        let feed = FeedBuilder.show(title, episodes: count, length: size) { self.web.url(self.media($0, of: path)) }
        web.serve(path, Resource(text: feed.text, contentType: "application/rss+xml", etag: etag))
        for number in 1...max(1, count) {
            web.serve(media(number, of: path), Resource(content(number, size: size), etag: "\"m\(number)\""))
        }
    }

    /// The path of an episode's media on the server.
    func media(_ number: Int, of feed: String = "/feed.xml") -> String { "\(feed.dropLast(4))-\(number).mp3" }

    func content(_ number: Int, size: Int = 200_000) -> TestContent { TestContent(seed: UInt64(number), size: size) }

    func cacheFile(_ name: String) -> String { "\(paths.cache)/media/\(name.prefix(2))/\(name)" }

    /// The names of all cache files.
    var cacheFiles: [String] {
        let media = paths.cache + "/media"
        let folders = (try? FileManager.default.contentsOfDirectory(atPath: media)) ?? []
        return folders.flatMap { (try? FileManager.default.contentsOfDirectory(atPath: media + "/" + $0)) ?? [] }
            .filter { !$0.contains(".") }
    }

    /// Returns the bytes of a range of a cache file.
    func bytes(of name: String, in range: Range<Int>) throws -> [UInt8] {
        Array(
            try Data(contentsOf: URL(fileURLWithPath: cacheFile(name))).dropFirst(range.lowerBound).prefix(range.count))
    }

    /// Returns the permissions of a file.
    func mode(of path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    /// Returns the stored document of a feed.
    func feedDocument(_ show: ShowID, _ fileExtension: String = "xml") -> String? {
        let bytes = FileManager.default.contents(atPath: "\(paths.feeds)/\(show).\(fileExtension)")
        return bytes.map { String(decoding: $0, as: UTF8.self) }
    }

    /// Starts a daemon with an episode of 600,000 bytes. The server sends the first half, and the rest when the gate
    /// opens.
    func stalled(_ gate: Gate) async throws -> (RunningService, ServiceClient, EpisodeID) {
        publish(size: 600_000)
        web.serve("/feed-1.mp3", Resource(content(1, size: 600_000), etag: "\"m1\"")) { _ in .hold(gate) }
        return try await subscribeToEpisode()
    }

    /// Changes the library without the daemon's knowledge.
    func execute(_ sql: String) throws {
        try DatabaseQueue(path: paths.library).write { db in try db.execute(sql: sql) }
    }

    /// Makes SQLite reject a statement. `what` is the event and the condition of a trigger, such as `BEFORE INSERT ON`.
    func forbid(_ what: String, by resolution: String = "ABORT") throws {
        try execute("CREATE TRIGGER forbid \(what) BEGIN SELECT RAISE(\(resolution), 'forbidden'); END")
    }

    /// Ends the effect of `forbid`.
    func allow() throws { try execute("DROP TRIGGER forbid") }
}

/// A daemon in the test's process.
final class RunningService: Sendable {
    let service: PodcastService
    /// The library that the daemon writes.
    let library: Library
    /// One entry for each time that the service has reported that it is idle.
    let idle = Journal<String>()
    private let server: SocketServer
    private let home: ServiceHome
    private let list: DaemonStopping.List

    fileprivate init(
        _ configuration: ServiceConfiguration, home: ServiceHome, list: DaemonStopping.List
    ) async throws {
        self.home = home
        self.list = list
        library = try Library.openForWriting(at: home.paths.library)
        service = try await PodcastService(configuration: configuration, library: library) { [idle] in
            idle.append("idle")
        }
        try await service.start()
        server = try SocketServer(path: home.paths.socket, handler: service.handler)
        server.start()
    }

    func stop() async {
        list.running.withLock { $0.removeAll { $0 === self } }
        server.stop()
        await service.stop()
    }

    /// Connects a client that receives events.
    func connect() async throws -> ServiceClient {
        let events = Journal<Event>()
        let launcher = DaemonLauncher(paths: home.paths, schema: Library.schemaVersion)
        let found = try launcher.connect(role: .mount, onEvent: { events.append($0) })
        let client = ServiceClient(connection: try #require(found), events: events)
        #expect(try await client.perform(.watch) == .done)
        return client
    }

    /// Downloads the episodes with these numbers, one after another.
    func download(_ numbers: Int..., with client: ServiceClient) async throws {
        for number in numbers {
            let id = try episode(number).id
            try await client.download(id)
        }
    }

    /// Returns the first episode of any show with the title "Episode `number`". Throws if there is none.
    func episode(_ number: Int = 1) throws -> Episode {
        let episodes = try library.podcasts().flatMap { try library.episodes(of: $0.id) }
        return try #require(episodes.first { $0.title == "Episode \(number)" })
    }
}

/// Stops the daemons that a test has started, when the test has ended.
struct DaemonStopping: SuiteTrait, TestTrait, TestScoping {
    fileprivate final class List: Sendable {
        let running = Mutex<[RunningService]>([])
    }

    @TaskLocal fileprivate static var list: List?

    let isRecursive = true

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        let list = List()
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await Self.$list.withValue(list, operation: function))
        } catch {
            outcome = .failure(error)
        }
        for daemon in list.running.withLock({ $0 }) { await daemon.stop() }
        try outcome.get()
    }
}

extension Trait where Self == DaemonStopping {
    static var stopsDaemons: Self { Self() }
}

/// A client's connection to the daemon.
struct ServiceClient: Sendable {
    let connection: DaemonConnection
    let events: Journal<Event>

    @discardableResult
    func perform(_ command: Command) async throws -> Reply { try await connection.perform(command) }

    func perform<Value>(_ command: Command, _ part: (Reply) -> Value?) async throws -> Value {
        try await connection.perform(command, part)
    }

    /// Returns the failure of a command. Records an issue and returns `nil` if the command succeeds.
    func failure(of command: Command) async -> Failure? {
        await #expect(throws: Failure.self) { try await connection.perform(command) }
    }

    /// Returns the failure of a request that is no command.
    func failure(of kind: Frame.Kind, _ payload: [UInt8]) async -> Failure? {
        await #expect(throws: Failure.self) { try await connection.exchange(kind, payload) }
    }

    func subscribe(_ url: String, name: String? = nil) async throws {
        guard case .subscribed = try await perform(.subscribe(url: url, name: name)) else {
            Issue.record("not subscribed")
            return
        }
    }

    func open(_ episode: EpisodeID) async throws -> Grant {
        let frame = try await connection.exchange(.open, ReadRequest(episode: episode).payload)
        #expect(frame.kind == .grant)
        return try #require(Grant(payload: frame.payload))
    }

    func close(_ episode: EpisodeID) { connection.post(.close, WireJSON.encode(episode)) }

    func read(_ episode: EpisodeID, _ range: Range<Int64>, generation: Int = 1) async throws -> Grant {
        let request = ReadRequest(episode: episode, generation: generation, range: range)
        let frame = try await connection.exchange(.read, request.payload)
        #expect(frame.kind == .grant)
        return try #require(Grant(payload: frame.payload))
    }

    /// Refreshes shows, or all.
    @discardableResult
    func refresh(_ shows: ShowID...) async throws -> [RefreshResult] {
        let results = try await perform(.refresh(podcasts: shows), \.refreshed)
        return results
    }

    func tasks() async throws -> [TaskInfo] {
        let tasks = try await perform(.tasks, \.tasks)
        return tasks
    }

    @discardableResult
    func act(_ action: TaskAction, _ episodes: EpisodeID...) async throws -> (count: Int, problems: [String]) {
        let (count, problems) = try await perform(.act(action, episodes: episodes), \.acted)
        return (count, problems)
    }

    /// Waits for an event that satisfies `predicate`, and returns it. The event may have arrived before the call.
    @discardableResult
    func event(_ description: String, where predicate: (Event) -> Bool) async throws -> Event {
        var found: Event?
        try await waitUntil(description: "an event arrives: \(description)") {
            found = events.entries.first(where: predicate)
            return found != nil
        }
        return try #require(found)
    }

    /// Waits until the last event of an episode's task reports a state.
    func state(_ state: TaskState, of episode: EpisodeID) async throws {
        try await waitUntil(description: "episode \(episode) is \(state)") {
            events.entries.last { $0.episode == episode && $0.task?.state != nil }?.task?.state == state
        }
    }

    /// Downloads an episode, and waits for its completion.
    @discardableResult
    func download(_ episode: EpisodeID) async throws -> Event {
        try await act(.download, episode)
        return try await completion(of: episode)
    }

    @discardableResult
    func completion(of episode: EpisodeID) async throws -> Event {
        try await event("episode \(episode) is complete") { $0.kind == .completed && $0.episode == episode }
    }
}

extension Event {
    /// The show of a task or of a change.
    var show: ShowID? { if case .show(let id, _, _) = body { id } else { task?.show } }

    var formerName: String? {
        switch body {
        case .episode(_, let formerName), .show(_, _, let formerName): formerName
        case .progress, .state, .completed, .failed, .view, .listening, .idle: nil
        }
    }
}
