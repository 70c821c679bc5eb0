/// What may be shown of a URL: everything that people and programs can see goes through here.
package enum RedactedURL {
    /// Without `user:password@`; and where there was one, without the query, which may hold a token as well.
    package static func text(_ url: String) -> String {
        guard let (prefix, rest) = parts(url) else { return url }
        return prefix + rest.prefix { $0 != "?" && $0 != "#" }
    }

    /// - Parameter isPrivate: the address is asked for with credentials, although they do not stand in it: then too the
    ///   query is left out.
    package static func text(_ url: String, isPrivate: Bool) -> String {
        let text = text(url)
        return isPrivate ? String(text.prefix { $0 != "?" && $0 != "#" }) : text
    }

    /// Without `user:password@` alone: still the address that was asked for.
    package static func withoutUserInfo(_ url: String) -> String {
        guard let (prefix, rest) = parts(url) else { return url }
        return prefix + rest
    }

    /// The scheme with its slashes, and what follows the user info; `nil` when there is none (RFC 3986 §3.2.1).
    private static func parts(_ url: String) -> (String, Substring)? {
        // Nearly all addresses are done with here.
        guard url.utf8.contains(UInt8(ascii: "@")), let scheme = url.firstRange(of: "://") else { return nil }
        let authority = url[scheme.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard let at = authority.lastIndex(of: "@") else { return nil }
        return (String(url[..<scheme.upperBound]), url[url.index(after: at)...])
    }
}
