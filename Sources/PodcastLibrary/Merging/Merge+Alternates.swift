import GRDB
internal import PodcastFeed
internal import PodcastProtocol

// The alternates of the show's episodes.
//
// An alternate is a further encoding of a feed item, beside the episode's own file. It gets a row in `episode` and one
// in `alternate`. It keeps its id and file name as long as the show exists.
extension Merge {
    /// Updates the alternates of an episode.
    ///
    /// - Parameters:
    ///   - name: The episode's file name.
    ///   - media: The encoding of the episode's own file.
    ///   - isNew: Whether the merge has inserted the episode, which then has no alternates yet.
    mutating func writeAlternates(
        _ facts: EpisodeFacts, of episode: EpisodeID, name: String, besides media: EpisodeMedia, isNew: Bool
    ) throws {
        let offered = facts.encodings.indices.filter { $0 != media.position }
        let known = isNew ? [] : try alternates(of: episode)
        if offered.isEmpty, known.isEmpty { return }
        let rowOfAlternate = Self.match(offered.map { facts.encodings[$0] }, known)
        var names = UniqueNames(taken: Set(known.map { FileName.folded(FileName.stem(ofFile: $0.name)) }))
        for (position, (encoding, row)) in zip(offered, rowOfAlternate).enumerated() {
            let row = row.map { known[$0] }
            guard try row != nil || reserveRoom() else { continue }
            let (medium, media) = (facts.encodings[encoding], facts.media(at: encoding))
            let fileName = row?.name ?? "\(names.claim(medium.label)).\(medium.fileExtension)"
            let path = Alternate.path(fileName, of: name)
            let digest = Self.digest(facts, medium, path)
            let id = try write(
                facts, media, name: fileName, over: row,
                isVisible: row.map { $0.visibleDigest != digest || $0.isBuried } ?? true,
                [
                    "name": path, "folded": "/\(episode)/\(FileName.folded(FileName.stem(ofFile: fileName)))",
                    "buried": EpisodeSQL.alternate, "digest": digest, "visible_digest": digest,
                ])
            try db.run(
                """
                INSERT OR REPLACE INTO alternate
                    (medium, episode, position, name, key, title, bit_rate, height, language, codecs)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
                [
                    id, episode, position, fileName, medium.key, medium.title, medium.bitRate, medium.height,
                    medium.language, medium.codecs,
                ])
        }
        // The row of an alternate that the feed no longer offers stays. Its cached bytes stay until they are evicted,
        // like those of any file.
        let present = Set(rowOfAlternate.compactMap { $0 })
        for (index, row) in known.enumerated() where !row.isBuried && !present.contains(index) {
            try db.run("UPDATE episode SET buried = 1, listed = 0, changed = ? WHERE id = ?", [now, row.id])
            try db.run("DELETE FROM download WHERE episode = ?", [row.id])
            isVisible = true
        }
    }

    private func alternates(of episode: EpisodeID) throws -> [StoredFile] {
        try Row.fetchCursor(
            db,
            """
            SELECT \(StoredFile.columns(name: "a.name", key: "a.key")) FROM \(AlternateSQL.table)
            WHERE a.episode = ? ORDER BY a.medium
            """, [episode]
        ).mapAll(StoredFile.init)
    }

    /// Returns, for each offered encoding, the index of its row in `known`; `nil` for a new alternate.
    ///
    /// An encoding matches the row whose URL is one of its addresses; queries are not compared. An encoding without
    /// such a row matches a row with the same key. The row's file name must have the encoding's extension in either
    /// case, because a row keeps its file name.
    private static func match(_ offered: [Medium], _ known: [StoredFile]) -> [Int?] {
        var rowOfAlternate = [Int?](repeating: nil, count: offered.count)
        for fits in [{ $0.isAt($1.url) }, { $0.key == $1.key }] as [(Medium, StoredFile) -> Bool] {
            for (number, medium) in offered.enumerated() where rowOfAlternate[number] == nil {
                rowOfAlternate[number] = known.indices.first { row in
                    !rowOfAlternate.contains(row)
                        && FileName.fileExtension(of: known[row].name) == medium.fileExtension
                        && fits(medium, known[row])
                }
            }
        }
        return rowOfAlternate
    }

    /// Reserves room for one more row. Returns `false` if the show already has the maximum (`Alternate.maxInShow`).
    private mutating func reserveRoom() throws -> Bool {
        let left =
            try room ?? Alternate.maxInShow
            - (Int.fetchOne(
                db, "SELECT count(*) FROM episode e CROSS JOIN alternate a ON a.episode = e.id WHERE e.podcast = ?",
                [podcast]) ?? 0)
        room = max(0, left - 1)
        return left > 0
    }

    /// Returns the digest of all values of an alternate that users see.
    private static func digest(_ facts: EpisodeFacts, _ medium: Medium, _ path: String) -> Int64 {
        let item = facts.item
        var digest = Digest()
        digest.add(path, facts.title, item.author, medium.type, medium.key, medium.codecs)
        digest.add(item.published?.seconds, item.published.map { Int64($0.offset) }, medium.length)
        digest.add(item.duration)
        digest.add(String(medium.addresses[0].prefix { $0 != "?" }))
        return digest.value
    }
}

extension Medium {
    /// The key by which a later merge recognizes the encoding if its URL has changed: its description without its
    /// addresses, at most 256 characters.
    var key: String {
        let parts = [type, bitRate.map { "\($0)" }, height.map { "\($0)" }, language, title]
        return String(parts.map { $0 ?? "" }.joined(separator: "|").prefix(256))
    }

    var fileExtension: String { MediaType(type: type, url: addresses[0]).fileExtension }

    /// Whether this is one of the addresses, apart from the query.
    func isAt(_ url: String) -> Bool {
        let path = url.prefix { $0 != "?" }
        return addresses.contains { $0.prefix { $0 != "?" } == path }
    }

    /// The file name of an alternate without its extension. It consists of the encoding's title (without one, the kind
    /// of media), then its height, bit rate and language.
    var label: String {
        var words = [FileName.trimmedSpace(title ?? "")]
        if words[0].isEmpty {
            let kinds: [MediaType.Major: String] = [.audio: "Audio", .video: "Video"]
            words = [
                StreamFile.isStream("x." + fileExtension)
                    ? "Stream" : MediaType(type: type, url: addresses[0]).major.flatMap { kinds[$0] } ?? "Media"
            ]
        }
        for detail in [height.map { "\($0)p" }, bitRate.flatMap(Self.text), language].compactMap({ $0 }) {
            let isPresent = words.contains { $0.split(separator: " ").contains(Substring(detail)) }
            if !isPresent { words.append(detail) }
        }
        // At most 100 bytes, since the extension follows.
        return FileName.portable(FileName.stem(FileName.cut(words.joined(separator: " "), to: 100)))
    }

    /// Returns the text of a bit rate in bits per second: `96k`, or `800` if it is less than a thousand. Returns `nil`
    /// for an impossible rate.
    private static func text(_ rate: Double) -> String? {
        guard rate.isFinite, rate >= 1, rate < 1e12 else { return nil }
        return rate < 1_000 ? "\(Int64(rate))" : "\(Int64((rate / 1_000).rounded()))k"
    }
}
