internal import Platform

/// The vocabularies used in feeds.
enum FeedNamespace: UInt8 {
    /// The elements of RSS and OPML, without a namespace or in the namespace of RSS 1.0, and Atom's elements in
    /// documents that omit Atom's namespace.
    case core
    case atom
    case itunes
    case podcast
    case content
    case media
    case chapters
    case dublinCore
    case syndication
    case rdf
    case other

    /// Returns the vocabulary that a namespace name identifies. The comparison ignores the scheme (`http` or `https`),
    /// the case and any trailing `/` or `#`, since publishers vary all of these.
    ///
    /// For example, `http://www.itunes.com/DTDs/Podcast-1.0.dtd` is in wide use.
    static func named(_ uri: String, prefix: String?) -> FeedNamespace {
        var name = uri.lowercased()[...]
        for scheme in ["https://", "http://"] where name.hasPrefix(scheme) { name = name.dropFirst(scheme.count) }
        while name.hasSuffix("/") || name.hasSuffix("#") { name = name.dropLast() }
        if let known = byURI[String(name)] { return known }
        // An unknown name that is declared for a well-known prefix is probably misspelled, so the prefix decides. An
        // unknown default namespace (one without a prefix) is treated as that of RSS.
        return prefix.map { byPrefix[$0.lowercased()] ?? .other } ?? .core
    }

    /// Returns the vocabulary that usually has this prefix, for a document that uses the prefix without declaring it.
    static func unbound(prefix: String) -> FeedNamespace { byPrefix[prefix.lowercased()] ?? .other }

    private static let byURI: [String: FeedNamespace] = [
        "www.w3.org/2005/atom": .atom,
        "purl.org/atom/ns": .atom,
        "www.itunes.com/dtds/podcast-1.0.dtd": .itunes,
        "podcastindex.org/namespace/1.0": .podcast,
        "github.com/podcastindex-org/podcast-namespace/blob/main/docs/1.0.md": .podcast,
        "purl.org/rss/1.0/modules/content": .content,
        "search.yahoo.com/mrss": .media,
        "podlove.org/simple-chapters": .chapters,
        "purl.org/dc/elements/1.1": .dublinCore,
        "purl.org/rss/1.0/modules/syndication": .syndication,
        "www.w3.org/1999/02/22-rdf-syntax-ns": .rdf,
        "purl.org/rss/1.0": .core,
        "www.w3.org/1999/xhtml": .other,
        "www.w3.org/2000/svg": .other,
    ]

    private static let byPrefix: [String: FeedNamespace] = [
        "atom": .atom, "atom10": .atom, "itunes": .itunes, "podcast": .podcast, "content": .content, "media": .media,
        "psc": .chapters, "dc": .dublinCore, "sy": .syndication, "rdf": .rdf,
    ]
}

/// An element's name, resolved to indices in ``FeedRules``, the table of the elements that the parser processes.
struct FeedName {
    /// The index in ``FeedRules``; 0 for a name without a rule.
    var index: UInt16
    /// The index of the same local name in ``FeedNamespace/core``; 0 if there is no fallback. Set for a name without a
    /// prefix, and used if the name's own vocabulary has no rule for it inside the enclosing element.
    var fallback: UInt16
    /// The hash of the local name in lower case, to match end tags with start tags.
    var hash: UInt32

    /// Computes FNV-1a of the local part of a qualified name, in lower case.
    static func hash(ofLocalPart name: FeedBytes) -> UInt32 {
        var hash = FNV1a.empty32
        for byte in name {
            if byte == UInt8(ascii: ":") {
                hash = FNV1a.empty32
            } else {
                let isCapital = byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z")
                hash = FNV1a.hash(hash, adding: isCapital ? byte | 0x20 : byte)
            }
        }
        return hash
    }
}
