import FlyingFox
import FlyingSocks
import Foundation
import Platform

/// The web server of the demonstration: feeds and media on a loopback port.
///
/// Media are sent at a limited rate, so that the progress is visible. The bytes and the entity tag of a file never
/// change, so that an interrupted download resumes.
actor DemoServer {
    /// The rate of each media response.
    private let bytesPerSecond: Int
    private let shows: [DemoShow]
    private let audio = DemoAudioCache()
    private var running: (server: HTTPServer, task: Task<Void, any Error>)?

    /// The maximum time until the server listens, in seconds; only an overloaded machine needs more than a moment.
    private static let startDeadline = 60.0

    /// - Parameter bytesPerSecond: The rate of each media response; feeds are sent at once.
    init(bytesPerSecond: Int, shows: [DemoShow] = DemoShow.all) {
        self.bytesPerSecond = max(1, bytesPerSecond)
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
            for show in shows { await serve(show, base: base, on: server) }
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

    // MARK: Routes

    private func serve(_ show: DemoShow, base: String, on server: HTTPServer) async {
        await serve(
            show.feedPath, text: show.feed(base: base), type: "application/rss+xml; charset=utf-8", on: server)
        for episode in show.episodes {
            await serve(show.transcriptPath(episode), text: show.transcript(episode), type: "text/vtt", on: server)
            await serve(
                show.chaptersPath(episode), text: show.chapters(episode), type: "application/json+chapters",
                on: server)
            let (audio, rate, cache) = (episode.audio, bytesPerSecond, self.audio)
            let answer = DemoAnswer(
                size: audio.size, contentType: DemoAudio.contentType,
                tag: "\"wav-\(audio.low)-\(audio.high)-\(audio.seconds)\"")
            await server.appendRoute(show.audioPath(episode), for: [.GET, .HEAD]) { request in
                await answer.response(to: request) { range in
                    let bytes = await cache.bytes(of: audio)
                    return HTTPBodySequence(
                        from: ThrottledBytes(bytes: bytes[range], bytesPerSecond: rate), count: range.count,
                        suggestedBufferSize: ThrottledBytes.largestPiece)
                }
            }
        }
    }

    private func serve(_ path: String, text: String, type: String, on server: HTTPServer) async {
        let data = Data(text.utf8)
        let tag = String(FNV1a.hash64(data), radix: 16)
        let answer = DemoAnswer(size: data.count, contentType: type, tag: "\"\(tag)\"")
        await server.appendRoute(path, for: [.GET, .HEAD]) { request in
            await answer.response(to: request) { HTTPBodySequence(data: Data(data[$0])) }
        }
    }
}

/// The audio of requested episodes, each rendered once.
private actor DemoAudioCache {
    private var rendered: [DemoAudio: Task<[UInt8], Never>] = [:]

    func bytes(of audio: DemoAudio) async -> [UInt8] {
        if let task = rendered[audio] { return await task.value }
        // Render on a thread of its own, because rendering takes a while and the worker pool has few threads.
        let task = Task(executorPreference: WorkerPool.shared) {
            await withCheckedContinuation { continuation in
                Thread.detachNewThread { continuation.resume(returning: audio.render()) }
            }
        }
        rendered[audio] = task
        return await task.value
    }
}
