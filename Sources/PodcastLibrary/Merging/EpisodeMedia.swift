internal import GRDB
internal import PodcastFeed
package import PodcastProtocol

/// One address of an episode's file.
package struct MediaSource: Sendable, Equatable {
    package var url: String
    /// The hash that the complete file from this URL must have, `ALGORITHM-HEXADECIMAL`; `nil` if the feed lists none.
    package var hash: String?
}

/// The encoding of an episode's file, and the addresses of the file.
///
/// A known episode gets an encoding with the extension of its file name, as long as the item offers such an encoding.
/// Otherwise an episode that had the item's main encoding gets the current main encoding, and any other episode keeps
/// its old address.
struct EpisodeMedia {
    let enclosure: Enclosure
    /// Identifies the encoding when the feed is fetched again; `nil` for the item's main encoding.
    var key: String?
    /// The URL of the item's main encoding, by which an item without a guid is identified; `nil` if this is the main
    /// encoding.
    var mainURL: String?
    /// All addresses, in the order in which to try them: those of the encoding, then those of other encodings with the
    /// same extension. Empty if the enclosure's address is the only one and has no hash.
    var sources: [MediaSource] = []
    /// The encoding's position in the item; `nil` if the item no longer has it.
    var position: Int?
}

/// The row of a known episode or alternate.
struct StoredFile {
    let id: EpisodeID
    /// The file name.
    let name: String
    let url: String
    let type: String?
    /// The length in bytes according to the feed.
    let length: Int64?
    /// See `EpisodeMedia.key`.
    let key: String?
    let isListed: Bool
    /// Whether this is a tombstone. For an alternate: whether the feed did not offer it when it was last merged.
    let isBuried: Bool
    let digest, visibleDigest, firstSeen: Int64

    /// The columns of `episode e` that `init(_:)` reads.
    static func columns(name: String = "e.name", key: String = "e.medium") -> String {
        """
        e.id, \(name), e.url, e.type, e.length, \(key), e.listed, e.buried = 1, e.digest, e.visible_digest, \
        e.first_seen
        """
    }

    init(_ row: Row) {
        (id, name, url, type, length, key) = (row[0], row[1], row[2], row[3], row[4], row[5])
        (isListed, isBuried, firstSeen) = (row[6], row[7], row[10])
        (digest, visibleDigest) = (row.bits(8), row.bits(9))
    }

    /// Whether the feed now refers to another file: the stated length or the URL without its query has changed. The
    /// size that a server confirmed for the old file is then deleted. Cached bytes of the old file (a rendition) keep
    /// their own size until they are removed.
    func isOtherFile(than media: EpisodeMedia) -> Bool {
        if let length, let new = media.enclosure.length, length != new { return true }
        let old = EpisodeMatcher.comparable(url: url).prefix { $0 != "?" }
        return old != EpisodeMatcher.comparable(url: media.enclosure.url).prefix { $0 != "?" }
    }
}

extension EpisodeFacts {
    /// Returns the encoding of a new episode: the preferred one, otherwise the main one.
    func media(preferring preference: MediaPreference?) -> EpisodeMedia {
        media(at: preference?.choice(among: encodings, duration: item.duration) ?? 0)
    }

    /// Returns the encoding of a known episode, at its current address.
    func media(of known: StoredFile) -> EpisodeMedia {
        let fileExtension = FileName.fileExtension(of: known.name)
        let fits = encodings.indices.filter { encodings[$0].fileExtension == fileExtension }
        guard let key = known.key else { return media(at: fits.first ?? 0) }
        // The query may be a token that changes, or the only difference between the addresses of two encodings.
        let samePath = encodings.indices.filter { encodings[$0].isAt(known.url) }
        let current =
            samePath.first { encodings[$0].addresses.contains(known.url) }
            ?? samePath.first { encodings[$0].key == key } ?? samePath.first
            ?? encodings.firstIndex { $0.key == key }
        if let position = [current, fits.first].compactMap(\.self).first(where: fits.contains) {
            return media(at: position)
        }
        // The feed no longer offers an encoding for this file name: the old address may still serve it.
        return EpisodeMedia(
            enclosure: Enclosure(url: known.url, length: known.length, type: known.type), key: key, mainURL: media.url)
    }

    func media(at position: Int) -> EpisodeMedia {
        let chosen = encodings[position]
        var sources = chosen.addresses.map { MediaSource(url: $0, hash: chosen.hash) }
        for (index, other) in encodings.enumerated()
        where index != position && sources.count < Medium.maxAddresses && other.fileExtension == chosen.fileExtension {
            sources += other.addresses.map { MediaSource(url: $0, hash: other.hash) }
        }
        let isPlain = sources.count == 1 && chosen.hash == nil
        return EpisodeMedia(
            enclosure: chosen.enclosure, key: position == 0 ? nil : chosen.key,
            mainURL: position == 0 ? nil : media.url,
            sources: isPlain ? [] : Array(sources.prefix(Medium.maxAddresses)), position: position)
    }
}

extension MediaSource {
    /// Returns all addresses of an episode's file, the one in its row first.
    static func fetch(_ db: Database, of episode: EpisodeID, url: String) throws -> [MediaSource] {
        let sources = try Row.fetchCursor(
            db, "SELECT url, hash FROM media_source WHERE episode = ? ORDER BY position", [episode]
        ).mapAll { MediaSource(url: $0[0], hash: $0[1]) }
        return sources.isEmpty ? [MediaSource(url: url)] : sources
    }
}

extension Library {
    /// Returns the addresses of an episode's file in the order in which to try them; empty if there is no such episode.
    package func mediaSources(of episode: EpisodeID) throws -> [MediaSource] {
        try read { db in
            let url = try String.fetchOne(db, "SELECT url FROM episode WHERE id = ? AND buried <> 1", [episode])
            return try url.map { try MediaSource.fetch(db, of: episode, url: $0) } ?? []
        }
    }
}
