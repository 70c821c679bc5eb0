import Foundation
import Glibc
import PodcastFeed
import PodcastFilesystem
import PodcastProtocol
import Synchronization
import SystemPackage
import TestSupport
import Testing

@testable import Fuse
@testable import PodcastLibrary
@testable import Transfers

/// The filesystem of a temporary installation, without a kernel: the test itself issues the FUSE requests.
final class Mounted: Sendable {
    let directory: TemporaryDirectory
    let paths: InstallationPaths
    /// The library, open for writing as in the daemon. The filesystem reads the same file.
    let library: Library
    let filesystem: PodcastFilesystem
    let link: DaemonLink
    let options: PodcastFilesystem.Options
    let notifier = RecordingNotifier()
    private let nextRequest = Atomic<UInt64>(2)

    /// - Parameter script: The shell script that runs in place of the daemon; the default does nothing.
    init(
        script: String = "exit 0", cacheLimit: Int64 = 10 << 30, indexers: Set<String> = [],
        configure: (inout PodcastFilesystem.Options) -> Void = { _ in }
    ) throws {
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
        let program = try directory.writeProgram("podfs", text: "#!/bin/sh\n\(script)\n")
        library = try Library.openForWriting(at: paths.library)
        let launcher = DaemonLauncher(paths: paths, schema: Library.schemaVersion, executable: program)
        link = DaemonLink(launcher: launcher)
        var options = PodcastFilesystem.Options(
            owner: (1_000, 1_001), cache: FilePath(paths.cache), cacheLimit: cacheLimit,
            feeds: FilePath(paths.feeds), assets: FilePath(paths.assets), indexers: indexers)
        options.findIndex = FilePath(paths.findIndex)
        configure(&options)
        self.options = options
        filesystem = PodcastFilesystem(
            library: try Library.openForReading(at: paths.library), options: options, link: link)
    }

    deinit { filesystem.stop() }

    /// Whether the script in place of the daemon was run. The script must create the file `$0.started`.
    var wasStarted: Bool { FileManager.default.fileExists(atPath: directory.file("podfs.started")) }

    /// Starts the filesystem with the notifier. It connects to a running daemon, but starts none.
    func start() { filesystem.start(notifier: notifier, startsDaemon: false) }

    /// Starts the mount, and returns when it is connected to the daemon and up to date. Clears the notifier's record.
    func connect() async throws {
        start()
        try await waitUntil(description: "the daemon is found") {
            notifier.messages.contains(.attributes(.root))
        }
        notifier.clear()
    }

    /// Starts a daemon and the mount, and returns when they are connected.
    func daemon(
        tasks: [TaskInfo] = [], handler: @escaping FakeDaemon.Handler = { _, _ in }
    ) async throws -> FakeDaemon {
        let daemon = try FakeDaemon(paths, tasks: tasks, handler: handler)
        try await connect()
        return daemon
    }

    // MARK: The library

    /// Subscribes to a feed that no server provides.
    @discardableResult
    func subscribe(_ feed: FeedBuilder, url: String = "http://127.0.0.1:9/feed.xml", now: Int64 = 1_700_000_000) throws
        -> Podcast
    {
        let show = ArrivingShow(
            url: url, feed: try parse(feed, url), name: nil, response: FeedResponse(finalURL: url, status: 200),
            now: now)
        return try library.subscribe([show], template: .standard)[0].get().podcast
    }

    @discardableResult
    func refresh(_ podcast: Podcast, _ feed: FeedBuilder, now: Int64 = 1_700_000_100) throws -> MergeResult {
        try library.merge(
            feed: try parse(feed, podcast.url), into: podcast.id,
            response: FeedResponse(finalURL: podcast.url, status: 200), template: .standard, now: now)
    }

    private func parse(_ feed: FeedBuilder, _ url: String) throws -> Feed {
        try FeedParser.parse(Array(feed.text.utf8), contentType: "application/rss+xml", base: url)
    }

    /// Adds a show of `count` episodes; number n is at `http://127.0.0.1:9/TITLE/n.mp3`.
    @discardableResult
    func subscribe(_ title: String = "Show", episodes count: Int = 1, length: Int? = 500_000) throws -> Podcast {
        try subscribe(
            .show(title, episodes: count, length: length) { "http://127.0.0.1:9/\(title)/\($0).mp3" },
            url: "http://127.0.0.1:9/\(title).xml")
    }

    func episode(_ number: Int = 1) throws -> Episode {
        let episodes = try library.podcasts().flatMap { try library.episodes(of: $0.id) }
        return try #require(episodes.first { $0.title == "Episode \(number)" })
    }

    func episodeNode(_ number: Int = 1, generation: Int = 1) throws -> NodeID {
        NodeNumber(kind: .episode, generation: generation, row: try episode(number).id).node
    }

