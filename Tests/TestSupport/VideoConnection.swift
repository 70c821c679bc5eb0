import CLinux
import Foundation
import Glibc
import Platform
import Synchronization

/// One connection of a `VideoServer`. Confined to its own thread.
struct VideoConnection {
    let socket: Int32
    let server: VideoServer

    private struct Broken: Error {}

    private static let largestForm = 16 << 20

    func run() {
        var input: [UInt8] = []
        do {
            while try serveNext(&input) {}
        } catch {
            // The connection is closed after any error.
        }
    }

    private struct Request {
        var method: String
        var path: String
        var headers: HeaderFields
        var length: Int
        var number: Int
        var fault: VideoServer.Fault?
    }

    private func serveNext(_ input: inout [UInt8]) throws -> Bool {
        guard var request = try readHead(&input) else { return false }
        (request.number, request.fault) = server.began(request.method, request.path, request.headers)
        let options = server.state.withLock { $0.options }
        if let wanted = options.authorization, request.headers["Authorization"] != wanted {
            try refuse(VideoServer.Answer(status: 401, fields: [("WWW-Authenticate", "Basic")]), request)
            return false
        }
        switch request.fault {
        case .status(let status, let retryAfter):
            let fields = retryAfter.map { [("Retry-After", "\($0)")] } ?? []
            try refuse(VideoServer.Answer(status: status, fields: fields), request)
            return false
        case .redirect(let status, let place):
            try refuse(VideoServer.Answer(status: status, fields: [("Location", place)]), request)
            return false
        case .dropBody, .dropAnswer, nil: break
        }
        if request.headers["Expect"]?.lowercased() == "100-continue" {
            try send(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
        }
        let answer = try carryOut(request, options, &input)
        if case .dropAnswer? = request.fault { return false }
        try send(answer, request)
        return true
    }

    /// Responds without reading the body, and lets the peer read the response before the connection ends.
    private func refuse(_ answer: VideoServer.Answer, _ request: Request) throws {
        var answer = answer
        answer.fields.append(("Connection", "close"))
        try send(answer, request)
        shutdown(socket, Int32(SHUT_WR))
        var sink = [UInt8](repeating: 0, count: 64 << 10)
        while recv(socket, &sink, sink.count, 0) > 0 {}
    }

    // MARK: Operations

    private func carryOut(
        _ request: Request, _ options: VideoServer.Options, _ input: inout [UInt8]
    ) throws -> VideoServer.Answer {
        let parts = request.path.split(separator: "/").map(String.init)
        guard parts.first == "videos" else { return try unknown(request, &input) }
        if parts.count == 1 {
            switch request.method {
            case "GET": return server.list()
            case "POST":
                var body: [UInt8] = []
                guard request.length <= Self.largestForm else { return VideoServer.Answer(status: 413) }
                try readBody(request, options, &input) { body += $0 }
                return server.post(body, request.headers)
            default: return try unknown(request, &input)
            }
        }
        guard parts.count == 3, let id = Int(parts[1]), let video = server.video(id) else {
            return try unknown(request, &input)
        }
        switch (request.method, parts[2]) {
        case ("GET", "movie"): return server.get(video, request.headers)
        case ("GET", "thumbnail"):
            guard let image = video.thumbnail else { return VideoServer.Answer(status: 404) }
            return VideoServer.Answer(status: 200, fields: [("Content-Type", "image/jpeg")], body: image)
        case ("PUT", "movie"): return try put(request, id, options, &input)
        case ("OPTIONS", "movie") where options.speaksTus:
            return VideoServer.Answer(status: 204, fields: [("Tus-Resumable", "1.0.0"), ("Tus-Version", "1.0.0")])
        case ("HEAD", "movie") where options.speaksTus && video.isLocked: return VideoServer.Answer(status: 423)
        case ("HEAD", "movie") where options.speaksTus:
            return VideoServer.Answer(
                status: 200,
                fields: [
                    ("Tus-Resumable", "1.0.0"), ("Upload-Offset", "\(video.size)"), ("Cache-Control", "no-store"),
                    video.length.map { ("Upload-Length", "\($0)") } ?? ("Upload-Defer-Length", "1"),
                ])
        case ("PATCH", "movie") where options.speaksTus: return try patch(request, video, options, &input)
        default: return try unknown(request, &input, status: 405)
        }
    }

    private func unknown(_ request: Request, _ input: inout [UInt8], status: Int = 404) throws -> VideoServer.Answer {
        try readBody(request, VideoServer.Options(), &input) { _ in }
        return VideoServer.Answer(status: status)
    }

    /// Stores media sent by PUT. The server offers them only after all bytes have arrived.
    private func put(
        _ request: Request, _ id: Int, _ options: VideoServer.Options, _ input: inout [UInt8]
    ) throws -> VideoServer.Answer {
        let part = server.folder.file("\(id)-\(request.number).put")
        try receive(request, options, &input, into: part, at: 0) { _ in }
        server.stored(id, from: part, size: request.length, type: request.headers["Content-Type"])
        return VideoServer.Answer(status: 204)
    }

    /// Stores media sent by tus, a protocol for resumable uploads. If the connection breaks, the bytes that were
    /// received before remain stored.
    private func patch(
        _ request: Request, _ video: VideoServer.Video, _ options: VideoServer.Options, _ input: inout [UInt8]
    ) throws -> VideoServer.Answer {
        let isRight =
            request.headers["Tus-Resumable"] == "1.0.0"
            && request.headers["Content-Type"] == "application/offset+octet-stream"
        guard isRight, let offset = request.headers["Upload-Offset"].flatMap({ Int($0) }) else {
            return try unknown(request, &input, status: 400)
        }
        guard server.lock(video.id) else { return try unknown(request, &input, status: 423) }
        defer { server.unlock(video.id) }
        guard offset == server.video(video.id)?.size, video.movie == nil else {
            return try unknown(request, &input, status: 409)
        }
        let named = request.headers["Upload-Length"].flatMap { Int($0) }
        guard let length = video.length ?? named, video.length == nil || named == nil else {
            return try unknown(request, &input, status: 400)
        }
        guard offset + request.length <= length else { return try unknown(request, &input, status: 413) }
        server.setLength(video.id, length)
        let part = server.partialFile(video.id)
        try receive(request, options, &input, into: part, at: offset) { server.setReceived(video.id, offset + $0) }
        if offset + request.length == length { server.stored(video.id, from: part, size: length, type: nil) }
        return VideoServer.Answer(
            status: 204, fields: [("Tus-Resumable", "1.0.0"), ("Upload-Offset", "\(offset + request.length)")])
    }

    private func receive(
        _ request: Request, _ options: VideoServer.Options, _ input: inout [UInt8], into path: String, at offset: Int,
        progress: (Int) -> Void
    ) throws {
        let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw Broken() }
        defer { close(file) }
        var position = offset
        try readBody(request, options, &input) { bytes in
            let count = bytes.withUnsafeBytes { pwrite(file, $0.baseAddress, $0.count, off_t(position)) }
            guard count == bytes.count else { throw Broken() }
            position += count
            progress(position - offset)
        }
    }

