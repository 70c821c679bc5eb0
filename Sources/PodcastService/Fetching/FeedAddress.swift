internal import PodcastFeed

/// A parsed http or https address, as far as refreshing and search need it.
///
/// Requests use `text`, the address as written; comparison uses `key`.
package struct FeedAddress: Sendable, Hashable {
    /// The address as written.
    package let text: String
    /// Whether the scheme is https.
    package let isSecure: Bool
    /// The host in lower case, without a trailing dot; an IPv6 address is in brackets.
    package let host: String
    /// The explicit port, or the scheme's default.
    package let port: Int
    /// Whether there is a `user:password@` (RFC 3986 §3.2.1).
    package let hasUserInfo: Bool
    private let hasWrittenPort: Bool
    /// The key for comparisons: addresses with equal keys are the same feed. It consists of host, path and query,
    /// without scheme, user info, fragment, default port, and trailing slashes of the path.
    package let key: String

    /// Parses an address; `nil` for one that podfs never requests: another scheme, no host, an invalid port, white
    /// space, control or format characters, a backslash (which browsers treat as a slash and servers do not), more than
    /// 16 KiB.
    package init?(_ text: String) {
        guard text.utf8.count <= FeedLimits.standard.url else { return nil }
        guard text.unicodeScalars.allSatisfy(Self.isAllowed) else { return nil }
        // Servers read scalars: a delimiter before a combining character is a delimiter.
        let scalars = text.unicodeScalars
        guard let scheme = scalars.firstRange(of: "://".unicodeScalars) else { return nil }
        switch text[..<scheme.lowerBound].lowercased() {
        case "https": isSecure = true
        case "http": isSecure = false
        default: return nil
        }
        let rest = scalars[scheme.upperBound...].prefix { $0 != "#" }
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        let at = authority.lastIndex(of: "@")
        let hostPort = at.map { authority[authority.index(after: $0)...] } ?? authority
        guard let (host, written) = Self.hostAndPort(hostPort) else { return nil }
        let port = written ?? (isSecure ? 443 : 80)
        self.text = text
        self.host = host
        self.port = port
        hasUserInfo = at != nil
        hasWrittenPort = written != nil
        let isStandard = port == (isSecure ? 443 : 80)
        key = (isStandard ? host : "\(host):\(port)") + Self.comparable(rest[authority.endIndex...])
    }

    /// Returns the host of an address, for example to limit requests per host; for an invalid address the text itself.
    package static func host(of text: String) -> String { plainHost(of: text) ?? FeedAddress(text)?.host ?? text }

    /// Returns the host like `host(of:)`, but faster, since a refresh calls that function for a thousand shows at once;
    /// `nil` for an unusual address, which needs the full parser.
    private static func plainHost(of text: String) -> String? {
        var text = text
        return text.withUTF8 { bytes in
            guard bytes.count <= FeedLimits.standard.url else { return nil }
            let start: Int
            if bytes.starts(with: "https://".utf8) {
                start = 8
            } else if bytes.starts(with: "http://".utf8) {
                start = 7
            } else {
                return nil
            }
            var end = start
            while end < bytes.count, isPlain(bytes[end]) { end += 1 }
            guard end > start, bytes[end - 1] != UInt8(ascii: ".") else { return nil }
            var rest = end
            if rest < bytes.count, bytes[rest] == UInt8(ascii: ":") {
                var port = 0
                rest += 1
                while rest < bytes.count, (0x30...0x39).contains(bytes[rest]), port <= 65_535 {
                    port = port * 10 + Int(bytes[rest] - 0x30)
                    rest += 1
                }
                guard (1...65_535).contains(port) else { return nil }
            }
            if rest < bytes.count {
                guard "/?#".utf8.contains(bytes[rest]) else { return nil }
            }
            for byte in bytes[rest...] where byte <= 0x20 || byte >= 0x7F || byte == UInt8(ascii: "\\") { return nil }
            return String(decoding: bytes[start..<end], as: UTF8.self)
        }
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
            UInt8(ascii: "."), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// This address with the scheme https; `nil` for http with an explicit port, since a port serves one scheme only.
    package var secured: FeedAddress? {
        if isSecure { return self }
        guard !hasWrittenPort, let colon = text.firstIndex(of: ":") else { return nil }
        return FeedAddress("https" + text[colon...])
    }

    private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return scalar.value > 0x20 && scalar.value != 0x7F && scalar != "\\" }
        switch scalar.properties.generalCategory {
        // Format characters are invisible or change the reading direction.
        case .control, .format, .spaceSeparator, .lineSeparator, .paragraphSeparator, .surrogate: return false
        default: return true
        }
    }

    private static func hostAndPort(_ hostPort: Substring.UnicodeScalarView) -> (String, Int?)? {
        var host = hostPort
        var port: Int?
        let colon =
            hostPort.first == "["
            ? hostPort.lastIndex(of: "]").flatMap { hostPort[$0...].firstIndex(of: ":") } : hostPort.firstIndex(of: ":")
        if let colon {
            let digits = hostPort[hostPort.index(after: colon)...]
            host = hostPort[..<colon]
            // An empty port means the scheme's default (RFC 3986 §3.2.3).
            if !digits.isEmpty {
                guard digits.allSatisfy({ ("0"..."9").contains($0) }), let number = Int(String(digits)),
                    (1...65_535).contains(number)
                else { return nil }
                port = number
            }
        }
        if host.last == "." { host = host.dropLast() }
        let name = String(host).lowercased()
        let scalars = name.unicodeScalars
        let isBracketed = scalars.first == "[" && scalars.last == "]"
        let inner = isBracketed ? scalars.dropFirst().dropLast() : scalars[...]
        guard !inner.isEmpty,
            inner.allSatisfy({ !$0.isASCII || isInHost($0) || isBracketed && $0 == ":" })
        else { return nil }
        return (name, port)
    }

    /// Returns whether a scalar may be in a host: RFC 3986 §3.2.2, without the sub-delimiters, which occur in no host
    /// name on the web.
    private static func isInHost(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) || "-._~%".unicodeScalars.contains(scalar)
    }

    /// Returns path and query for `key`: percent escapes in upper case (RFC 3986 §6.2.2.1), no trailing slashes of the
    /// path, no empty query.
    private static func comparable(_ tail: Substring.UnicodeScalarView) -> String {
        let end = tail.firstIndex(of: "?") ?? tail.endIndex
        var path = tail[..<end]
        while path.last == "/" { path = path.dropLast() }
        let query = tail[end...].count > 1 ? String(tail[end...]) : ""
        var result: [UInt8] = []
        var escaped = 0
        for byte in (String(path) + query).utf8 {
            result.append(escaped > 0 && byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "f") ? byte & 0xDF : byte)
            escaped = byte == UInt8(ascii: "%") ? 2 : max(0, escaped - 1)
        }
        return String(decoding: result, as: UTF8.self)
    }
}