    /// Stores a cache file with these ranges of `content` for an episode, as the daemon does.
    @discardableResult
    func store(
        _ content: TestContent, of episode: Episode, ranges: [Range<Int>]? = nil, complete: Bool = true,
        generation: Int? = nil
    ) throws -> CacheFile {
        let cache = try ContentCache(directory: FilePath(paths.cache))
        let file = try cache.create(size: Int64(content.size))
        var present = ByteRanges()
        for range in ranges ?? [0..<content.size] {
            try content.bytes(in: range).withUnsafeBytes { try file.write($0, at: Int64(range.lowerBound)) }
            present.insert(contentsOf: Int64(range.lowerBound)..<Int64(range.upperBound))
        }
        let generation = generation ?? episode.generation
        var checkpoint = Checkpoint(key: MediaID(episode.id), generation: generation)
        checkpoint.total = Int64(content.size)
        checkpoint.receivedRanges = present
        try cache.save(checkpoint, of: file)
        try library.pin(Rendition(file: file.name, checkpoint, now: 0), now: 1_700_000_200)
        if complete {
            try file.synchronize(knownFailures: 0)
            try library.complete(
                episode: episode.id, generation: generation, size: Int64(content.size),
                sha256: try file.sha256(size: Int64(content.size)),
                fileState: try file.currentState().text, now: 1_700_000_300)
        }
        return file
    }

    /// Returns a grant (the daemon's answer to an open or a read) that permits reads of `present` in a stored file.
    func grant(_ file: CacheFile, _ content: TestContent, present: Range<Int>? = nil, generation: Int = 1) -> Grant {
        var ranges = ByteRanges()
        let present = present ?? 0..<content.size
        ranges.insert(contentsOf: Int64(present.lowerBound)..<Int64(present.upperBound))
        return Grant(generation: generation, total: Int64(content.size), file: file.name, present: ranges)
    }

    /// Attempts to evict a cache file, as the daemon does. Returns `false` if a lease prevents it.
    func evicts(_ name: String) throws -> Bool { try ContentCache(directory: FilePath(paths.cache)).evict(name) }

    // MARK: Requests

    /// Passes a request with a new number to `operation`.
    @discardableResult
    func request(
        uid: UInt32 = 1_000, pid: Int32 = getpid(), refusing: Bool = false,
        _ operation: (consuming Request) -> Void
    ) -> RecordedReply {
        let reply = RecordedReply(refusing: refusing)
        operation(reply.request(id: nextRequest.wrappingAdd(2, ordering: .relaxed).newValue, uid: uid, pid: pid))
        return reply
    }

    func lookup(_ name: String, in parent: NodeID = .root) -> RecordedAnswer? {
        request { filesystem.lookup($0, parent: parent, name: name) }.answer
    }

    /// Returns the entry at a path of names from the root.
    func entry(_ path: String...) throws -> Entry {
        let parent = try node(at: path.dropLast())
        let name = path.last ?? ""
        guard case .entry(let entry)? = lookup(name, in: parent) else { throw MissingEntry(name: name) }
        return entry
    }

    func node(at path: some Sequence<String>) throws -> NodeID {
        try path.reduce(.root) { node, name in
            guard case .entry(let entry)? = lookup(name, in: node) else { throw MissingEntry(name: name) }
            return entry.node
        }
    }

    struct MissingEntry: Error { var name: String }

    func attributes(_ node: NodeID, handle: Fuse.FileHandle? = nil) -> Attributes? {
        let reply = request { filesystem.getattr($0, node: node, handle: handle) }
        guard case .attributes(let attributes, _)? = reply.answer else { return nil }
        return attributes
    }

    func open(_ node: NodeID, pid: Int32 = getpid(), flags: Int32 = O_RDONLY) -> RecordedReply {
        request(pid: pid) { filesystem.open($0, node: node, flags: flags) }
    }

    func read(_ node: NodeID, _ handle: Fuse.FileHandle, _ offset: Int64, _ size: Int) -> RecordedReply {
        request { filesystem.read($0, node: node, handle: handle, offset: offset, size: size) }
    }

    /// Reads beyond the end of a file, as the kernel reads ahead if it has cached a larger size. The filesystem may
    /// refuse the first attempt with EIO. This function then repeats the read once, which returns no bytes.
    func readTail(_ node: NodeID, _ handle: Fuse.FileHandle, _ offset: Int64, _ size: Int) -> RecordedAnswer? {
        let first = read(node, handle, offset, size).answer
        return first == .error(.ioError) ? read(node, handle, offset, size).answer : first
    }

    func release(_ node: NodeID, _ handle: Fuse.FileHandle) {
        request { filesystem.release($0, node: node, handle: handle) }
    }

    func opendir(_ node: NodeID) throws -> Fuse.FileHandle {
        let reply = request { filesystem.opendir($0, node: node) }
        guard case .open(let open)? = reply.answer else { throw MissingEntry(name: "\(node)") }
        return open.handle
    }

