/// A resolver of element names by the namespace declarations in force.
struct ElementNames {
    /// A bound prefix; the empty prefix denotes the default namespace.
    private struct Binding {
        var prefix: [UInt8]
        var namespace: FeedNamespace
        /// The hash of all bindings up to this one. Equal bindings have equal versions, so that the names cached for
        /// one item are valid for the next item with the same declarations.
        var version: UInt64
    }

    /// A slot of the cache.
    private struct Entry {
        var key: UInt64 = 0
        var version: UInt64 = .max
        var name = FeedName(index: 0, fallback: 0, hash: 0)
    }

    private var bindings: [Binding] = []
    private var version: UInt64 { bindings.last?.version ?? 0 }
    /// The cache of resolved names, keyed by hash alone: two names with the same 64-bit hash would be confused, but
    /// only an attacker's feed has such names.
    private var entries = [Entry](repeating: Entry(), count: Self.size)
    /// The prefixes used without a declaration, at most `unboundLimit`.
    private var unbound: Set<String> = []
    /// The unbound prefix that has not been reported yet.
    var newlyUnbound: String?

    /// Number of slots, a power of two for masking; feeds use some sixty names.
    private static let size = 512
    /// Maximum number of declarations in force; real feeds have twenty.
    private static let bindingLimit = 256
    private static let unboundLimit = 16

    /// Returns the name of an element.
    mutating func name(_ qualified: FeedBytes) -> FeedName {
        var key: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in qualified { key = (key ^ UInt64(byte)) &* 0x100_0000_01B3 }
        let slot = Int(truncatingIfNeeded: key ^ key >> 32) & (Self.size - 1)
        if entries[slot].key == key, entries[slot].version == version { return entries[slot].name }
        let name = lookUp(qualified)
        entries[slot] = Entry(key: key, version: version, name: name)
        return name
    }

    private mutating func lookUp(_ qualified: FeedBytes) -> FeedName {
        let prefix = Self.prefix(of: qualified)
        let local = String(decoding: Self.local(of: qualified), as: UTF8.self).lowercased()
        let namespace = namespace(ofPrefix: prefix)
        let rules = FeedRules.shared
        // If the document's default namespace is another known vocabulary, an element without a prefix that this
        // vocabulary does not have is looked up in RSS and Atom.
        let fallback = prefix.isEmpty && namespace != .other ? rules.index(of: local, in: .core) : 0
        return FeedName(
            index: rules.index(of: local, in: namespace), fallback: fallback,
            hash: FeedName.hash(ofLocalPart: qualified))
    }

    private mutating func namespace(ofPrefix prefix: FeedBytes) -> FeedNamespace {
        if let binding = bindings.last(where: { $0.prefix.elementsEqual(prefix) }) { return binding.namespace }
        guard !prefix.isEmpty else { return .core }
        let text = String(decoding: prefix.prefix(40), as: UTF8.self)
        if unbound.count < Self.unboundLimit, text != "xml", unbound.insert(text).inserted { newlyUnbound = text }
        return .unbound(prefix: text)
    }

    /// Processes the declarations in a start tag.
    ///
    /// - Returns: The number of new bindings, for ``drop(_:)``.
    mutating func declare(_ attributes: FeedAttributes) -> Int {
        var count = 0
        for attribute in attributes.list where attribute.name.starts(with: "xmlns".utf8) {
            let rest = attribute.name.dropFirst(5)
            guard rest.isEmpty || rest.first == UInt8(ascii: ":") else { continue }
            let prefix = Array(rest.dropFirst())
            let text = String(decoding: prefix.prefix(40), as: UTF8.self)
            let uri = String(decoding: attribute.value.trimmed.prefix(300), as: UTF8.self)
            let namespace = FeedNamespace.named(uri, prefix: prefix.isEmpty ? nil : text)
            count += bind(prefix, namespace)
        }
        return count
    }

    /// Binds the prefix of a feed's or OPML list's root element to ``FeedNamespace/core`` if the prefix belongs to
    /// another vocabulary, which is a mistake of the publisher.
    ///
    /// - Returns: The number of new bindings, for ``drop(_:)``.
    mutating func bindRoot(_ qualified: FeedBytes) -> Int {
        let prefix = Self.prefix(of: qualified)
        let local = String(decoding: Self.local(of: qualified).prefix(20), as: UTF8.self).lowercased()
        let namespace = namespace(ofPrefix: prefix)
        let isRoot = ["rss", "feed", "opml", "channel"].contains(local)
        if !isRoot || namespace == .core || (local == "feed" && namespace == .atom) { return 0 }
        return bind(Array(prefix), .core)
    }

    private mutating func bind(_ prefix: [UInt8], _ namespace: FeedNamespace) -> Int {
        if let known = bindings.last(where: { $0.prefix == prefix }) {
            // Many generators repeat their declarations in each item.
            if known.namespace == namespace { return 0 }
        } else if prefix.isEmpty, namespace == .core {
            return 0
        }
        guard bindings.count < Self.bindingLimit else { return 0 }
        var version = ((version ^ UInt64(namespace.rawValue)) &+ 1) &* 0x9E37_79B9_7F4A_7C15
        for byte in prefix { version = (version ^ UInt64(byte)) &* 0x100_0000_01B3 }
        bindings.append(Binding(prefix: prefix, namespace: namespace, version: version))
        return 1
    }

    /// Removes the most recent bindings when their element is closed.
    mutating func drop(_ count: Int) {
        if count > 0 { bindings.removeLast(min(count, bindings.count)) }
    }

    static func prefix(of qualified: FeedBytes) -> FeedBytes {
        guard let colon = qualified.lastIndex(of: UInt8(ascii: ":")) else { return FeedBytes(start: nil, count: 0) }
        return FeedBytes(rebasing: qualified[..<colon])
    }

    static func local(of qualified: FeedBytes) -> FeedBytes {
        guard let colon = qualified.lastIndex(of: UInt8(ascii: ":")) else { return qualified }
        return FeedBytes(rebasing: qualified[(colon + 1)...])
    }
}
