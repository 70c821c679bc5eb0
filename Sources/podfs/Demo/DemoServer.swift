import FlyingFox
import FlyingSocks
import Foundation
import Platform

/// The web server of the demonstration: feeds, media, transcripts and chapters as files on a loopback port.
actor DemoServer {
    /// The folder of the files.
    private let folder: URL
    private let shows: [DemoShow]
    private var running: (server: HTTPServer, task: Task<Void, any Error>)?

    /// The maximum time until the server listens, in seconds; only an overloaded machine needs more than a moment.
    private static let startDeadline = 60.0

    /// - Parameter folder: The path of a folder in which the server writes its files.
    init(folder: String, shows: [DemoShow] = DemoShow.all) {
        self.folder = URL(fileURLWithPath: folder)
        self.shows = shows
    }

    /// Listens on a free port and returns the URL without a slash at the end, `http://127.0.0.1:PORT`.
    func start() async throws -> String {
        if let base = try await base() { return base }
        // With port 0 the kernel chooses a free port.
        let server = HTTPServer(address: try .inet(ip4: "127.0.0.1", port: 0), logger: .disabled)
        let task = Task(executorPreference: WorkerPool.shared) { try await server.run() }
        running = (server, task)
        do {
            try await server.waitUntilListening(timeout: Self.startDeadline)
            guard let base = try await base() else { throw SocketError.unsupportedAddress }
            for show in shows { try await serve(show, base: base, on: server) }
            return base
        } catch {
            await stop()
            throw error
        }
    }

    /// Stops listening and aborts the responses being sent.
    func stop() async {
        guard let (server, task) = running else { return }
        running = nil
        await server.stop(timeout: 0)
        task.cancel()
        // `run` throws when the server is stopped; the error means nothing.
        _ = await task.result
    }

    /// Returns the URLs of the feeds; none if the server has not been started.
    func feedURLs() async throws -> [String] {
        guard let base = try await base() else { return [] }
        return shows.map { base + $0.feedPath }
    }

    private func base() async throws -> String? {
        guard let running, case .ip4(let address, let port) = await running.server.listeningAddress else { return nil }
        return "http://\(address):\(port)"
    }

    private func serve(_ show: DemoShow, base: String, on server: HTTPServer) async throws {
        var files = [(show.feedPath, Array(show.feed(base: base).utf8), "application/rss+xml; charset=utf-8")]
        for episode in show.episodes {
            files.append((show.transcriptPath(episode), Array(show.transcript(episode).utf8), "text/vtt"))
            files.append((show.chaptersPath(episode), Array(show.chapters(episode).utf8), "application/json+chapters"))
            files.append((show.audioPath(episode), episode.audio.render(), DemoAudio.contentType))
        }
        for (path, bytes, type) in files {
            let file = folder.appendingPathComponent(path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(bytes).write(to: file)
            await server.appendRoute(
                path, for: [.GET, .HEAD], to: FileHTTPHandler(path: file, contentType: type))
        }
    }
}
