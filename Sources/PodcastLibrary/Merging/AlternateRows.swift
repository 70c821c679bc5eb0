import GRDB
internal import PodcastFeed
internal import PodcastProtocol
internal import Transfers

/// The update of a show's alternates when a fetched feed is merged into the library.
///
/// An alternate is a further encoding of a feed item, beside the episode's own file. It gets a row in `episode` and one
/// in `alternate`. It keeps its id and file name as long as the show exists.
struct AlternateRows {
    /// An alternate as the library has stored it.
    private struct StoredAlternate {
        let id: EpisodeID
        let media: StoredMedia
        /// Whether the feed offered the encoding when it was last merged.
        let isOffered: Bool
        let digest: Int64
        let visibleDigest: Int64
        let firstSeen: Int64
    }

    private let db: Database
    private let podcast: ShowID
    private let now: Int64
    /// The number of alternates that the show may still get; `nil` until they have been counted.
    private var room: Int?
    /// Whether any change to an alternate in this merge is visible to users.
    private(set) var hasVisibleChanges = false

    init(db: Database, podcast: ShowID, now: Int64) {
        self.db = db
        self.podcast = podcast
        self.now = now
    }

    /// Updates the alternates of an episode.
    ///
    /// - Parameters:
    ///   - name: The episode's file name.
    ///   - media: The encoding of the episode's own file.
    ///   - isNew: Whether the merge has inserted the episode, which then has no alternates yet.
    mutating func write(
        _ facts: EpisodeFacts, of episode: EpisodeID, name: String, besides media: EpisodeMedia, isNew: Bool
    ) throws {
        let offered = facts.alternates(besides: media)
        let known = isNew ? [] : try rows(of: episode)
        if offered.isEmpty, known.isEmpty { return }
        let rowOfAlternate = Self.match(offered, known)
        var names = UniqueNames(taken: Set(known.map { FileName.folded(FileName.stem(ofFile: $0.media.name)) }))
        for (position, alternate) in offered.enumerated() {
            let row = rowOfAlternate[position].map { known[$0] }
            let fileName: String
            if let row {
                fileName = row.media.name
            } else {
                guard try reserveRoom() else { continue }
                fileName = names.claim(alternate.label) + "." + alternate.fileExtension
            }
            let values = Values(
                facts: facts, alternate: alternate, position: position, name: fileName,
                path: Alternate.path(fileName, of: name))
            if let row {
                try update(row, values)
            } else {
                try insert(values, of: episode)
            }
        }
        let present = Set(rowOfAlternate.compactMap { $0 })
        for (index, row) in known.enumerated() where row.isOffered && !present.contains(index) { try remove(row.id) }
    }

    private func rows(of episode: EpisodeID) throws -> [StoredAlternate] {
        return try Row.fetchCursor(
            db,
            """
            SELECT e.id, a.name, e.url, e.type, e.length, a.key, e.buried, e.digest, e.visible_digest, e.first_seen
            FROM \(AlternateSQL.table) WHERE a.episode = ? ORDER BY a.medium
            """, [episode]
        ).mapAll { row in
            StoredAlternate(
                id: row[0], media: StoredMedia(name: row[1], url: row[2], type: row[3], length: row[4], key: row[5]),
                isOffered: row[6] as Int == EpisodeSQL.alternate, digest: row.bits(7), visibleDigest: row.bits(8),
                firstSeen: row[9])
        }
    }

    /// Returns, for each offered alternate, the index of its row in `known`; `nil` for a new alternate.
    ///
    /// An alternate matches the row whose URL is one of the alternate's addresses; queries are not compared. An
    /// alternate without such a row matches a row with the same key. The row's file name must have the alternate's
    /// extension in either case, because a row keeps its file name.
    private static func match(_ offered: [AlternateFacts], _ known: [StoredAlternate]) -> [Int?] {
        var rowOfAlternate = [Int?](repeating: nil, count: offered.count)
        var isFree = [Bool](repeating: true, count: known.count)
        func assign(_ fits: (AlternateFacts, StoredAlternate) -> Bool) {
            for (number, alternate) in offered.enumerated() where rowOfAlternate[number] == nil {
                let row = known.indices.first { row in
                    isFree[row] && FileName.fileExtension(of: known[row].media.name) == alternate.fileExtension
                        && fits(alternate, known[row])
                }
                guard let row else { continue }
                rowOfAlternate[number] = row
                isFree[row] = false
            }
        }
        guard !known.isEmpty else { return rowOfAlternate }
        assign { alternate, row in
            let path = row.media.url.prefix { $0 != "?" }
            return alternate.medium.addresses.contains { $0.prefix { $0 != "?" } == path }
        }
        assign { $0.key == $1.media.key }
        return rowOfAlternate
    }

    /// Reserves room for one more row. Returns `false` if the show already has the maximum (`Alternate.maxInShow`).
    private mutating func reserveRoom() throws -> Bool {
        if room == nil {
            let count = try Int.fetchOne(
                db,
                """
                SELECT count(*) FROM episode e CROSS JOIN alternate a ON a.episode = e.id WHERE e.podcast = ?
                """, [podcast])
            room = Alternate.maxInShow - (count ?? 0)
        }
        guard let left = room, left > 0 else { return false }
        room = left - 1
        return true
    }

    // MARK: Rows

