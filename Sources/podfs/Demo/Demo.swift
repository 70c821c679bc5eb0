import Dispatch
import Foundation
import Glibc
import Platform
import PodcastPages
import PodcastProtocol
import Transfers

/// The demonstration: starts a server, a daemon, a mount and a reader, and removes everything at the end.
struct Demo {
    /// The folder to mount on; `nil` means `~/podfs-demo`.
    let folder: String?
    /// Whether to exit when the first episode is cached.
    let once: Bool

    func run() async throws {
        let work = Task(executorPreference: WorkerPool.shared) { try await perform() }
        // Ctrl-C cancels the work; the cleanup still runs.
        let sources = [SIGINT, SIGTERM, SIGHUP].map { signalSource($0) { work.cancel() } }
        defer { for source in sources { source.cancel() } }
        try await work.value
    }

    private func perform() async throws {
        let home = try DemoHome(folder: folder)
        let server = DemoServer(folder: home.root + "/server")
        var problem: (any Error)?
        do {
            try await show(home, server)
        } catch is CancellationError {
        } catch {
            problem = error
        }
        await server.stop()
        let left = home.remove()
        if let problem { throw problem }
        guard left.isEmpty else {
            throw CommandError(.failed, "the demo could not remove \(left.joined(separator: ", "))")
        }
        Terminal.print("The demo has removed everything it made.")
    }

    /// Subscribes to the shows, mounts them and reads the first episode. With `once`, returns after that; otherwise
    /// runs until the task is cancelled.
    private func show(_ home: DemoHome, _ server: DemoServer) async throws {
        _ = try await server.start()
        let installation = try Installation()
        let (events, queue) = AsyncStream<Event>.makeStream()
        let daemon = try installation.daemon(onEvent: { queue.yield($0) }, onClose: { queue.finish() })
        defer { daemon.close() }
        for url in try await server.feedURLs() {
            let show = try await daemon.perform(.subscribe(url: url, name: nil), \.subscribed)
            Terminal.print("Subscribed to \(show.name): \(show.episodes) episodes.")
        }
        try home.mount()
        Terminal.print("\nMounted on \(home.folder):\n")
        let episode = try printTree(home.folder)
        try Task.checkCancellation()
        Terminal.print(
            """

            Try, in another terminal:
              getfattr -d -m - \(ShellQuoting.quoted(episode))
              cat \(ShellQuoting.quoted(home.folder + "/.status"))
              mpv \(ShellQuoting.quoted(episode))

            Reading the first episode, as a player would:
            """)
        _ = try await daemon.perform(.watch)
        try await read(episode, events, queue)
        if once { return }
        Terminal.print("\nThe demo runs until Ctrl-C.")
        // Waits until the task is cancelled.
        for await _ in AsyncStream<Void>.makeStream().stream {}
    }

    /// Prints the tree of the mount.
    ///
    /// - Returns: The path of the first episode.
    private func printTree(_ folder: String) throws -> String {
        var first: String?
        let manager = FileManager.default
        for show in try manager.contentsOfDirectory(atPath: folder).sorted() where !show.hasPrefix(".") {
            let facts = try manager.attributesOfItem(atPath: "\(folder)/\(show)")
            guard facts[.type] as? FileAttributeType == .typeDirectory else {
                Terminal.print("  \(show)  \(ByteText.size((facts[.size] as? NSNumber)?.int64Value ?? 0))")
                continue
            }
            Terminal.print("  \(show)/")
            for name in try manager.contentsOfDirectory(atPath: folder + "/" + show).sorted()
            where !name.hasPrefix(".") {
                let path = "\(folder)/\(show)/\(name)"
                let facts = try manager.attributesOfItem(atPath: path)
                if facts[.type] as? FileAttributeType == .typeSymbolicLink {
                    Terminal.print("    \(name) -> \(try manager.destinationOfSymbolicLink(atPath: path))")
                    continue
                }
                Terminal.print("    \(name)  \(ByteText.size((facts[.size] as? NSNumber)?.int64Value ?? 0))")
                if first == nil, PathResolver.attribute("user.podfs.id", of: path) != nil { first = path }
            }
        }
        guard let first else { throw CommandError(.failed, "the mounted folder contains no episode") }
        return first
    }

    /// Reads a whole episode, and shows the progress of its download and the state afterwards.
    private func read(
        _ path: String, _ events: AsyncStream<Event>, _ queue: AsyncStream<Event>.Continuation
    ) async throws {
        guard let id = PathResolver.attribute("user.podfs.id", of: path).flatMap({ Int64($0) }).map({ EpisodeID($0) })
        else {
            throw CommandError(.failed, "\(path) has no user.podfs.id")
        }
        let count = try await Self.follow(id, events, from: queue) { try Self.readAll(path) }
        let state = PathResolver.attribute("user.podfs.state", of: path) ?? "?"
        let sum = PathResolver.attribute("user.podfs.sha256", of: path) ?? "?"
        Terminal.print("Read \(ByteText.size(Int64(count))); state \(state), sha256 \(sum.prefix(16))…")
        guard state == TaskState.cached.rawValue else {
            throw CommandError(.failed, "the episode is \(state), not cached")
        }
    }

    /// Calls `read`, which reads an episode, and shows the progress of the download until the daemon reports its end.
    ///
    /// - Parameter queue: The continuation that feeds `events`. It is finished if `read` fails: the daemon may not
    ///   report that failure, and the wait for events would not end.
    /// - Returns: The result of `read`.
    static func follow(
        _ id: EpisodeID, _ events: AsyncStream<Event>, from queue: AsyncStream<Event>.Continuation,
        read: @escaping @Sendable () throws -> Int
    ) async throws -> Int {
        // Reads on another thread, because reading blocks until the bytes arrive.
        let reader = Task(executorPreference: WorkerPool.shared) {
            do {
                return try read()
            } catch {
                queue.finish()
                throw error
            }
        }
        var log = StatusLog()
        for await event in events where event.episode == id {
            try Task.checkCancellation()
            if event.kind == .failed { throw CommandError(.failed, event.task?.error ?? "the download failed") }
            if let line = log.line(for: event) { Terminal.print("  \(line)") }
            if event.kind == .completed { break }
        }
        try Task.checkCancellation()
        return try await reader.value
    }

    private static func readAll(_ path: String) throws -> Int {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw CommandError(.failed, "\(path): \(errnoText())") }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 128 * 1024)
        var total = 0
        while true {
            let count = retryingInterrupts { Glibc.read(descriptor, &buffer, buffer.count) }
            guard count >= 0 else {
                let error = errnoText()
                throw CommandError(.failed, "\(path): \(PathResolver.attribute("user.podfs.error", of: path) ?? error)")
            }
            if count == 0 { return total }
            total += count
        }
    }
}
