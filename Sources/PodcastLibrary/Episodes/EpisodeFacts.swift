package import PodcastFeed

/// The values of a feed's item that the library stores in the episode's row, with digests by which a later merge
/// detects changes. A class, because a copy of its dozens of strings would take longer than reading them.
final class EpisodeFacts: Sendable {
    let item: Item
    /// The main encoding: that of the first enclosure with a URL.
    let media: Enclosure
    /// All encodings of the media, the main one first.
    let encodings: [Medium]
    let title: String
    let guid: String?
    let sidecars: Sidecars
    /// The chapters that the feed lists (`psc:chapter`), otherwise those in the notes.
    let chapters: [Chapter]
    let details: EpisodeDetails?
    /// The digest of all stored values.
    let digest: Int64
    /// The digest of all stored values except the alternate enclosures and the queries of media URLs. The alternate
    /// enclosures have rows with digests of their own. Users do not see the queries, which may contain a token that
    /// changes at every fetch.
    let visibleDigest: Int64

    /// Creates the values; `nil` for an item without an enclosure that has a URL.
    init?(_ item: Item) {
        encodings = item.media
        guard let media = encodings.first?.enclosure, !media.url.isEmpty else { return nil }
        self.item = item
        self.media = media
        let title = FileName.trimmedSpace(item.title ?? "")
        self.title = title.isEmpty ? FileName.untitled : title
        let guid = FileName.trimmedSpace(item.guid ?? "")
        self.guid = guid.isEmpty ? nil : guid
        chapters =
            item.chapters.isEmpty
            ? NotesChapters.chapters(in: item.description ?? "", duration: item.duration) : item.chapters
        sidecars = Self.sidecars(of: item, chapters)
        details = item.details

        var visible = Digest()
        visible.add(
            self.title, self.guid, item.episodeType, item.link, item.description, item.image, item.author,
            item.chaptersURL)
        visible.add(item.published?.seconds, item.published.map { Int64($0.offset) }, item.season.map(Int64.init))
        visible.add(item.duration, item.episode)
        visible.add(item.explicit.map { $0 ? 1 : 0 }, Int64(item.transcripts.count), Int64(chapters.count))
        for transcript in item.transcripts { visible.add(transcript.url, transcript.type, transcript.language) }
        for chapter in chapters {
            visible.add(chapter.start)
            visible.add(chapter.title, chapter.link, chapter.image)
        }
        if let details { visible.add(StoredDetails.text(details)) }
        visible.add(Int64(item.enclosures.count))
        var all = visible
        for enclosure in item.enclosures {
            visible.add(String(enclosure.url.prefix { $0 != "?" }))
            all.add(enclosure.url)
            visible.add(enclosure.type)
            all.add(enclosure.type)
            visible.add(enclosure.length)
            all.add(enclosure.length)
        }
        for alternate in item.alternates { alternate.add(to: &all) }
        digest = all.value
        visibleDigest = visible.value
    }

    var identity: EpisodeIdentity {
        EpisodeIdentity(
            guid: guid, url: media.url, title: title, published: item.published, type: media.type,
            duration: item.duration)
    }

    private static func sidecars(of item: Item, _ chapters: [Chapter]) -> Sidecars {
        var result: Sidecars = []
        if let notes = item.description, !notes.isEmpty { result.insert(.notes) }
        if let image = item.image, !image.isEmpty { result.insert(.art) }
        if item.chaptersURL != nil || !chapters.isEmpty { result.insert(.chapters) }
        for transcript in item.transcripts { result.insert(transcript.kind) }
        return result
    }
}

extension AlternateEnclosure {
    fileprivate func add(to digest: inout Digest) {
        digest.add(type, language, title, codecs, integrity?.value)
        digest.add(length, height.map(Int64.init), isDefault ? 1 : 0)
        digest.add(bitRate)
        for source in sources { digest.add(source.url, source.type) }
    }
}

extension Transcript {
    /// The sidecar file in which podfs shows this transcript. Its MIME type decides. If the type is missing or generic,
    /// the extension of its URL does. Empty for plain text and documents, which contain no times.
    package var kind: Sidecars {
        let type = type ?? ""
        let kinds: [(String, Sidecars)] = [
            ("vtt", .vtt), ("srt", .srt), ("subrip", .srt), ("json", .transcript), ("htm", .transcript),
        ]
        if let (_, kind) = kinds.first(where: { type.contains($0.0) }) { return kind }
        guard type.isEmpty || type == "text/plain" || type == "application/octet-stream",
            let suffix = MediaType.pathExtension(of: url)
        else { return [] }
        return kinds.first { suffix.hasPrefix($0.0) }?.1 ?? []
    }
}

/// A 64-bit hash for storage: unlike `Hasher`'s, it is the same in every process.
///
/// Not cryptographic: only the feed's own publisher could construct a collision, whose effect would be an undetected
/// change.
struct Digest {
    private var state: UInt64 = 0x9E37_79B9_7F4A_7C15

    var value: Int64 { Int64(bitPattern: Self.mixed(state)) }

    mutating func add(_ numbers: Int64?...) {
        for number in numbers {
            absorb(number == nil ? 0 : 1)
            absorb(UInt64(bitPattern: number ?? 0))
        }
    }

    mutating func add(_ numbers: Double?...) {
        for number in numbers { add(number.map { Int64(bitPattern: $0.bitPattern) }) }
    }

    mutating func add(_ texts: String?...) {
        for text in texts { absorb(text) }
    }

    private mutating func absorb(_ text: String?) {
        guard var text else { return absorb(UInt64.max) }
        absorb(UInt64(text.utf8.count))
        text.withUTF8 { bytes in
            let raw = UnsafeRawBufferPointer(bytes)
            var offset = 0
            while offset + 8 <= raw.count {
                absorb(UInt64(littleEndian: raw.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
                offset += 8
            }
            var rest: UInt64 = 0
            while offset < raw.count {
                rest = rest << 8 | UInt64(raw[offset])
                offset += 1
            }
            absorb(rest)
        }
    }

    private mutating func absorb(_ word: UInt64) { state = Self.mixed(state ^ word) &+ 0x9E37_79B9_7F4A_7C15 }

    /// Applies variant 13 of MurmurHash3's finalizer (D. Stafford), which SplitMix64 uses as well.
    private static func mixed(_ word: UInt64) -> UInt64 {
        var word = word
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
}