    func list(
        _ node: NodeID, _ handle: Fuse.FileHandle, from offset: UInt64 = 0, size: Int = 65_536, plus: Bool = true
    ) -> [ListedEntry]? {
        let page = DirectoryPage(handle: handle, offset: offset, size: size, withAttributes: plus)
        return request { filesystem.readdir($0, node: node, page: page) }.answer?.listing
    }

    /// Returns the names in the folder at a path, without `.` and `..`.
    func names(_ path: String...) throws -> [String] {
        let node = try node(at: path)
        let handle = try opendir(node)
        defer { request { filesystem.releasedir($0, node: node, handle: handle) } }
        return try #require(list(node, handle)).dropFirst(2).map(\.name)
    }

    /// Opens and reads the file at a path, and expects that its size is that of its content. Only a status file may
    /// have another size before its open.
    func content(_ path: String..., uid: UInt32 = 1_000) async throws -> String {
        let node = try node(at: path)
        let told = attributes(node)?.size
        let handle = try await request(uid: uid) { filesystem.open($0, node: node, flags: O_RDONLY) }.handle()
        defer { release(node, handle) }
        let size = try #require(attributes(node, handle: handle)?.size)
        let bytes = try read(node, handle, 0, 1 << 24).answer.bytes
        #expect(Int64(bytes.count) == size && (size == told || path[0].hasPrefix(".status")))
        #expect(read(node, handle, size, 100).answer == .bytes([]))
        return String(decoding: bytes, as: UTF8.self)
    }

    func xattr(_ node: NodeID, _ name: String, capacity: Int = 65_536) -> RecordedAnswer? {
        request { filesystem.getxattr($0, node: node, name: name, capacity: capacity) }.answer
    }

    /// Returns the text of an attribute; `nil` if it does not exist.
    func fact(_ node: NodeID, _ name: String) -> String? {
        guard case .bytes(let bytes)? = xattr(node, name) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    func xattrNames(_ node: NodeID) -> [String] {
        let reply = request { filesystem.listxattr($0, node: node, capacity: 65_536) }
        guard case .bytes(let bytes)? = reply.answer else { return [] }
        return bytes.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    }

    func setxattr(_ node: NodeID, _ name: String, _ value: String, uid: UInt32 = 1_000) -> RecordedReply {
        request(uid: uid) { request in
            // As in a request of the kernel, the bytes are valid during the call only.
            let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: value.utf8.count, alignment: 1)
            defer { bytes.deallocate() }
            bytes.copyBytes(from: value.utf8)
            filesystem.setxattr(request, node: node, name: name, value: UnsafeRawBufferPointer(bytes), flags: 0)
        }
    }
}

extension RecordedReply {
    /// Waits for the answer without blocking a thread.
    @discardableResult
    func answered(deadline: Duration = .seconds(60)) async throws -> RecordedAnswer {
        try await waitUntil(deadline: deadline, description: "a request is answered") { answer != nil }
        return try #require(answer)
    }

    /// Waits for the answer to an open, and returns its handle.
    func handle() async throws -> Fuse.FileHandle {
        try await answered().opened.handle
    }
}

extension RecordedAnswer {
    struct Unexpected: Error { var answer: RecordedAnswer? }

    /// The reply to an open; throws for any other answer.
    var opened: OpenReply {
        get throws {
            guard case .open(let reply) = self else { throw Unexpected(answer: self) }
            return reply
        }
    }

    /// The bytes of a read or an attribute; throws for any other answer.
    var bytes: [UInt8] {
        get throws {
            guard case .bytes(let bytes) = self else { throw Unexpected(answer: self) }
            return bytes
        }
    }
}

extension RecordedAnswer? {
    var opened: OpenReply { get throws { try (self ?? .error(.timedOut)).opened } }
    var bytes: [UInt8] { get throws { try (self ?? .error(.timedOut)).bytes } }
}

/// A notifier that records all notifications; there is no kernel.
final class RecordingNotifier: ChangeNotifier {
    typealias Message = Invalidator.Message

    private struct State {
        var messages: [Message] = []
        var isHeld = false
        var completions: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    var messages: [Message] { state.withLock { $0.messages } }

    func clear() { state.withLock { $0.messages = [] } }

    /// Records notifications from now on without reporting their delivery.
    func hold() { state.withLock { $0.isHeld = true } }

    func letGo() {
        let completions = state.withLock { state in
            state.isHeld = false
            defer { state.completions = [] }
            return state.completions
        }
        for completion in completions { completion() }
    }

    func send(_ message: Message, isUrgent: Bool, then completion: (@Sendable () -> Void)?) {
        let isHeld = state.withLock { state in
            state.messages.append(message)
            if state.isHeld, let completion { state.completions.append(completion) }
            return state.isHeld
        }
        if !isHeld { completion?() }
    }
}
