import Foundation
import Synchronization

// The server's videos, and the responses that describe them.
extension VideoServer {
    struct Answer {
        var status: Int
        var fields: [(String, String)] = []
        var body: [UInt8] = []
        /// The file, and the range of its bytes, to send instead of `body`.
        var file: (path: String, range: Range<Int>)?
    }

    func post(_ body: [UInt8], _ headers: HeaderFields) -> Answer {
        guard let fields = Self.form(body, headers["Content-Type"] ?? ""), let title = fields["title"] else {
            return Answer(status: 400)
        }
        return state.withLock { state in
            let key = headers["Idempotency-Key"]
            if state.options.heedsKeys, let key, let known = state.keys[key] { return Self.made(known, state.options) }
            let id = state.videos.count + 1
            state.videos.append(
                Video(
                    id: id, title: String(decoding: title, as: UTF8.self),
                    description: fields["description"].map { String(decoding: $0, as: UTF8.self) },
                    thumbnail: fields["thumbnail"]))
            if let key { state.keys[key] = id }
            return Self.made(id, state.options)
        }
    }

    private static func made(_ id: Int, _ options: Options) -> Answer {
        var answer = Answer(status: 303, fields: [("Location", "/videos/\(id)/movie")])
        if options.namesKeys { answer.fields.append(("Idempotency-Key", "?1")) }
        return answer
    }

    func list() -> Answer {
        let (videos, options) = state.withLock { ($0.videos, $0.options) }
        guard options.lists else { return Answer(status: 404) }
        let value: Any =
            switch options.listing {
            case .array: Self.entries(videos)
            case .object: ["videos": Self.entries(videos)]
            case .jsonFeed: feed(videos)
            }
        let body = (try? JSONSerialization.data(withJSONObject: value, options: [.sortedKeys])) ?? Data()
        let type = options.listing == .jsonFeed ? "application/feed+json" : "application/json"
        var answer = Answer(status: 200, fields: [("Content-Type", type)], body: Array(body))
        if options.namesKeys { answer.fields.append(("Idempotency-Key", "?1")) }
        return answer
    }

    private static func created(_ video: Video) -> String { "2026-11-20T10:00:0\(video.id % 10)Z" }

    private static func entries(_ videos: [Video]) -> [[String: Any]] {
        videos.map { video in
            var entry: [String: Any] = [
                "id": video.id, "title": video.title, "movie": "/videos/\(video.id)/movie",
                "created": created(video),
            ]
            entry["description"] = video.description
            if video.thumbnail != nil { entry["thumbnail"] = "/videos/\(video.id)/thumbnail" }
            if video.movie != nil { entry["size"] = video.size }
            entry["type"] = video.type
            return entry
        }
    }

    private func feed(_ videos: [Video]) -> [String: Any] {
        let items: [[String: Any]] = videos.map { video in
            var attachment: [String: Any] = [
                "url": url("/videos/\(video.id)/movie"), "mime_type": video.type ?? "video/mp4",
            ]
            if video.movie != nil { attachment["size_in_bytes"] = video.size }
            return [
                "id": "\(video.id)", "title": video.title, "content_text": video.description ?? "",
                "date_published": Self.created(video), "attachments": [attachment],
            ]
        }
        return ["version": "https://jsonfeed.org/version/1.1", "title": "Videos", "items": items]
    }

    func video(_ id: Int) -> Video? { videos.first { $0.id == id } }

    /// Returns the path of an incomplete upload.
    func partialFile(_ id: Int) -> String { folder.file("\(id).part") }

    func get(_ video: Video, _ headers: HeaderFields) -> Answer {
        guard let movie = video.movie else { return Answer(status: 404) }
        var answer = Answer(
            status: 200,
            fields: [
                ("Content-Type", video.type ?? "application/octet-stream"), ("Accept-Ranges", "bytes"),
                ("ETag", "\"\(video.id)-\(video.timesStored)\""),
            ])
        var range = 0..<video.size
        if let asked = headers["Range"].flatMap(RequestedRange.init) {
            guard let found = asked.resolved(size: video.size) else {
                return Answer(status: 416, fields: [("Content-Range", "bytes */\(video.size)")])
            }
            range = found
            answer.status = 206
            answer.fields.append(("Content-Range", "bytes \(found.lowerBound)-\(found.upperBound - 1)/\(video.size)"))
        }
        answer.file = (movie, range)
        return answer
    }

    /// Moves a video's complete media file to its final path, and records the path, the size and the type.
    func stored(_ id: Int, from part: String, size: Int, type: String?) {
        let movie = folder.file("\(id).movie")
        guard rename(part, movie) == 0 else { return }
        state.withLock { state in
            guard let index = state.videos.firstIndex(where: { $0.id == id }) else { return }
            state.videos[index].movie = movie
            state.videos[index].size = size
            state.videos[index].type = type
            state.videos[index].timesStored += 1
        }
    }

    /// Locks a video's media; returns `false` if another request holds the lock.
    func lock(_ id: Int) -> Bool {
        state.withLock { state in
            guard let index = state.videos.firstIndex(where: { $0.id == id }), !state.videos[index].isLocked else {
                return false
            }
            state.videos[index].isLocked = true
            return true
        }
    }

    func unlock(_ id: Int) {
        state.withLock { state in
            if let index = state.videos.firstIndex(where: { $0.id == id }) { state.videos[index].isLocked = false }
        }
    }

    func setLength(_ id: Int, _ length: Int) {
        state.withLock { state in
            if let index = state.videos.firstIndex(where: { $0.id == id }) { state.videos[index].length = length }
        }
    }

    func setReceived(_ id: Int, _ size: Int) {
        state.withLock { state in
            if let index = state.videos.firstIndex(where: { $0.id == id }) { state.videos[index].size = size }
        }
    }

    // MARK: multipart/form-data (RFC 7578)

    private static func form(_ body: [UInt8], _ type: String) -> [String: [UInt8]]? {
        guard type.hasPrefix("multipart/form-data"), let place = type.firstRange(of: "boundary=") else { return nil }
        let boundary = Array("--\(type[place.upperBound...])".utf8)
        var fields: [String: [UInt8]] = [:]
        var rest = body[...]
        guard let first = rest.firstRange(of: boundary) else { return nil }
        rest = rest[first.upperBound...]
        while let next = rest.firstRange(of: [0x0D, 0x0A] + boundary) {
            let part = rest[..<next.lowerBound]
            rest = rest[next.upperBound...]
            guard let end = part.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
            let head = String(decoding: part[..<end.lowerBound], as: UTF8.self)
            guard let name = head.firstRange(of: "name=\"") else { return nil }
            fields[String(head[name.upperBound...].prefix { $0 != "\"" })] = Array(part[end.upperBound...])
        }
        return fields
    }
}
