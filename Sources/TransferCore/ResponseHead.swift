/// The head of an HTTP answer: its status and header fields.
package struct ResponseHead: Sendable, Equatable {
    package var status: Int
    /// By lower-case name. Of a field that is repeated the last line stands, but for those that are lists (RFC 9110
    /// §5.3), whose lines are joined by commas.
    package var fields: [String: String]
    /// Where the answer came from, after redirects.
    package var url: String?
    /// The redirects on the way, in order: what was answered, and which address it was.
    package var redirects: [Redirect] = []

    package struct Redirect: Sendable, Equatable {
        package var status: Int
        package var url: String

        package init(status: Int, url: String) {
            self.status = status
            self.url = url
        }
    }

    package init(status: Int, fields: [String: String] = [:], url: String? = nil) {
        self.status = status
        self.fields = fields
        self.url = url
    }

    /// The fields that podfs reads and that a server may spread over several lines.
    package static let lists: Set<String> = ["cache-control"]

    /// The value of a field by its lower-case name.
    package subscript(name: String) -> String? { fields[name] }

    /// Content-Length; `nil` when absent, no number or beyond what a file can be.
    package var contentLength: Int64? {
        guard let text = fields["content-length"], let value = Int64(digits: text), value <= Self.largestSize
        else { return nil }
        return value
    }

    /// Whether there is a Content-Length that only begins as a number: curl takes the digits, and the body would end
    /// there. (One without a digit at its beginning is no HTTP to curl.)
    package var hasMalformedLength: Bool {
        guard let text = fields["content-length"] else { return false }
        let digits = text.utf8.prefix { (0x30...0x39).contains($0) }
        return !digits.isEmpty && digits.count < text.utf8.count
    }

    /// 16 TiB, the largest file of ext4: a greater claim is no size.
    static let largestSize: Int64 = 1 << 44

    /// The media type without parameters, in lower case.
    package var mediaType: String? {
        guard let value = fields["content-type"] else { return nil }
        let type = value.prefix { $0 != ";" }.filter { $0 != " " }.lowercased()
        return type.isEmpty ? nil : type
    }

    /// Whether the body is coded (gzip and the like), so that its bytes are not the file's.
    package var isEncoded: Bool {
        guard let coding = fields["content-encoding"]?.lowercased() else { return false }
        return coding != "identity" && !coding.isEmpty
    }

    /// Retry-After in seconds: a number, or a date measured against the answer's own Date.
    package var retryAfter: Int64? {
        guard let text = fields["retry-after"] else { return nil }
        if let seconds = Int64(digits: text) { return seconds }
        guard let moment = HTTPDate.seconds(text), let now = fields["date"].flatMap(HTTPDate.seconds) else {
            return nil
        }
        return max(0, moment - now)
    }

    /// Content-Range of a 206 or 416 (RFC 9110 §14.4).
    package var contentRange: ContentRange? { fields["content-range"].flatMap(ContentRange.init(text:)) }
}

/// A Content-Range: `bytes 0-99/1000`, `bytes 0-99/*` or `bytes */1000`.
package struct ContentRange: Sendable, Equatable {
    package var range: Range<Int64>?
    package var total: Int64?

    package init(range: Range<Int64>?, total: Int64?) {
        self.range = range
        self.total = total
    }

    package init?(text: String) {
        let parts = text.split(separator: " ")
        guard parts.count == 2, parts[0].lowercased() == "bytes" else { return nil }
        let halves = parts[1].split(separator: "/", omittingEmptySubsequences: false)
        guard halves.count == 2 else { return nil }
        if halves[1] != "*" {
            guard let value = Int64(digits: halves[1]), value <= ResponseHead.largestSize else { return nil }
            total = value
        }
        if halves[0] == "*" {
            guard total != nil else { return nil }
            return
        }
        let ends = halves[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Int64(digits: ends[0]), let last = Int64(digits: ends[1]), last >= first,
            last < ResponseHead.largestSize
        else { return nil }
        range = first..<(last + 1)
        if let total, last >= total { return nil }
    }
}
