internal import Platform

/// The head of an HTTP response: its status and header fields.
package struct ResponseHead: Sendable, Equatable {
    package var status: Int
    /// The fields by lower-case name. If a field is repeated, its last line counts, except for the fields in `lists`,
    /// whose lines are joined by commas (RFC 9110 §5.3).
    package var fields: [String: String] = [:]
    /// The URL of the response, after redirects.
    package var url: String?
    /// The address space (public, local or loopback) of the server that sent the response; `nil` if no request was
    /// checked. If only an exception permitted the server, this is the limit that applied, which is less private.
    package var space: AddressSpace?
    /// The value of `space` for the server to which the first request was sent, before redirects.
    package var firstSpace: AddressSpace?
    /// The redirects in order, each with its status and the URL that answered with it.
    package var redirects: [Redirect] = []

    /// One redirect.
    package struct Redirect: Sendable, Equatable {
        package var status: Int
        package var url: String
    }

    /// The fields whose lines are joined: lists, and fields for which different lines make the response invalid.
    package static let lists: Set<String> = [
        "cache-control", "content-encoding", "content-length", "content-range", "transfer-encoding",
    ]

    /// Returns the value of a field by its lower-case name.
    package subscript(name: String) -> String? { fields[name] }

    /// The framing of the body.
    package var framing: BodyFraming {
        BodyFraming(length: fields["content-length"], coding: fields["transfer-encoding"])
    }

    /// The length of the body in bytes, if its framing states it.
    package var contentLength: Int64? {
        guard case .length(let value) = framing else { return nil }
        return value
    }

    /// Whether the head announces a body where none is allowed (RFC 9112 §6.3). If the server sends that body, it would
    /// be parsed as the head of the next response on the connection. The Content-Length of a 304 announces no body: it
    /// may be the length of the file (RFC 9110 §8.6).
    package var announcesStrayBody: Bool {
        guard status == 204 || status == 304 else { return false }
        return fields["transfer-encoding"] != nil || status == 204 && fields["content-length"] ?? "0" != "0"
    }

    /// The media type without parameters, in lower case.
    package var mediaType: String? { fields["content-type"].flatMap { MIMEType.essence(of: $0.utf8) } }

    /// The registered (IANA, HTTP Content Coding Registry) and other common values of Content-Encoding: the bytes of
    /// the body are then not the file's. `nil` if there are none. Values that servers send by mistake, such as
    /// character sets, `binary`, and the `aws-chunked` left by an uploader, are ignored, as browsers do.
    package var contentCoding: String? {
        let codings = BodyFraming.items(fields["content-encoding"] ?? "").filter {
            Self.codings.contains($0.lowercased())
        }
        return codings.isEmpty ? nil : codings.joined(separator: ", ")
    }

    private static let codings: Set<String> = [
        "aes128gcm", "br", "bzip2", "compress", "dcb", "dcz", "deflate", "exi", "gzip", "lzma", "pack200-gzip", "sdch",
        "x-bzip2", "x-compress", "x-gzip", "xz", "zstd",
    ]

    /// The degree to which the header fields indicate that the body is not media.
    package enum Doubt: Int, Sendable, Comparable {
        /// No indication.
        case none
        /// `text/plain` and the like, which servers send for unknown suffixes.
        case some
        /// A page or program data.
        case strong

        package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
    }

    /// The degree to which Content-Type indicates that the body is not media.
    package var doubt: Doubt {
        guard let type = mediaType else { return .none }
        if type == "text/html" || type == "text/xml" || type == "text/json" { return .strong }
        if type.hasPrefix("text/") { return .some }
        guard type.hasPrefix("application/") else { return .none }
        let isData = ["/json", "+json", "/xml", "+xml"].contains { type.hasSuffix($0) }
        return isData ? .strong : .none
    }

    /// The delay that Retry-After asks for. If the field is a date, the delay is computed from the response's own Date.
    package var retryAfter: Duration? {
        guard let text = fields["retry-after"] else { return nil }
        if let seconds = Int64(digits: text) { return .seconds(seconds) }
        guard let moment = HTTPDate.seconds(text), let now = fields["date"].flatMap(HTTPDate.seconds) else {
            return nil
        }
        return .seconds(max(0, moment - now))
    }

    /// The Content-Range of a 206 or 416 (RFC 9110 §14.4). If the field is repeated with the same value, that value
    /// counts. `nil` if the values differ, or if the field is malformed or absent.
    package var contentRange: ContentRange? {
        let found = contentRanges
        guard let first = found.first, found.allSatisfy({ $0 == first }) else { return nil }
        return first
    }

    private var contentRanges: [ContentRange?] {
        (fields["content-range"] ?? "").split(separator: ",").map { ContentRange(text: String($0)) }
    }

    /// Whether Content-Range says that the body is only a part of the file. For responses with status 200: the field
    /// has no meaning with that status (RFC 9110 §14.4), but a part must not be stored as the whole. A malformed field
    /// is ignored, and so is one that covers the whole file, unless Content-Length is smaller than the file.
    package var isPartInDisguise: Bool {
        contentRanges.contains { content in
            guard let content else { return false }
            guard let total = content.total, content.range ?? 0..<total == 0..<total else { return true }
            return contentLength.map { $0 < total } ?? false
        }
    }
}

