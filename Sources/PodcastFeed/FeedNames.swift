/// The vocabularies that a feed mixes.
enum FeedNamespace: UInt8 {
    /// RSS's own elements, which have no namespace, and Atom's in the same place.
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

    /// The vocabulary of a namespace name, by what it says without scheme, case and closing `/` or `#`.
    ///
    /// Publishers get all of these wrong, and `http://www.itunes.com/DTDs/Podcast-1.0.dtd` is in wide use.
    static func named(_ uri: String, prefix: String?) -> FeedNamespace {
        var name = uri.lowercased()[...]
        for scheme in ["https://", "http://"] where name.hasPrefix(scheme) { name = name.dropFirst(scheme.count) }
        while name.hasSuffix("/") || name.hasSuffix("#") { name = name.dropLast() }
        if let known = byURI[String(name)] { return known }
        // An unknown name bound to a well-known prefix is a misspelt one; without a prefix it is RSS's own.
        return prefix.map { byPrefix[$0.lowercased()] ?? .other } ?? .core
    }

    /// The vocabulary of a prefix that the document never bound: most often it just forgot to.
    static func unbound(prefix: String) -> FeedNamespace {
        byPrefix[prefix.lowercased()] ?? .other
    }

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

/// An element's name as the reader uses it.
struct FeedName {
    /// Its place in ``FeedRules``; 0 for a name that no rule mentions.
    var index: UInt8
    /// Of the local name in lower case: compares end tags with start tags.
    var hash: UInt32

    /// FNV-1a of the local part of a qualified name, letters in lower case.
    static func hash(ofLocalPart name: UnsafePointer<UInt8>) -> UInt32 {
        var hash: UInt32 = 2_166_136_261
        var cursor = name
        while cursor.pointee != 0 {
            let byte = cursor.pointee
            if byte == UInt8(ascii: ":") {
                hash = 2_166_136_261
            } else {
                let isCapital = byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z")
                hash = (hash ^ UInt32(isCapital ? byte | 0x20 : byte)) &* 16_777_619
            }
            cursor += 1
        }
        return hash
    }
}

/// Remembers what the names of a document mean, so that each is compared with the table once.
///
/// libxml2 keeps one copy of each name in a dictionary: within one parser context equal names have equal addresses, and
/// the addresses are the keys. Invalid as soon as the context is freed.
struct FeedNameCache {
    private struct Entry {
        var local: UnsafePointer<UInt8>?
        var prefix: UnsafePointer<UInt8>?
        var uri: UnsafePointer<UInt8>?
        var name: FeedName
    }

    /// Feeds use some sixty names; a power of two, so that a mask finds the place.
    private static let size = 512
    private var entries = [Entry](repeating: Entry(name: FeedName(index: 0, hash: 0)), count: Self.size)

    /// The name of an element; any of the pointers but the first may be missing.
    mutating func name(
        local: UnsafePointer<UInt8>, prefix: UnsafePointer<UInt8>?, uri: UnsafePointer<UInt8>?
    ) -> FeedName {
        let key = UInt(bitPattern: local) &+ UInt(bitPattern: prefix) &* 31 &+ UInt(bitPattern: uri) &* 17
        let place = Int((key ^ (key >> 9)) & UInt(Self.size - 1))
        let entry = entries[place]
        if entry.local == local, entry.prefix == prefix, entry.uri == uri { return entry.name }
        let namespace: FeedNamespace
        let prefixText = prefix.map { String(cString: $0) }
        if let uri {
            namespace = .named(String(cString: uri), prefix: prefixText)
        } else {
            namespace = prefixText.map { .unbound(prefix: $0) } ?? .core
        }
        let name = FeedName(
            index: FeedRules.shared.index(of: String(cString: local).lowercased(), in: namespace),
            hash: FeedName.hash(ofLocalPart: local))
        entries[place] = Entry(local: local, prefix: prefix, uri: uri, name: name)
        return name
    }

    /// Forgets everything: before the parser context, and with it the addresses, goes.
    mutating func removeAll() {
        self = FeedNameCache()
    }
}
