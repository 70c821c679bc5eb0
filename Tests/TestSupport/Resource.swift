/// The resource at a path of the test server: a representation and its metadata (RFC 9110 §3.2).
package struct Resource: Sendable {
    package enum Body: Sendable {
        case bytes([UInt8])
        case generated(TestContent)

        package var size: Int {
            switch self {
            case .bytes(let bytes): bytes.count
            case .generated(let content): content.size
            }
        }

        package func bytes(in range: Range<Int>) -> [UInt8] {
            switch self {
            case .bytes(let bytes): Array(bytes[range.clamped(to: 0..<bytes.count)])
            case .generated(let content): content.bytes(in: range)
            }
        }
    }

    package var body: Body
    package var contentType: String?
    /// The entity tag with its quotes, such as `"v1"` or `W/"v1"`.
    package var etag: String?
    /// An IMF-fixdate, such as `Sun, 06 Nov 1994 08:49:37 GMT`.
    package var lastModified: String?
    /// Whether Range is supported. If not, a range request gets the whole content with 200.
    package var supportsRanges: Bool
    /// Whether responses have Content-Length. If not, the end of the connection ends the body.
    package var sendsLength: Bool
    /// Further fields of every response, such as Cache-Control. A Date here replaces the server's own.
    package var headers: [(String, String)]

    package init(
        body: Body, contentType: String? = "audio/mpeg", etag: String? = nil, lastModified: String? = nil,
        supportsRanges: Bool = true, sendsLength: Bool = true, headers: [(String, String)] = []
    ) {
        self.body = body
        self.contentType = contentType
        self.etag = etag
        self.lastModified = lastModified
        self.supportsRanges = supportsRanges
        self.sendsLength = sendsLength
        self.headers = headers
    }

    package init(
        _ content: TestContent, contentType: String? = "audio/mpeg", etag: String? = nil,
        lastModified: String? = nil, supportsRanges: Bool = true, sendsLength: Bool = true,
        headers: [(String, String)] = []
    ) {
        self.init(
            body: .generated(content), contentType: contentType, etag: etag, lastModified: lastModified,
            supportsRanges: supportsRanges, sendsLength: sendsLength, headers: headers)
    }

    package init(
        text: String, contentType: String? = "text/plain; charset=utf-8", etag: String? = nil,
        lastModified: String? = nil, headers: [(String, String)] = []
    ) {
        self.init(
            body: .bytes(Array(text.utf8)), contentType: contentType, etag: etag, lastModified: lastModified,
            headers: headers)
    }

    package init(bytes: [UInt8], contentType: String? = "application/octet-stream", etag: String? = nil) {
        self.init(body: .bytes(bytes), contentType: contentType, etag: etag)
    }
}
