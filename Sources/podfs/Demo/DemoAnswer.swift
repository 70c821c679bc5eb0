import FlyingFox

/// Responses to GET and HEAD requests for one resource, with conditional requests and ranges (RFC 9110 §13, §14).
struct DemoAnswer: Sendable {
    /// The size in bytes.
    let size: Int
    let contentType: String
    /// A strong entity tag, with its quotes.
    let tag: String

    /// Returns the response. `body` returns the bytes of a range; it is called only if they are sent.
    func response(
        to request: HTTPRequest, body: (Range<Int>) async -> HTTPBodySequence
    ) async -> HTTPResponse {
        var headers: HTTPHeaders = [.eTag: tag, .acceptRanges: "bytes"]
        if let field = request.headers[.ifNoneMatch], matches(field) {
            return HTTPResponse(statusCode: .notModified, headers: headers)
        }
        headers[.contentType] = contentType
        guard request.method == .GET else {
            headers[.contentLength] = String(size)
            return HTTPResponse(statusCode: .ok, headers: headers)
        }
        let isCurrent = request.headers[HTTPHeader("If-Range")].map { $0 == tag } ?? true
        guard isCurrent, let field = request.headers[.range], let asked = DemoRange(field) else {
            return HTTPResponse(statusCode: .ok, headers: headers, body: await body(0..<size))
        }
        guard let range = asked.resolved(size: size) else {
            headers[.contentRange] = "bytes */\(size)"
            headers[.contentType] = nil
            return HTTPResponse(statusCode: .rangeNotSatisfiable, headers: headers)
        }
        headers[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)"
        return HTTPResponse(statusCode: .partialContent, headers: headers, body: await body(range))
    }

    /// Returns whether the value of If-None-Match contains the entity tag, by weak comparison (RFC 9110 §13.1.2).
    private func matches(_ field: String) -> Bool {
        field.split(separator: ",").contains { candidate in
            let candidate = candidate.drop { $0 == " " }
            return candidate == "*" || candidate == tag || candidate == "W/\(tag)"
        }
    }
}

/// The byte range of a Range header field. A field with several ranges is ignored, which RFC 9110 §14.2 allows.
private enum DemoRange {
    case closed(Int, Int)
    case from(Int)
    case suffix(Int)

    /// Parses the field's value; `nil` if it is malformed, has several ranges, or has a unit other than bytes.
    init?(_ field: String) {
        guard field.hasPrefix("bytes=") else { return nil }
        let parts = field.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        switch (Int(parts[0]), Int(parts[1])) {
        case (let first?, let last?) where first <= last: self = .closed(first, last)
        case (let first?, nil) where parts[1].isEmpty: self = .from(first)
        case (nil, let count?) where parts[0].isEmpty: self = .suffix(count)
        default: return nil
        }
    }

    /// Returns the range in a resource of this size; `nil` if it is not satisfiable.
    func resolved(size: Int) -> Range<Int>? {
        switch self {
        case .closed(let first, let last): first < size ? first..<min(last, size - 1) + 1 : nil
        case .from(let first): first < size ? first..<size : nil
        case .suffix(let count): count > 0 && size > 0 ? max(0, size - count)..<size : nil
        }
    }
}