    // MARK: Reading

    private func readHead(_ input: inout [UInt8]) throws -> Request? {
        while true {
            if let head = try RequestHead(from: &input) {
                return Request(
                    method: head.method, path: String(head.target.prefix { $0 != "?" }), headers: head.headers,
                    length: head.headers["Content-Length"].flatMap { Int($0) } ?? 0, number: 0)
            }
            guard try receive(&input) else { return nil }
        }
    }

    /// Reads the body and passes it to `take` in pieces. If the request's fault is `dropBody`, reads only as
    /// many bytes as the fault states, and then throws.
    private func readBody(
        _ request: Request, _ options: VideoServer.Options, _ input: inout [UInt8],
        _ take: (ArraySlice<UInt8>) throws -> Void
    ) throws {
        var end = request.length
        if case .dropBody(let count)? = request.fault { end = min(end, count) }
        let start = ContinuousClock.now
        var done = 0
        while done < end {
            if input.isEmpty, try !receive(&input) { throw Broken() }
            let piece = input.prefix(end - done)
            try take(piece)
            done += piece.count
            input.removeFirst(piece.count)
            server.note(request.number) { $0.received = done }
            guard let rate = options.bytesPerSecond else { continue }
            let due = start.advanced(by: .seconds(Double(done) / Double(rate)))
            let left = ContinuousClock.now.duration(to: due)
            if left > .zero { usleep(UInt32(left / .microseconds(1))) }
        }
        if end < request.length { throw Broken() }
    }

    private func receive(_ input: inout [UInt8]) throws -> Bool {
        while true {
            var buffer = [UInt8](repeating: 0, count: 256 << 10)
            let count = recv(socket, &buffer, buffer.count, 0)
            if count > 0 { input += buffer[..<count] }
            if count >= 0 { return count > 0 }
            guard errno == EINTR else { throw Broken() }
        }
    }

    // MARK: Sending

    private func send(_ answer: VideoServer.Answer, _ request: Request) throws {
        server.note(request.number) { $0.status = answer.status }
        let length = answer.file?.range.count ?? answer.body.count
        var head = "HTTP/1.1 \(answer.status) Answer\r\n"
        for (name, value) in answer.fields { head += "\(name): \(value)\r\n" }
        if answer.status != 204 { head += "Content-Length: \(length)\r\n" }
        try send(Array("\(head)\r\n".utf8))
        if request.method == "HEAD" { return }
        try send(answer.body)
        guard let file = answer.file else { return }
        let descriptor = open(file.path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Broken() }
        defer { close(descriptor) }
        var position = file.range.lowerBound
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while position < file.range.upperBound {
            let count = pread(descriptor, &buffer, min(buffer.count, file.range.upperBound - position), off_t(position))
            guard count > 0 else { throw Broken() }
            try send(Array(buffer[..<count]))
            position += count
        }
    }

    private func send(_ bytes: [UInt8]) throws {
        guard bytes.withUnsafeBytes({ sendAll($0, to: socket) }) == bytes.count else { throw Broken() }
    }
}
