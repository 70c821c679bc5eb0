/// Resolution of URL references from feeds (RFC 3986, section 5).
///
/// Works on text: Foundation's `URL` rejects or rewrites many URLs that servers accept, and a media URL must reach the
/// server as the publisher wrote it.
package enum URLReference {
    /// Resolves a reference against its base, after normalizing white space and removing double escaping.
    ///
    /// - Parameter base: An absolute URL; without one, a relative reference stays relative.
    package static func resolve(_ reference: String, base: String?) -> String {
        var reference = reference
        return reference.withUTF8 { resolve($0, base: base) }
    }

    /// Resolves a reference in UTF-8.
    static func resolve(_ reference: FeedBytes, base: String?) -> String {
        let clean = cleaned(reference)
        guard !clean.isEmpty, let base, scheme(of: clean) == nil, let parts = Parts(base) else { return clean }
        return parts.resolving(clean)
    }

    /// Returns the extension of the last component of a URL's path in lower case, without its dot; empty if there is
    /// none. A file whose name begins with its only dot has none.
    package static func pathExtension(of url: String) -> String {
        let slash = UInt8(ascii: "/")
        var path = url.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        if let colon = path.firstIndex(of: UInt8(ascii: ":")), path[colon...].starts(with: "://".utf8) {
            path = path[colon...].dropFirst(3)
            // A host is not a file name: `https://example.com` has no extension.
            path = path[(path.firstIndex(of: slash) ?? path.endIndex)...]
        }
        if let last = path.lastIndex(of: slash) { path = path[last...].dropFirst() }
        guard let dot = path.lastIndex(of: UInt8(ascii: ".")), dot > path.startIndex else { return "" }
        return Substring(path[dot...].dropFirst()).lowercased()
    }

    /// Returns the scheme, `http` for `http://…`: a letter, then letters, digits, `+`, `-` and `.` up to a colon.
    static func scheme(of url: String) -> Substring.UTF8View? {
        let scheme = Substring(url).utf8.prefix { $0.isLetter || $0.isDigit || "+-.".utf8.contains($0) }
        let hasColon = url.utf8[scheme.endIndex...].first == UInt8(ascii: ":")
        return hasColon && scheme.first?.isLetter ?? false ? scheme : nil
    }

    /// Normalizes a reference: control characters such as line feeds and tabs are removed, inner spaces become `%20`,
    /// and `&amp;`, which remains of an `&` that was escaped twice, becomes `&`.
    private static func cleaned(_ reference: FeedBytes) -> String {
        let bytes = reference.trimmed
        if isClean(bytes) { return String(decoding: bytes, as: UTF8.self) }
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count + 8)
        // The length of the output up to the last `&` that has replaced an `&amp;`. Only the bytes after it are
        // examined, so that `&amp;amp;` becomes `&amp;`.
        var unescaped = 0
        for byte in bytes {
            switch byte {
            case 0x20: output.append(contentsOf: "%20".utf8)
            case 0x00..<0x20, 0x7F: break
            case UInt8(ascii: ";"):
                output.append(byte)
                if output[unescaped...].suffix(5).elementsEqual("&amp;".utf8) {
                    output.removeLast(4)
                    unescaped = output.count
                }
            default: output.append(byte)
            }
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// Whether `cleaned` would change nothing.
    private static func isClean(_ bytes: FeedBytes) -> Bool {
        var index = 0
        while true {
            index = bytes.firstIndex(from: index) {
                $0.below(0x21) | $0.equal(UInt8(ascii: "&")) | $0.equal(0x7F)
            } byte: {
                $0 <= 0x20 || $0 == UInt8(ascii: "&") || $0 == 0x7F
            }
            guard index < bytes.count else { return true }
            guard bytes[index...].starts(with: "&".utf8), !bytes[index...].starts(with: "&amp;".utf8) else {
                return false
            }
            index += 1
        }
    }

    /// An absolute URL, split for reference resolution.
    private struct Parts {
        let scheme: Substring
        /// The authority with its `//`; empty if there is none.
        let authority: Substring
        let path: Substring
        /// The query with its `?`.
        let query: Substring

        init?(_ url: String) {
            guard let scheme = URLReference.scheme(of: url) else { return nil }
            self.scheme = Substring(scheme)
            var rest = url[scheme.endIndex...].dropFirst()
            rest = Substring(rest.utf8.prefix { $0 != UInt8(ascii: "#") })
            if rest.hasPrefix("//") {
                let end = rest.utf8.dropFirst(2).firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }
                authority = rest[..<(end ?? rest.endIndex)]
                rest = rest[authority.endIndex...]
            } else {
                authority = ""
            }
            path = Substring(rest.utf8.prefix { $0 != UInt8(ascii: "?") })
            query = rest[path.endIndex...]
        }

        func resolving(_ reference: String) -> String {
            if reference.hasPrefix("//") { return "\(scheme):\(reference)" }
            if reference.hasPrefix("#") { return "\(scheme):\(authority)\(path)\(query)\(reference)" }
            if reference.hasPrefix("?") { return "\(scheme):\(authority)\(path)\(reference)" }
            let tail =
                reference.utf8.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? reference.endIndex
            var whole = String(reference[..<tail])
            if !whole.hasPrefix("/") {
                let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
                let folder = slash.map { path[...$0] } ?? (authority.isEmpty ? "" : "/")
                whole = folder + whole
            }
            return "\(scheme):\(authority)\(Self.withoutDots(whole))\(reference[tail...])"
        }

        /// Removes dot segments (RFC 3986, section 5.2.4).
        private static func withoutDots(_ path: String) -> String {
            var segments: [Substring] = []
            let all = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map {
                Substring($0)
            }
            guard all.contains(where: { $0 == "." || $0 == ".." }) else { return path }
            for (index, segment) in all.enumerated() {
                if segment == "..", segments.count > 1 { segments.removeLast() }
                let isDots = segment == "." || segment == ".."
                if !isDots { segments.append(segment) } else if index == all.count - 1 { segments.append("") }
            }
            return segments.joined(separator: "/")
        }
    }
}

/// A resolver of a document's URL references, with limits on the length of each URL and on the total of added bytes.
///
/// A reference of one byte becomes as long as its base. Without a limit on the total, a document of a few mebibytes
/// with a long base would fill the memory with gibibytes of URLs.
struct URLResolver {
    private let limits: FeedLimits
    /// The number of bytes by which all URLs together are longer than their references.
    private var addedBytes = 0

    init(limits: FeedLimits) { self.limits = limits }

    /// Resolves a reference; `nil` if it is empty, or if it or the URL exceeds the length limit. Once the added bytes
    /// exceed the total limit, also `nil` for a relative reference, and for an absolute one that resolving lengthens.
    mutating func resolve(_ text: FeedBytes, base: String?) -> String? {
        guard text.count <= limits.url else { return nil }
        let reference = text.trimmed
        guard !reference.isEmpty,
            // Beyond the total limit, further relative references need not be resolved.
            addedBytes <= limits.bytes || URLReference.scheme(of: String(decoding: reference, as: UTF8.self)) != nil
        else { return nil }
        let address = URLReference.resolve(reference, base: base)
        let length = address.utf8.count
        addedBytes += max(0, length - text.count)
        guard length > 0, length <= limits.url, length <= text.count || addedBytes <= limits.bytes else { return nil }
        return address
    }
}
