import CLinux
import Foundation
import Glibc
import PodcastLibrary
import PodcastProtocol
import PodcastService
import Synchronization
import TestSupport
import Testing
import Transfers

/// A separate installation with a web server; the daemon runs in the test's process.
final class ServiceHome: Sendable {
    let directory: TemporaryDirectory
    let paths: InstallationPaths
    let web = HTTPTestServer()

    init() throws {
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
    }

    /// Starts a daemon. The default intervals are longer than a test, so scheduled work runs only if a test makes it
    /// due.
    func start(_ change: (inout ServiceConfiguration) -> Void = { _ in }) async throws -> RunningService {
        var configuration = ServiceConfiguration(
            paths: paths, version: "test", transfers: TransferConfiguration(userAgent: "podfs-test"))
        // After an open, the engine holds (pauses) the response until the first read. This timeout is longer than any
        // test, so an unread response ends only at the last close.
        configuration.transfers.limits.maxHold = .seconds(3_600)
        change(&configuration)
        return try await RunningService(configuration)
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
        let descriptor = open(cacheFile(name), O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw POSIXError(.ENOENT) }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: range.count)
        let count = pread(descriptor, &buffer, buffer.count, off_t(range.lowerBound))
        return Array(buffer[..<max(0, count)])
    }
}

/// A daemon in the test's process.
final class RunningService: Sendable {
    let service: PodcastService
    /// The library that the daemon writes.
    let library: Library
    /// One entry for each time that the service has reported that it is idle.
    let idle = Journal<String>()
    private let server: SocketServer
    private let paths: InstallationPaths

    fileprivate init(_ configuration: ServiceConfiguration) async throws {
        paths = configuration.paths
        library = try Library.openForWriting(at: paths.library)
        service = try await PodcastService(configuration: configuration, library: library) { [idle] in
            idle.append("idle")
        }
        try await service.start()
        server = try SocketServer(path: paths.socket, handler: service.handler)
        server.start()
    }

    func stop() async {
        server.stop()
        await service.stop()
    }

    /// Connects a client that receives events.
    func connect() async throws -> ServiceClient {
        let events = Journal<Event>()
        let launcher = DaemonLauncher(paths: paths, schema: Library.schemaVersion)
        let found = try launcher.connect(role: .mount, onEvent: { events.append($0) })
        let client = ServiceClient(connection: try #require(found), events: events)
        #expect(try await client.perform(.watch) == .done)
        return client
    }

    /// Returns the first episode of any show with the title "Episode `number`". Throws if there is none.
    func episode(_ number: Int = 1) throws -> Episode {
        let episodes = try library.podcasts().flatMap { try library.episodes(of: $0.id) }
        return try #require(episodes.first { $0.title == "Episode \(number)" })
    }
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

    func subscribe(_ url: String, name: String? = nil) async throws {
        guard case .subscribed = try await perform(.subscribe(url: url, name: name)) else {
            Issue.record("not subscribed")
            return
        }
    }

    func open(_ episode: EpisodeID) async throws -> Grant {
        let frame = try await connection.exchange(.open, OpenRequest(episode: episode, kind: .player).payload)
        #expect(frame.kind == .grant)
        return try #require(Grant(payload: frame.payload))
    }

    func close(_ episode: EpisodeID) { connection.post(.close, episode.payload) }

    func read(_ episode: EpisodeID, _ range: Range<Int64>, generation: Int = 1) async throws -> Grant {
        let request = ReadRequest(episode: episode, generation: generation, range: range)
        let frame = try await connection.exchange(.read, request.payload)
        #expect(frame.kind == .grant)
        return try #require(Grant(payload: frame.payload))
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
