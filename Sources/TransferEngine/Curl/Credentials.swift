/// A user name and a password for one origin: scheme, host and port (RFC 6454 §4).
///
/// They are sent with the first request, as Basic (RFC 7617), because asking the server for its authentication schemes
/// would cost each new request a round trip. libcurl does not send them after a redirect to another host, port or
/// scheme (CURLOPT_UNRESTRICTED_AUTH(3), off by default).
package struct Credentials: Sendable, Equatable, CustomStringConvertible {
    package let user: String
    package let password: String
    /// `https://host:port`, in lower case and always with the port.
    package let origin: String

    package init(user: String, password: String, origin: String) {
        self.user = user
        self.password = password
        self.origin = origin
    }

    /// Whether they may be sent to this URL. `false` for a URL with user info, because that is sent instead.
    package func fit(_ url: String) -> Bool { Self.origin(of: url) == origin && !Self.hasUserInfo(url) }

    /// Returns the origin of an http or https URL; `nil` for other text.
    package static func origin(of url: String) -> String? {
        guard let end = url.unicodeScalars.firstRange(of: "://".unicodeScalars) else { return nil }
        let scheme = url[..<end.lowerBound].lowercased()
        guard scheme == "http" || scheme == "https" else { return nil }
        var place = authority(of: url)
        if let at = place.lastIndex(of: "@") { place = place[place.index(after: at)...] }
        var host = place
        var port = scheme == "https" ? 443 : 80
        // The colons of an IPv6 address are inside its brackets.
        let bracket = place.lastIndex(of: "]") ?? place.startIndex
        if let colon = place[bracket...].firstIndex(of: ":") {
            host = place[..<colon]
            let digits = place[place.index(after: colon)...]
            if !digits.isEmpty {
                guard let number = Int(String(digits)), (1...65_535).contains(number) else { return nil }
                port = number
            }
        }
        return host.isEmpty ? nil : "\(scheme)://\(String(host).lowercased()):\(port)"
    }

    private static func hasUserInfo(_ url: String) -> Bool { authority(of: url).contains("@") }

    /// Returns the authority as scalars, since curl regards a delimiter before a combining character as a delimiter.
    private static func authority(of url: String) -> Substring.UnicodeScalarView {
        let scalars = url.unicodeScalars
        guard let end = scalars.firstRange(of: "://".unicodeScalars) else { return Substring().unicodeScalars }
        return scalars[end.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" && $0 != "\\" }
    }

    /// The origin without the secrets, since values are printed in logs.
    package var description: String { "credentials for \(origin)" }
}