    /// The values of one alternate's rows in `episode` and `alternate`.
    private struct Values {
        let facts: EpisodeFacts
        let alternate: AlternateFacts
        let position: Int
        /// The file name.
        let name: String
        /// The path below the show's folder.
        let path: String

        /// The digest of all values, and the digest of those that users see, as in `EpisodeFacts`.
        var digests: (all: Int64, visible: Int64) {
            let (item, medium, media) = (facts.item, alternate.medium, alternate.media)
            var visible = Digest()
            visible.add(path, facts.title, item.author, media.enclosure.type, alternate.key, medium.codecs)
            visible.add(item.published?.seconds, item.published.map { Int64($0.offset) }, media.enclosure.length)
            visible.add(item.duration)
            var all = visible
            visible.add(String(media.enclosure.url.prefix { $0 != "?" }))
            all.add(media.enclosure.url)
            all.add(Int64(position))
            for source in media.sources { all.add(source.url, source.hash) }
            return (all.value, visible.value)
        }
    }

    private mutating func insert(_ values: Values, of episode: EpisodeID) throws {
        let folded = "/\(episode)/\(FileName.folded(FileName.stem(ofFile: values.name)))"
        try db.insert(
            into: "episode",
            columns(values, firstSeen: now) + [
                "podcast": podcast, "folded": folded, "first_seen": now, "changed": now,
            ])
        let id = EpisodeID(db.lastInsertedRowID)
        try db.insert(
            into: "alternate",
            Self.alternateColumns(values) + ["medium": id, "episode": episode, "name": values.name])
        try StoredSources.write(values.alternate.media.sources, of: id, isNew: true, db)
        hasVisibleChanges = true
    }

    private mutating func update(_ row: StoredAlternate, _ values: Values) throws {
        let (media, digests) = (values.alternate.media, values.digests)
        if row.digest == digests.all, row.isOffered { return }
        let isVisible = row.visibleDigest != digests.visible || !row.isOffered
        var columns = columns(values, firstSeen: row.firstSeen) + ["listed": true]
        if isVisible { columns += ["changed": now] }
        if row.media.isOtherFile(than: media) { columns += ["confirmed_size": nil] }
        try db.update("episode", columns, where: ["id": row.id])
        try db.update("alternate", Self.alternateColumns(values), where: ["medium": row.id])
        try StoredSources.write(media.sources, of: row.id, isNew: false, db)
        if isVisible { hasVisibleChanges = true }
    }

    /// Returns the columns of the row in `episode`.
    private func columns(_ values: Values, firstSeen: Int64) -> Columns {
        let digests = values.digests
        return values.facts.columns(values.alternate.media, name: values.name, firstSeen: firstSeen) + [
            "name": values.path, "buried": EpisodeSQL.alternate, "digest": digests.all,
            "visible_digest": digests.visible,
        ]
    }

    private static func alternateColumns(_ values: Values) -> Columns {
        let medium = values.alternate.medium
        return [
            "position": values.position, "key": values.alternate.key, "title": medium.title,
            "bit_rate": medium.bitRate, "height": medium.height, "language": medium.language,
            "codecs": medium.codecs,
        ]
    }

    /// Hides an alternate that the feed no longer offers, and removes its download task. The alternate's row stays. Its
    /// cached bytes stay until they are evicted, like those of any file.
    private mutating func remove(_ id: EpisodeID) throws {
        try db.run("UPDATE episode SET buried = 1, listed = 0, changed = ? WHERE id = ?", [now, id])
        try db.run("DELETE FROM download WHERE episode = ?", [id])
        hasVisibleChanges = true
    }
}

/// A further encoding of an item.
struct AlternateFacts {
    /// The encoding as the feed describes it.
    let medium: Medium
    /// The values to store.
    let media: EpisodeMedia
    /// The key by which a later merge recognizes the encoding if its URL has changed.
    let key: String

    var fileExtension: String { MediaType(type: media.enclosure.type, url: media.enclosure.url).fileExtension }

    /// The file name without its extension. It consists of the encoding's title (without one, the kind of media), then
    /// its height, bit rate and language.
    var label: String {
        var words: [String] = []
        if let title = medium.title.map(FileName.trimmedSpace), !title.isEmpty {
            words = [title]
        } else {
            words = [StreamFile.isStream("x." + fileExtension) ? "Stream" : Self.kind(media.enclosure)]
        }
        let details = [
            medium.height.map { "\($0)p" }, medium.bitRate.flatMap(Self.rate), medium.language,
        ]
        for detail in details.compactMap({ $0 }) {
            let isPresent = words.contains { $0.split(separator: " ").contains(Substring(detail)) }
            if !isPresent { words.append(detail) }
        }
        return FileName.portable(FileName.stem(FileName.cut(words.joined(separator: " "), to: Self.maxLabel)))
    }

    /// The maximum size of a label in bytes of UTF-8.
    private static let maxLabel = 100

    private static func kind(_ enclosure: Enclosure) -> String {
        switch MediaType(type: enclosure.type, url: enclosure.url).major {
        case .audio: "Audio"
        case .video: "Video"
        default: "Media"
        }
    }

    /// Returns the text of a bit rate in bits per second: `96k`, or `800` if it is less than a thousand. Returns `nil`
    /// for an impossible rate.
    private static func rate(_ rate: Double) -> String? {
        guard rate.isFinite, rate >= 1, rate < 1e12 else { return nil }
        return rate < 1_000 ? "\(Int64(rate))" : "\(Int64((rate / 1_000).rounded()))k"
    }
}
