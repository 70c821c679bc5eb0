internal import CCurl

/// An http or https address, parsed by libcurl's URL API: the parser of the library that connects.
///
/// Two parsers of one address are a security hole: what one takes for the host, the other takes for a user name. So
/// whatever compares, joins, groups or shows addresses uses this type, and an address that browsers and libcurl read
/// differently is refused instead of repaired (`Problem`). Requests send `text`, the address as written.
package struct WebAddress: Sendable, Hashable {
    /// The address as written.
    package let text: String
    package let isSecure: Bool
    /// The host in lower case, without a trailing dot. An IPv6 address is in brackets, and an IPv4 address in the form
    /// with four decimal numbers, whatever form was written.
    package let host: String
    /// The explicit port, or the scheme's default.
    package let port: Int
    private let parts: Parts

    /// The reason why an address is refused. `description` completes "an address that …".
    package enum Problem: String, Error, CustomStringConvertible {
        case scheme = "is not http or https"
        case length = "is longer than 16 KiB"
        case control = "contains a space or a control character"
        case backslash = "contains a backslash, which some programs read as a slash"
        case at = "contains several @: in a user name or password, write %40"
        case userInfo = "contains characters that a user name or password must write as %XX"
        case host = "has no valid host"
        case port = "has no valid port"

        package var description: String { rawValue }
    }

    /// The maximum length in bytes.
    package static let longest = 16_384

    /// Offsets into the UTF-8 of an address.
    private struct Parts: Hashable {
        /// The start of the authority (RFC 3986 §3.2), after the scheme and `://`.
        var authority = 0
        /// The start of the host, after the user info and its `@`.
        var host = 0
        /// The end of the authority.
        var end = 0
        /// The colon of the port, or `end`.
        var colon = 0
    }

    /// Parses an address, or throws the reason why it is refused.
    package init(_ text: String) throws(Problem) {
        parts = try Self.scan(text)
        guard let url = CurlURL(text), let host = url[CURLUPART_HOST], let port = url.port else { throw .host }
        self.text = text
        isSecure = url[CURLUPART_SCHEME] == "https"
        self.host = Self.comparable(host: host)
        self.port = port
    }

    /// Returns the reason why an address is refused, without parsing its host and port; `nil` if there is none. For
    /// feeds with thousands of addresses that are only stored.
    package static func problem(with text: String) -> Problem? {
        do {
            _ = try scan(text)
            return nil
        } catch {
            return error
        }
    }

    /// Whether podfs may request an address.
    package static func isValid(_ text: String) -> Bool { problem(with: text) == nil }

    // MARK: Parts

    /// Scheme, host and port (RFC 6454 §4): `https://host:port`, always with the port.
    package var origin: String { "\(isSecure ? "https" : "http")://\(host):\(port)" }

    /// The host, with the port unless it is the scheme's default.
    package var hostAndPort: String { port == (isSecure ? 443 : 80) ? host : "\(host):\(port)" }

    package var hasUserInfo: Bool { parts.host > parts.authority }

    /// The user name and the password of the user info, unescaped; `nil` without user info.
    package var userInfo: (user: String, password: String)? {
        guard hasUserInfo, let url = CurlURL(text) else { return nil }
        return (url.unescaped(CURLUPART_USER), url.unescaped(CURLUPART_PASSWORD))
    }

    /// The address without its user info.
    package var withoutUserInfo: String {
        hasUserInfo ? Self.utf8(text, 0..<parts.authority) + Self.utf8(text, parts.host..<text.utf8.count) : text
    }

    /// The address with this user info instead of its own.
    package func with(user: String, password: String) -> String {
        let rest = Self.utf8(text, parts.host..<text.utf8.count)
        let secret = password.isEmpty ? "" : ":" + password.percentEncoded
        return "\(Self.utf8(text, 0..<parts.authority))\(user.percentEncoded)\(secret)@\(rest)"
    }

    /// The path as written, without query and fragment; empty or beginning with a slash.
    package var path: Substring { tail.prefix { $0 != "?" } }

    /// The query as written, without its question mark.
    package var query: Substring { tail[path.endIndex...].dropFirst() }

    /// Path and query. Delimiters are compared as bytes: one before a combining character is a delimiter.
    private var tail: Substring {
        let utf8 = text.utf8
        let start = utf8.index(utf8.startIndex, offsetBy: parts.end)
        return Substring(utf8[start...].prefix { $0 != UInt8(ascii: "#") })
    }

    /// The key for comparisons: addresses with equal keys are the same resource. It consists of host, path and query,
    /// without scheme, user info, fragment, default port, and trailing slashes of the path.
    package var key: String {
        var path = Array(self.path.utf8)
        while path.last == UInt8(ascii: "/") { path.removeLast() }
        if !query.isEmpty { path += [UInt8(ascii: "?")] + query.utf8 }
        // Percent escapes in upper case (RFC 3986 §6.2.2.1).
        var escaped = 0
        for (index, byte) in path.enumerated() {
            if escaped > 0, (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte) { path[index] = byte & 0xDF }
            escaped = byte == UInt8(ascii: "%") ? 2 : max(0, escaped - 1)
        }
        return hostAndPort + String(decoding: path, as: UTF8.self)
    }

    /// This address with the scheme https; `nil` for http with an explicit port, since a port serves one scheme only.
    package var secured: WebAddress? {
        if isSecure { return self }
        guard parts.colon == parts.end else { return nil }
        return try? WebAddress("https" + text.dropFirst(4))
    }

    /// Returns the address of a reference in a response to this request, such as the value of a Location field, without
    /// its fragment; `nil` if it is refused.
    package func resolving(_ reference: String) -> WebAddress? {
        // The URL API resolves by the rules with which libcurl follows redirects, and escapes what servers leave bare.
        guard !reference.utf8.contains(UInt8(ascii: "\\")), let url = CurlURL(text), url.resolve(reference) else {
            return nil
        }
        return url[CURLUPART_URL].flatMap { try? WebAddress($0) }
    }

    // MARK: Text that may not be an address

    /// Returns `origin`; `nil` if the address is refused.
    package static func origin(of text: String) -> String? { (try? WebAddress(text))?.origin }

    /// Returns the host of an address, for example to limit requests per host; for a refused one the text itself.
    package static func host(of text: String) -> String { (try? WebAddress(text))?.host ?? text }

    /// Returns `key`, or the text itself if it is refused.
    package static func key(_ text: String) -> String { (try? WebAddress(text))?.key ?? text }

    /// Removes `user:password@`, so that the address can still be requested.
    package static func withoutUserInfo(_ text: String) -> String { removingUserInfo(text) ?? text }

    /// Removes secrets from an address that people and programs can see: the user info, and with it the query and the
    /// fragment, which may contain a token.
    ///
    /// - Parameter isPrivate: whether the address is requested with credentials that it does not contain. If so, its
    ///   query and fragment are always removed.
    package static func redacted(_ text: String, isPrivate: Bool = false) -> String {
        let rest = removingUserInfo(text)
        guard isPrivate || rest != nil else { return text }
        return String((rest ?? text).unicodeScalars.prefix { $0 != "?" && $0 != "#" })
    }

    /// Returns the text without its user info; `nil` if it has none. In text that is not a valid address everything up
    /// to the last `@` could be a secret.
    private static func removingUserInfo(_ text: String) -> String? {
        guard text.utf8.contains(UInt8(ascii: "@")) else { return nil }
        if let address = try? WebAddress(text) { return address.hasUserInfo ? address.withoutUserInfo : nil }
        guard let scheme = text.utf8.firstRange(of: "://".utf8)?.upperBound,
            let at = text.utf8.lastIndex(of: UInt8(ascii: "@")), at >= scheme
        else { return nil }
        return String(text[..<scheme]) + String(text[text.utf8.index(after: at)...])
    }

    /// Parses the address of a proxy: `[SCHEME://][USER[:PASSWORD]@]HOST[:PORT]` (CURLOPT_PROXY(3)).
    package static func proxy(_ text: String) -> (host: String, port: Int)? {
        let whole = text.utf8.firstRange(of: "://".utf8) == nil ? "http://" + text : text
        guard let url = CurlURL(whole), let host = url[CURLUPART_HOST] else { return nil }
        // libcurl's default ports: 443 for an https proxy, 1080 for others.
        let standard = url[CURLUPART_SCHEME] == "https" ? 443 : 1_080
        return (comparable(host: host), url[CURLUPART_PORT].flatMap { Int($0) } ?? standard)
    }

    // MARK: Scanning

    /// Finds the parts of an address, and refuses one that another program might divide differently.
    private static func scan(_ text: String) throws(Problem) -> Parts {
        var text = text
        return try text.withUTF8 { bytes in Result { () throws(Problem) in try scan(bytes) } }.get()
    }

    private static func scan(_ bytes: UnsafeBufferPointer<UInt8>) throws(Problem) -> Parts {
        guard bytes.count <= longest else { throw .length }
        var parts = Parts()
        for scheme in ["https://", "http://"] as [StaticString] where matches(bytes, scheme) {
            parts.authority = scheme.utf8CodeUnitCount
        }
        guard parts.authority > 0 else { throw .scheme }
        var at: Int?
        var isInQuery = false
        var isASCII = true
        parts.end = bytes.count
        for index in parts.authority..<bytes.count {
            switch bytes[index] {
            case 0x00...0x20, 0x7F: throw .control
            case 0x80...: isASCII = false
            case UInt8(ascii: "\\") where !isInQuery: throw .backslash
            case UInt8(ascii: "?"), UInt8(ascii: "#"):
                isInQuery = true
                parts.end = min(parts.end, index)
            case UInt8(ascii: "/"): parts.end = min(parts.end, index)
            case UInt8(ascii: "@") where parts.end == bytes.count:
                if at != nil { throw .at }
                at = index
            default: break
            }
        }
        // An address that turns the text around it is not shown as it is requested.
        if !isASCII, String(decoding: bytes, as: UTF8.self).unicodeScalars.contains(where: PlainText.isHarmful) {
            throw .control
        }
        parts.host = at.map { $0 + 1 } ?? parts.authority
        let userInfo = bytes[parts.authority..<(at ?? parts.authority)]
        // libcurl sends no escaped control character.
        guard userInfo.allSatisfy(isInUserInfo),
            !userInfo.indices.dropLast().contains(where: {
                userInfo[$0] == UInt8(ascii: "%") && "01".utf8.contains(userInfo[$0 + 1])
            })
        else { throw .userInfo }
        parts.colon = try scanHost(bytes, parts)
        // An empty port means the scheme's default (RFC 3986 §3.2.3).
        let port = bytes[min(parts.colon + 1, parts.end)..<parts.end]
        guard port.count <= 5, port.allSatisfy({ (0x30...0x39).contains($0) }),
            port.isEmpty || (1...65_535).contains(port.reduce(0) { $0 * 10 + Int($1 - 0x30) })
        else { throw .port }
        return parts
    }

    /// Returns the end of the host.
    private static func scanHost(_ bytes: UnsafeBufferPointer<UInt8>, _ parts: Parts) throws(Problem) -> Int {
        let place = bytes[parts.host..<parts.end]
        guard let first = place.first else { throw .host }
        guard first == UInt8(ascii: "[") else {
            let end = place.firstIndex(of: UInt8(ascii: ":")) ?? parts.end
            let host = place[..<end]
            guard host.contains(where: { $0 != UInt8(ascii: ".") }), host.allSatisfy({ isInHost($0) || $0 >= 0x80 }),
                host.allSatisfy({ $0 < 0x80 })
                    || String(decoding: host, as: UTF8.self).unicodeScalars.allSatisfy(isInName)
            else { throw .host }
            return end
        }
        guard let end = place.firstIndex(of: UInt8(ascii: "]")),
            end + 1 == parts.end || bytes[end + 1] == UInt8(ascii: ":"),
            place[(parts.host + 1)..<end].allSatisfy({
                isInHost($0) && $0 != UInt8(ascii: "-") || $0 == UInt8(ascii: ":")
            })
        else { throw .host }
        return end + 1
    }

    private static func matches(_ bytes: UnsafeBufferPointer<UInt8>, _ scheme: StaticString) -> Bool {
        guard bytes.count > scheme.utf8CodeUnitCount else { return false }
        return scheme.withUTF8Buffer { zip($0, bytes).allSatisfy { $0 == $1 || $0 == $1 | 0x20 && $0.isLetter } }
    }

    /// Whether a byte may be in user info (RFC 3986 §3.2.1). Bytes of other characters than ASCII are allowed.
    private static func isInUserInfo(_ byte: UInt8) -> Bool {
        byte.isLetter || byte >= 0x80 || "0123456789-._~%!$&'()*+,;=:".utf8.contains(byte)
    }

    /// Whether an ASCII byte may be in a host. Escapes and sub-delimiters (RFC 3986 §3.2.2) occur in no host on the
    /// web.
    private static func isInHost(_ byte: UInt8) -> Bool {
        byte.isLetter || (0x30...0x39).contains(byte) || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-")
            || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "~")
    }

    /// Whether a character of an internationalized name is a letter, digit or mark. Others, such as U+FF0F, may become
    /// delimiters when the name is converted (UTS 46 §4).
    private static func isInName(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return true }
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber,
            .nonspacingMark, .spacingMark:
            return true
        default: return false
        }
    }

    /// Only ASCII letters are folded: an internationalized name is compared as written.
    private static func comparable(host: String) -> String {
        var bytes = Array(host.utf8)
        for index in bytes.indices where (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(bytes[index]) {
            bytes[index] |= 0x20
        }
        if bytes.last == UInt8(ascii: ".") { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func utf8(_ text: String, _ range: Range<Int>) -> String {
        let utf8 = text.utf8
        let start = utf8.index(utf8.startIndex, offsetBy: range.lowerBound)
        return String(text[start..<utf8.index(start, offsetBy: range.count)])
    }
}

extension UInt8 {
    /// Whether this is an ASCII letter.
    fileprivate var isLetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) }
}

