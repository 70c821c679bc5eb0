internal import GRDB
internal import PodcastFeed
package import PodcastProtocol
internal import Transfers

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
    let key: String?
    /// The URL of the item's main encoding, by which an item without a guid is identified; `nil` if this is the main
    /// encoding.
    let mainURL: String?
    /// All addresses, in the order in which to try them: those of the encoding, then those of other encodings with the
    /// same extension. Empty if the enclosure's address is the only one and has no hash.
    let sources: [MediaSource]
    /// The encoding's position in the item; `nil` if the item no longer has it.
    var position: Int?
}

/// The encoding of a known episode, as stored.
struct StoredMedia {
    /// The file name.
    var name: String
    var url: String
    var type: String?
    /// The length in bytes according to the feed.
    var length: Int64?
    /// See `EpisodeMedia.key`.
    var key: String?

    /// Whether the feed now refers to another file: the stated length or the URL without its query has changed. The
    /// size that a server confirmed for the old file is then deleted. Cached bytes of the old file (a rendition) keep
    /// their own size until they are removed. False for a stream, whose playlist is generated.
    func isOtherFile(than media: EpisodeMedia) -> Bool {
        if StreamFile.isStream(name) { return false }
        if let length, let new = media.enclosure.length, length != new { return true }
        let old = EpisodeMatcher.comparable(url: url).prefix { $0 != "?" }
        return old != EpisodeMatcher.comparable(url: media.enclosure.url).prefix { $0 != "?" }
    }
}

extension EpisodeFacts {
    /// Returns the columns of `episode` that both an episode and an alternate have.
    ///
    /// - Parameters:
    ///   - media: The encoding of the file.
    ///   - name: The file name.
    func columns(_ media: EpisodeMedia, name: String, firstSeen: Int64) -> Columns {
        var columns: Columns = [
            "title": title, "published": item.published?.seconds,
            "published_offset": item.published?.offset ?? 0, "moment": item.published?.seconds ?? firstSeen,
            "duration": item.duration, "url": media.enclosure.url, "type": media.enclosure.type,
            "length": media.enclosure.length, "author": item.author,
        ]
        // The playlist of a stream is generated, so its size is known.
        if StreamFile.isStream(name) {
            let content = StreamFile.content(title: title, duration: item.duration, url: media.enclosure.url)
            columns += ["confirmed_size": content.count]
        }
        return columns
    }

    /// Returns the encoding of a new episode: the preferred one, otherwise the main one.
    func media(preferring preference: MediaPreference?) -> EpisodeMedia {
        media(at: preference?.choice(among: encodings, duration: item.duration) ?? 0)
    }

    /// Returns the encoding of a known episode, at its current address.
    func media(of known: StoredMedia) -> EpisodeMedia {
        if encodings.count < 2, known.key == nil { return media(at: 0) }
        let fileExtension = FileName.fileExtension(of: known.name)
        let fits = encodings.indices.filter { Self.fileExtension(encodings[$0]) == fileExtension }
        guard let key = known.key else {
            return media(at: fits.contains(0) ? 0 : fits.first ?? 0)
        }
        let path = known.url.prefix { $0 != "?" }
        // The query may be a token that changes, or the only difference between the addresses of two encodings.
        let samePath = encodings.indices.filter { index in
            encodings[index].addresses.contains { $0.prefix { $0 != "?" } == path }
        }
        let current =
            encodings.firstIndex { $0.addresses.contains(known.url) } ?? samePath.first {
                Self.key(encodings[$0]) == key
            }
            ?? samePath.first ?? encodings.firstIndex { Self.key($0) == key }
        if let position = [current, fits.first].compactMap(\.self).first(where: fits.contains) {
            return media(at: position)
        }
        // The feed no longer offers an encoding for this file name: the old address may still serve it.
        return EpisodeMedia(
            enclosure: Enclosure(url: known.url, length: known.length, type: known.type), key: key,
            mainURL: media.url, sources: [])
    }

    private func media(at position: Int) -> EpisodeMedia {
        guard encodings.indices.contains(position) else {
            return EpisodeMedia(enclosure: media, key: nil, mainURL: nil, sources: [], position: position)
        }
        let chosen = encodings[position]
        var sources = chosen.addresses.map { MediaSource(url: $0, hash: chosen.hash) }
        if encodings.count > 1 {
            let fileExtension = Self.fileExtension(chosen)
            for (index, other) in encodings.enumerated()
            where index != position && sources.count < Medium.maxAddresses && Self.fileExtension(other) == fileExtension
            {
                sources += other.addresses.map { MediaSource(url: $0, hash: other.hash) }
            }
        }
        sources = Array(sources.prefix(Medium.maxAddresses))
        let isPlain = sources.count == 1 && chosen.hash == nil
        return EpisodeMedia(
            enclosure: position == 0 ? media : chosen.enclosure, key: position == 0 ? nil : Self.key(chosen),
            mainURL: position == 0 ? nil : media.url, sources: isPlain ? [] : sources, position: position)
    }

    /// Returns the encodings other than that of the episode's own file, in the item's order.
    func alternates(besides media: EpisodeMedia) -> [AlternateFacts] {
        if encodings.count < 2, media.position != nil { return [] }
        return encodings.indices.filter { $0 != media.position }.map {
            AlternateFacts(medium: encodings[$0], media: self.media(at: $0), key: Self.key(encodings[$0]))
        }
    }

    /// Returns the files that the feed offers beside an episode whose own file has this encoding.
    func sidecars(besides media: EpisodeMedia) -> Sidecars {
        encodings.count < 2 && media.position != nil ? sidecars : sidecars.union(.alternates)
    }

    private static func fileExtension(_ medium: Medium) -> String {
        MediaType(type: medium.type, url: medium.addresses[0]).fileExtension
    }

    /// Returns the key of an encoding: its description without its addresses, at most 256 characters.
    private static func key(_ medium: Medium) -> String {
        let parts = [
            medium.type, medium.bitRate.map { "\($0)" }, medium.height.map { "\($0)" }, medium.language, medium.title,
        ]
        return String(parts.map { $0 ?? "" }.joined(separator: "|").prefix(256))
    }
}

/// The stored addresses of episodes' files.
enum StoredSources {
    static func write(_ sources: [MediaSource], of episode: EpisodeID, isNew: Bool, _ db: Database) throws {
        if !isNew {
            try db.run("DELETE FROM media_source WHERE episode = ?", [episode])
        }
        for (position, source) in sources.enumerated() {
            try db.run(
                "INSERT INTO media_source (episode, position, url, hash) VALUES (?, ?, ?, ?)",
                [episode, position, source.url, source.hash])
        }
    }

    /// Returns all addresses of an episode's file, the one in its row first.
    static func fetch(_ db: Database, of episode: EpisodeID, url: String) throws -> [MediaSource] {
        let sources = try Row.fetchCursor(
            db, "SELECT url, hash FROM media_source WHERE episode = ? ORDER BY position", [episode]
        ).mapAll {
            MediaSource(url: $0[0], hash: $0[1])
        }
        return sources.isEmpty ? [MediaSource(url: url)] : sources
    }
}

extension Library {
    /// Returns the addresses of an episode's file in the order in which to try them; empty if there is no such episode.
    package func mediaSources(of episode: EpisodeID) throws -> [MediaSource] {
        try read { db in
            let url = try String.fetchOne(db, "SELECT url FROM episode WHERE id = ? AND buried <> 1", [episode])
            return try url.map { try StoredSources.fetch(db, of: episode, url: $0) } ?? []
        }
    }
}