extension ResponseHead {
    /// Parses the lines of a head. Lines that are no fields, such as the first one, are ignored.
    ///
    /// A malformed field that determines where the body ends (Content-Length, Transfer-Encoding) makes the framing
    /// invalid: curl may parse it differently from podfs, and then treat a part of the body as the whole, or the sizes
    /// between chunks as content. A field is malformed if a blank precedes its colon, or if it continues on another
    /// line (RFC 9112 §5.1, §5.2).
    init(status: Int, lines: [UInt8]) {
        self.init(status: status)
        func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || (0x09...0x0D).contains(byte) }
        func text(_ bytes: ArraySlice<UInt8>) -> String {
            let start = bytes.drop(while: isBlank)
            let end = start.lastIndex { !isBlank($0) }.map { $0 + 1 } ?? start.startIndex
            return String(decoding: start[..<end], as: UTF8.self)
        }
        var last: String?
        for line in lines.split(separator: UInt8(ascii: "\n")) where line.first != UInt8(ascii: "\r") {
            if isBlank(line[line.startIndex]) {
                guard let name = last else { continue }
                fields[name, default: ""] += Self.framing.contains(name) ? ", malformed" : " " + text(line)
                continue
            }
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { continue }
            let name = text(line[..<colon]).lowercased()
            let isMalformed = Self.framing.contains(name) && isBlank(line[colon - 1])
            let value = isMalformed ? "malformed" : text(line[(colon + 1)...])
            if let before = fields.updateValue(value, forKey: name), Self.lists.contains(name) {
                fields[name] = before + ", " + value
            }
            last = name
        }
    }

    private static let framing: Set<String> = ["content-length", "transfer-encoding"]
}

/// A Content-Range: `bytes 0-99/1000`, `bytes 0-99/*` or `bytes */1000`.
package struct ContentRange: Sendable, Equatable {
    /// The bytes in the body; `nil` in `bytes */1000`.
    package var range: Range<Int64>?
    /// The size of the file; `nil` if unknown (`*`).
    package var total: Int64?
}

extension ContentRange {
    /// Parses a Content-Range field (RFC 9110 §14.4); `nil` if it is malformed.
    init?(text: String) {
        self.init()
        let parts = text.split(separator: " ")
        guard parts.count == 2, parts[0].lowercased() == "bytes" else { return nil }
        let halves = parts[1].split(separator: "/", omittingEmptySubsequences: false)
        guard halves.count == 2 else { return nil }
        if halves[1] != "*" {
            guard let value = Int64(digits: halves[1]), value <= BodyFraming.largestSize else { return nil }
            total = value
        }
        if halves[0] == "*" {
            guard total != nil else { return nil }
            return
        }
        let ends = halves[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Int64(digits: ends[0]), let last = Int64(digits: ends[1]), last >= first,
            last < BodyFraming.largestSize
        else { return nil }
        range = first..<(last + 1)
        if let total, last >= total { return nil }
    }
}

extension Int64 {
    /// Parses decimal digits without a sign or spaces (HTTP's `1*DIGIT`); `nil` for other text and for overflow.
    init?(digits text: some StringProtocol) {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        self.init(text)
    }
}

/// The dates of HTTP header fields (RFC 9110 §5.6.7).
package enum HTTPDate {
    /// Parses an IMF-fixdate, `Sun, 06 Nov 1994 08:49:37 GMT`, and returns its seconds since 1970 UTC. Servers may send
    /// no other form today. Returns `nil` for other text, so that an unreadable date is not used as a validator.
    package static func seconds(_ text: String) -> Int64? {
        let parts = text.split(separator: " ")
        guard parts.count == 6, parts[0].hasSuffix(","), parts[5] == "GMT",
            let day = Int64(digits: parts[1]), let month = GregorianDay.monthNames.firstIndex(of: String(parts[2])),
            let year = Int64(digits: parts[3]), year >= 1970,
            let date = GregorianDay(year: Int(year), month: month + 1, day: Int(day))
        else { return nil }
        let time = parts[4].split(separator: ":", omittingEmptySubsequences: false)
        guard time.count == 3, let hour = Int64(digits: time[0]), let minute = Int64(digits: time[1]),
            let second = Int64(digits: time[2]), hour < 24, minute < 60, second <= 60
        else { return nil }
        return date.number * 86_400 + hour * 3_600 + minute * 60 + second
    }
}
