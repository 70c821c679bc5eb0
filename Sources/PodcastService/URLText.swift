internal import PodcastLibrary

/// URLs as text: podfs keeps them as the feed wrote them.
enum URLText {
    /// The scheme in lower case.
    static func scheme(_ url: String) -> String? {
        guard let colon = url.firstIndex(of: ":") else { return nil }
        let scheme = url[..<colon].lowercased()
        guard let first = scheme.utf8.first, (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first) else { return nil }
        return scheme
    }

    /// Whether it is an address that podfs may ask: http or https, with a host.
    static func isWeb(_ url: String) -> Bool {
        guard let scheme = scheme(url), scheme == "http" || scheme == "https" else { return false }
        let rest = url.dropFirst(scheme.count)
        guard rest.hasPrefix("://") else { return false }
        let host = RedactedURL.withoutUserInfo(url).dropFirst(scheme.count + 3).prefix {
            $0 != "/" && $0 != "?" && $0 != "#"
        }
        return !host.isEmpty && !url.contains { $0.isWhitespace || $0.isNewline }
    }
}
