internal import Platform

/// One encoding of an item's media, at one or more URLs.
package struct Medium: Sendable, Equatable {
    /// The http and https URLs of the same file, in the order in which to try them; never empty.
    package var addresses: [String]
    /// The size in bytes that the feed states; `nil` if unknown.
    package var length: Int64?
    /// The MIME type in lower case.
    package var type: String?
    /// Bits per second.
    package var bitRate: Double?
    /// The height of a video in pixels.
    package var height: Int?
    package var language: String?
    package var title: String?
    package var codecs: String?
    /// The hashes of the file, in the format of `AlternateEnclosure.Integrity.digests`.
    package var hash: String?

    init(_ enclosure: Enclosure) {
        addresses = [enclosure.url]
        length = enclosure.length
        type = enclosure.type
    }

    /// Creates the medium of a `podcast:alternateEnclosure`; `nil` if it has no playable file at an http or https URL.
    init?(_ alternate: AlternateEnclosure) {
        let files = alternate.enclosures.filter { $0.kind != .other }
        guard let first = files.first else { return nil }
        self.init(first)
        // A source with another type is another file, such as a torrent.
        addresses = files.filter { $0.type == first.type }.map(\.url)
        bitRate = alternate.bitRate
        height = alternate.height
        language = alternate.language
        title = alternate.title
        codecs = alternate.codecs
        hash = alternate.integrity?.digests
    }

    /// Adds the URLs and properties that an alternate states for the same file.
    private mutating func merge(_ other: Medium) {
        addresses += other.addresses
        length = length ?? other.length
        type = type ?? other.type
        bitRate = other.bitRate ?? bitRate
        height = other.height ?? height
        language = other.language ?? language
        title = other.title ?? title
        codecs = other.codecs ?? codecs
        hash = other.hash ?? hash
    }

    /// The file as an enclosure, at its first URL.
    package var enclosure: Enclosure { Enclosure(url: addresses[0], length: length, type: type) }

    /// The maximum number of encodings of an item. More are omitted: a feed must not decide how many rows an episode
    /// has.
    package static let maxMedia = 50
    /// The maximum number of URLs of one encoding. More are omitted: a feed must not decide how many requests a missing
    /// file causes.
    package static let maxAddresses = 8

    fileprivate static func all(of item: Item) -> [Medium] {
        var media: [Medium] = []
        var indices: [String: Int] = [:]
        func record(_ medium: Medium, at index: Int) {
            for address in medium.addresses where indices[address] == nil { indices[address] = index }
        }
        for enclosure in item.enclosures.prefix(maxMedia) where !enclosure.url.isEmpty {
            record(Medium(enclosure), at: media.count)
            media.append(Medium(enclosure))
        }
        let alternates = item.alternates.lazy.compactMap { alternate in
            Medium(alternate).map { ($0, alternate.isDefault) }
        }
        for (alternate, isDefault) in alternates.prefix(maxMedia) {
            // An alternate is the file of an enclosure if they share a URL. An alternate marked as the default is the
            // main file, unless the two have different types.
            let isMain = isDefault && media.first.map { ($0.type ?? alternate.type) == alternate.type } ?? false
            let index = alternate.addresses.lazy.compactMap { indices[$0] }.min() ?? (isMain ? 0 : nil)
            if let index {
                media[index].merge(alternate)
                record(alternate, at: index)
            } else if media.count < maxMedia {
                record(alternate, at: media.count)
                media.append(alternate)
            }
        }
        for index in media.indices {
            var seen: Set<String> = []
            media[index].addresses = Array(
                media[index].addresses.filter { seen.insert($0).inserted }.prefix(maxAddresses))
        }
        return media
    }
}

extension Item {
    /// The encodings of the item, the main one first; empty if none is playable.
    package var media: [Medium] {
        // Fast path for most items of most feeds.
        if alternates.isEmpty, enclosures.count == 1 { return [Medium(enclosures[0])] }
        return Medium.all(of: self)
    }
}

extension AlternateEnclosure.Integrity {
    /// The hash algorithms of Subresource Integrity with the sizes of their digests in bytes, the strongest first.
    private static let algorithms = [("sha512", 64), ("sha384", 48), ("sha256", 32)]
    private static let maxDigests = 8

    /// The hashes of the strongest algorithm, as `sha384-DIGEST sha384-DIGEST` with hexadecimal digests; `nil` for a
    /// signature, or if there is no valid hash of a known algorithm.
    package var digests: String? {
        guard type == "sri" else { return nil }
        let words = value.utf8.prefix(4_096).split { $0 <= UInt8(ascii: " ") }.prefix(4 * Self.maxDigests)
        for (algorithm, size) in Self.algorithms {
            let found = words.compactMap { word -> String? in
                let parts = word.split(separator: UInt8(ascii: "-"), maxSplits: 1)
                guard parts.count == 2, String(decoding: parts[0], as: UTF8.self).lowercased() == algorithm,
                    // Options follow a question mark; none is defined.
                    let digest = Base64.decoded(parts[1].prefix { $0 != UInt8(ascii: "?") }), digest.count == size
                else { return nil }
                return "\(algorithm)-\(digest.hexadecimal)"
            }
            if !found.isEmpty { return found.prefix(Self.maxDigests).joined(separator: " ") }
        }
        return nil
    }
}