/// A handle of libcurl's URL API (`curl_url`, libcurl-url(3)).
private final class CurlURL {
    private let handle: OpaquePointer

    init?(_ text: String) {
        guard let handle = curl_url() else { return nil }
        self.handle = handle
        guard curl_url_set(handle, CURLUPART_URL, text, UInt32(CURLU_NON_SUPPORT_SCHEME)) == CURLUE_OK else {
            return nil
        }
    }

    deinit { curl_url_cleanup(handle) }

    subscript(part: CURLUPart) -> String? { value(part, 0) }

    /// The port, or the scheme's default.
    var port: Int? { value(CURLUPART_PORT, UInt32(CURLU_DEFAULT_PORT)).flatMap { Int($0) } }

    func unescaped(_ part: CURLUPart) -> String { value(part, UInt32(CURLU_URLDECODE)) ?? value(part, 0) ?? "" }

    /// Resolves a reference against this URL, and removes the fragment; returns whether the result is a URL.
    func resolve(_ reference: String) -> Bool {
        curl_url_set(handle, CURLUPART_URL, reference, UInt32(CURLU_URLENCODE)) == CURLUE_OK
            && curl_url_set(handle, CURLUPART_FRAGMENT, nil, 0) == CURLUE_OK
    }

    private func value(_ part: CURLUPart, _ flags: UInt32) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_get(handle, part, &text, flags) == CURLUE_OK, let text else { return nil }
        defer { curl_free(text) }
        return String(cString: text)
    }
}

extension String {
    /// The text with all but the unreserved characters (RFC 3986, section 2.3) percent-encoded, for a path component
    /// or a query value.
    package var percentEncoded: String {
        var bytes: [UInt8] = []
        appendPercentEncoded(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Appends `percentEncoded` to `bytes`.
    package func appendPercentEncoded(to bytes: inout [UInt8]) {
        for byte in utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                bytes.append(byte)
            default:
                bytes.append(UInt8(ascii: "%"))
                for digit in [byte >> 4, byte & 15] {
                    bytes.append(digit + (digit < 10 ? UInt8(ascii: "0") : UInt8(ascii: "A") - 10))
                }
            }
        }
    }
}
