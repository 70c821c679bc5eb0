import Foundation

/// The response to one request, decided before a `Connection` sends the first byte.
struct ResponsePlan: Sendable {
    var status: Int
    var head: [UInt8]
    /// The source of the body's bytes, and the range to send from it.
    var body: Resource.Body
    var range: Range<Int>
    var isChunked: Bool
    var closesConnection: Bool
    var behaviour: Behaviour

    init(for request: RequestInfo, from base: Resource?, as behaviour: Behaviour, keepsAlive: Bool) {
        self.behaviour = behaviour
        let resource = behaviour.resource ?? base
        var headers = HeaderFields()
        headers.append("Server", "podfs-test")
        headers.append("Date", Self.dateFormat.string(from: Date()))

        var framing = behaviour.framing
        if let status = behaviour.status {
            self.status = status
            body = .bytes(behaviour.body ?? [])
            range = 0..<body.size
            if !body.isEmpty { headers.append("Content-Type", "text/plain; charset=utf-8") }
        } else if let resource {
            let answer = Self.answer(to: request, with: resource, ignoringRange: behaviour.ignoresRange)
            status = answer.status
            body = resource.body
            range = answer.range
            Self.describe(resource, answer, total: behaviour.contentRangeTotal, in: &headers)
            if framing == nil && !resource.sendsLength { framing = .closeDelimited }
        } else {
            status = 404
            body = .bytes(Array("nothing here\n".utf8))
            range = 0..<body.size
            headers.append("Content-Type", "text/plain; charset=utf-8")
        }

        isChunked = framing == .chunked
        closesConnection = !keepsAlive
        // 1xx, 204 and 304 have no body and no length (RFC 9110 §6.4.1, §8.6).
        let hasNoBody = status < 200 || status == 204 || status == 304
        if hasNoBody {
            range = 0..<0
            isChunked = false
        } else {
            switch framing ?? .length {
            case .length:
                headers.append("Content-Length", String(range.count))
            case .declared(let text):
                headers.append("Content-Length", text)
                closesConnection = true
            case .chunked:
                headers.append("Transfer-Encoding", "chunked")
            case .closeDelimited:
                closesConnection = true
            }
        }
        if closesConnection { headers.append("Connection", "close") }
        for (name, value) in resource?.headers ?? [] { headers.replace(name, value) }
        for (name, value) in behaviour.headers { headers.replace(name, value) }
        for name in behaviour.removedHeaders { headers.remove(name) }

        var text = "HTTP/1.1 \(status) Answer\r\n"
        for field in headers.fields { text += "\(field.name): \(field.value)\r\n" }
        head = Array((text + "\r\n").utf8)
        if let lines = behaviour.rawHead {
            head = Array((lines + ["", ""]).joined(separator: "\r\n").utf8)
            closesConnection = true
        }
        if request.method == "HEAD" {
            range = 0..<0
            isChunked = false
        }
    }

    // MARK: Preconditions and ranges

    private struct Answer {
        var status: Int
        var range: Range<Int>
    }

    /// Evaluates preconditions (RFC 9110 §13.2.2): If-None-Match, else If-Modified-Since, then Range with If-Range.
    private static func answer(to request: RequestInfo, with resource: Resource, ignoringRange: Bool) -> Answer {
        let size = resource.body.size
        let isRetrieval = request.method == "GET" || request.method == "HEAD"
        if let field = request.headers["If-None-Match"] {
            if isRetrieval, Self.matchesWeakly(resource.etag, field) { return Answer(status: 304, range: 0..<0) }
        } else if isRetrieval, let field = request.headers["If-Modified-Since"], let modified = resource.lastModified,
            let since = Self.dateFormat.date(from: field), let date = Self.dateFormat.date(from: modified),
            date <= since
        {
            return Answer(status: 304, range: 0..<0)
        }
        guard request.method == "GET", let range = request.range, resource.supportsRanges, !ignoringRange,
            Self.ifRangeHolds(request.headers["If-Range"], resource)
        else { return Answer(status: 200, range: 0..<size) }
        guard let resolved = range.resolved(size: size) else { return Answer(status: 416, range: 0..<0) }
        return Answer(status: 206, range: resolved)
    }

    /// Whether a tag of the list equals `etag` by weak comparison, or the list is `*` (RFC 9110 §13.1.2).
    private static func matchesWeakly(_ etag: String?, _ list: String) -> Bool {
        if list.trimmingCharacters(in: .whitespaces) == "*" { return true }
        guard let etag else { return false }
        func opaque(_ tag: some StringProtocol) -> String {
            let tag = tag.trimmingCharacters(in: .whitespaces)
            return tag.hasPrefix("W/") ? String(tag.dropFirst(2)) : tag
        }
        return list.split(separator: ",").contains { opaque($0) == opaque(etag) }
    }

    /// Whether If-Range is absent, equals the tag by strong comparison, or equals the date (RFC 9110 §13.1.5).
    private static func ifRangeHolds(_ field: String?, _ resource: Resource) -> Bool {
        guard let field else { return true }
        if field.hasPrefix("\"") { return field == resource.etag }
        if field.hasPrefix("W/") { return false }
        return field == resource.lastModified
    }

    private static func describe(
        _ resource: Resource, _ answer: Answer, total: String?, in headers: inout HeaderFields
    ) {
        if let etag = resource.etag { headers.append("ETag", etag) }
        if let lastModified = resource.lastModified { headers.append("Last-Modified", lastModified) }
        if resource.supportsRanges { headers.append("Accept-Ranges", "bytes") }
        let total = total ?? String(resource.body.size)
        switch answer.status {
        case 206:
            headers.append("Content-Range", "bytes \(answer.range.lowerBound)-\(answer.range.upperBound - 1)/\(total)")
        case 416:
            headers.append("Content-Range", "bytes */\(total)")
        default:
            break
        }
        if answer.status == 200 || answer.status == 206, let type = resource.contentType {
            headers.append("Content-Type", type)
        }
    }

    // MARK: Words

    /// IMF-fixdate (RFC 9110 §5.6.7).
    private static var dateFormat: DateFormatter {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(identifier: "GMT")
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return format
    }
}

extension Resource.Body {
    fileprivate var isEmpty: Bool { size == 0 }
}
