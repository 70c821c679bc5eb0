/// The removal of secrets from URLs. Every URL that people and programs can see passes through here.
package enum RedactedURL {
    /// Removes `user:password@`; if there was any, also removes the query and fragment, which may contain a token.
    package static func text(_ url: String) -> String {
        guard let (prefix, rest) = parts(url) else { return url }
        return prefix + withoutQuery(rest)
    }

    /// - Parameter isPrivate: Whether the URL is requested with credentials that it does not contain. If so, its query
    ///   and fragment are always removed.
    package static func text(_ url: String, isPrivate: Bool) -> String {
        let text = text(url)
        return isPrivate ? withoutQuery(text[...]) : text
    }

    /// Removes only `user:password@`, so that the URL can still be requested.
    package static func withoutUserInfo(_ url: String) -> String {
        guard let (prefix, rest) = parts(url) else { return url }
        return prefix + rest
    }

    private static func withoutQuery(_ text: Substring) -> String {
        String(text.unicodeScalars.prefix { $0 != "?" && $0 != "#" })
    }

    /// Returns the scheme with its slashes, and the text after the user info; `nil` without user info (RFC 3986
    /// §3.2.1).
    private static func parts(_ url: String) -> (String, Substring)? {
        // Fast path for nearly all URLs.
        guard url.utf8.contains(UInt8(ascii: "@")) else { return nil }
        // Servers read scalars: a delimiter before a combining character is a delimiter.
        let scalars = url.unicodeScalars
        guard let scheme = scalars.firstRange(of: "://".unicodeScalars) else { return nil }
        let authority = scalars[scheme.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard let at = authority.lastIndex(of: "@") else { return nil }
        return (String(url[..<scheme.upperBound]), url[scalars.index(after: at)...])
    }
}
