import GRDB
internal import Platform
internal import PodcastFeed
internal import PodcastProtocol
internal import Transfers

/// One merge of a feed into a show's rows, inside a transaction.
struct Merge {
    /// A feed's items that are episodes. Created before the transaction begins, since hashing a large feed takes a
    /// while.
    struct Items {
        let episodes: [EpisodeFacts]
        /// The number of items without an enclosure.
        let skipped: Int

        init(_ feed: Feed) {
            episodes = feed.items.compactMap(EpisodeFacts.init)
            skipped = feed.items.count - episodes.count
        }
    }

    let db: Database
    let podcast: ShowID
    let template: NameTemplate
    let now: Int64

    private var inserted: [EpisodeID] = []
    private var updated: [EpisodeID] = []
    private var unlisted: [EpisodeID] = []
    /// The number of alternates that the show may still get; `nil` until they have been counted.
    var room: Int?
    /// Whether any change of this merge is visible to users.
    var isVisible = false

    init(db: Database, podcast: ShowID, template: NameTemplate, now: Int64) {
        self.db = db
        self.podcast = podcast
        self.template = template
        self.now = now
    }

    /// - Throws: `noSuchPodcast`.
    mutating func run(_ feed: Feed, _ items: Items, _ response: FeedResponse) throws -> MergeResult {
        let old = try show()
        let (known, identities) = try rows()
        let rowOfItem = EpisodeMatcher.match(
            items: items.episodes.map(\.identity), rows: identities, isDelta: response.isDelta)

        var present = Array(repeating: false, count: known.count)
        var fresh: [EpisodeFacts] = []
        for (item, row) in zip(items.episodes, rowOfItem) {
            guard let row else {
                fresh.append(item)
                continue
            }
            present[row] = true
            try refresh(known[row], with: item)
        }
        if response.isWhole, !response.isDelta {
            for (row, isPresent) in zip(known, present) where !isPresent && row.isListed {
                try db.run("UPDATE episode SET listed = 0 WHERE id = ?", [row.id])
                if !row.isBuried { unlisted.append(row.id) }
            }
        }
        let stated = response.isDelta ? "" : FileName.trimmedSpace(feed.title ?? "")
        let title = stated.isEmpty ? old.title : stated
        try insert(fresh, show: title, isFirst: known.isEmpty)
        if !inserted.isEmpty { try Library.unpark(podcasts: [podcast], now: now, db) }
        if !response.isDelta { try updateShow(feed, title: title, unplayable: items.skipped, response) }
        try PodcastSQL.recordSuccess(response, of: podcast, isChanged: isVisible, now: now, db)

        var trouble = old.trouble
        let isEmptied = response.isWhole && items.episodes.isEmpty && known.contains { !$0.isBuried }
        trouble.observe(
            response.isDelta && inserted.isEmpty ? .unchanged : isEmptied && !response.isDelta ? .emptied : .healthy,
            at: now)
        if trouble != old.trouble { try Library.set(trouble, of: podcast, now: now, db) }
        return MergeResult(
            podcast: try show(), inserted: inserted, updated: updated, unlisted: unlisted, skipped: items.skipped)
    }

    private func show() throws -> Podcast {
        guard let show = try Podcast.fetch(db, where: "p.id = ?", [podcast]).first else {
            throw LibraryError.noSuchPodcast(podcast)
        }
        return show
    }

    /// Returns the rows of the show's episodes. Buried episodes, which no listing shows, are included. Alternates, the
    /// rows of an episode's other encodings, are not.
    private func rows() throws -> ([StoredFile], [EpisodeIdentity]) {
        var files: [StoredFile] = []
        let identities = try Row.fetchCursor(
            db,
            """
            SELECT \(StoredFile.columns()), e.guid, coalesce(e.main_url, e.url), e.title, e.published,
                e.published_offset, e.type, e.duration
            FROM episode e WHERE e.podcast = ? AND e.id NOT IN (SELECT medium FROM alternate) ORDER BY e.id
            """, [podcast]
        ).mapAll { row in
            files.append(StoredFile(row))
            let published = (row[14] as Int64?).map { PublicationDate(seconds: $0, offset: row[15]) }
            return EpisodeIdentity(
                guid: row[11], url: row[12], title: row[13], published: published, type: row[16], duration: row[17])
        }
        return (files, identities)
    }

    // MARK: - Episodes

    /// Updates the row of an episode that the feed lists.
    private mutating func refresh(_ row: StoredFile, with item: EpisodeFacts) throws {
        // A buried episode is restored when the feed lists it again after omitting it. An episode that was buried while
        // the feed listed it stays buried as long as the feed lists it.
        let returns = !row.isListed && row.isBuried
        if row.digest == item.digest {
            guard !row.isListed else { return }
            try db.run(
                "UPDATE episode SET listed = 1, buried = 0, changed = iif(?, ?, changed) WHERE id = ?",
                [returns, now, row.id])
            if returns { isVisible = true }
        } else {
            try writeEpisode(
                item, item.media(of: row), name: row.name, over: row, returns: returns,
                ["buried": row.isBuried && row.isListed])
        }
        updated.append(row.id)
    }

    /// Inserts episodes, the oldest first, so that ids increase with time and the older of two episodes with the same
    /// name gets the name without a number.
    private mutating func insert(_ items: [EpisodeFacts], show: String, isFirst: Bool) throws {
        guard !items.isEmpty else { return }
        let taken: Set<String> =
            isFirst ? [] : try String.fetchSet(db, "SELECT folded FROM episode WHERE podcast = ?", [podcast])
        var names = UniqueNames(taken: taken.union(UniqueNames.reservedInShow))
        // Undated items come last. Among themselves they are inserted in reverse document order, like items with equal
        // dates, since most documents list the newest item first.
        let times = items.map { $0.item.published?.seconds ?? .max }
        let order = items.indices.sorted { times[$0] != times[$1] ? times[$0] < times[$1] : $0 > $1 }
        let preference = try PodcastSQL.settings(db, of: podcast)["prefer"].flatMap(MediaPreference.init)
        for index in order {
            let facts = items[index]
            let stem = names.claim(template.stem(for: facts.item, show: show))
            let media = facts.media(preferring: preference)
            let name = stem + "." + MediaType(type: media.enclosure.type, url: media.enclosure.url).fileExtension
            inserted.append(
                try writeEpisode(
                    facts, media, name: name, over: nil, ["name": name, "folded": FileName.folded(stem)]))
        }
    }

    /// Writes the rows of an episode.
    ///
    /// - Parameters:
    ///   - row: The known row; `nil` for a new episode.
    ///   - returns: Whether the episode is restored.
    ///   - more: Further columns.
    @discardableResult
    private mutating func writeEpisode(
        _ facts: EpisodeFacts, _ media: EpisodeMedia, name: String, over row: StoredFile?, returns: Bool = false,
        _ more: Columns
    ) throws -> EpisodeID {
        let item = facts.item
        let isOther = row?.visibleDigest != facts.visibleDigest
        let hasAlternates = facts.encodings.count > 1 || media.position == nil
        let id = try write(
            facts, media, name: name, over: row, isVisible: isOther || returns,
            [
                "guid": facts.guid, "season": item.season, "episode": item.episode, "episode_type": item.episodeType,
                "explicit": item.explicit, "link": item.link, "image": item.image,
                "sidecars": facts.sidecars.union(hasAlternates ? .alternates : []).rawValue, "digest": facts.digest,
                "visible_digest": facts.visibleDigest, "medium": media.key, "main_url": media.mainURL,
            ] + more)
        if isOther { try writeDetails(facts, of: id, isNew: row == nil) }
        try writeAlternates(facts, of: id, name: name, besides: media, isNew: row == nil)
        return id
    }

    private func writeDetails(_ facts: EpisodeFacts, of id: EpisodeID, isNew: Bool) throws {
        let item = facts.item
        if !isNew {
            for table in ["detail", "episode_details"] {
                try db.run("DELETE FROM \(table) WHERE episode = ?", [id])
            }
        }
        let extras = EpisodeExtras(
            transcripts: item.transcripts, chaptersURL: item.chaptersURL, chapters: facts.chapters)
        let hasExtras = extras != EpisodeExtras()
        if item.description != nil || hasExtras {
            try db.run(
                "INSERT INTO detail (episode, notes, extras) VALUES (?, ?, ?)",
                [id, item.description, hasExtras ? StoredDetails.text(extras) : nil])
        }
        if let details = StoredDetails.text(facts.details) {
            try db.run("INSERT INTO episode_details (episode, value) VALUES (?, ?)", [id, details])
        }
    }

    /// Writes the row of an episode or an alternate in `episode`, and the addresses of its file.
    ///
    /// - Parameters:
    ///   - name: The file name.
    ///   - row: The known row; `nil` for a new one.
    ///   - isVisible: Whether users see the change.
    ///   - more: The columns in which episodes and alternates differ.
    mutating func write(
        _ facts: EpisodeFacts, _ media: EpisodeMedia, name: String, over row: StoredFile?, isVisible: Bool,
        _ more: Columns
    ) throws -> EpisodeID {
        let (item, enclosure) = (facts.item, media.enclosure)
        let published = item.published
        var columns: Columns = [
            "title": facts.title, "published": published?.seconds, "published_offset": published?.offset ?? 0,
            "moment": published?.seconds ?? row?.firstSeen ?? now, "duration": item.duration, "url": enclosure.url,
            "type": enclosure.type, "length": enclosure.length, "author": item.author,
        ]
        columns += more
        if isVisible {
            columns += ["changed": now]
            self.isVisible = true
        }
        if StreamFile.isStream(name) {
            // The playlist of a stream is generated, so its size is known.
            let content = StreamFile.content(title: facts.title, duration: item.duration, url: enclosure.url)
            columns += ["confirmed_size": content.count]
        } else if row?.isOtherFile(than: media) ?? false {
            columns += ["confirmed_size": nil]
        }
        if let row {
            try db.update("episode", columns + ["listed": true], where: ["id": row.id])
            try db.run("DELETE FROM media_source WHERE episode = ?", [row.id])
        } else {
            try db.insert(into: "episode", columns + ["podcast": podcast, "first_seen": now])
        }
        let id = row?.id ?? EpisodeID(db.lastInsertedRowID)
        for (position, source) in media.sources.enumerated() {
            try db.run(
                "INSERT INTO media_source (episode, position, url, hash) VALUES (?, ?, ?, ?)",
                [id, position, source.url, source.hash])
        }
        return id
    }

    // MARK: - The show

    /// Writes what a whole document says about the show.
    private mutating func updateShow(
        _ feed: Feed, title: String, unplayable: Int, _ response: FeedResponse
    ) throws {
        let visible: Columns = [
            "title": title, "link": feed.link, "description": feed.description, "language": feed.language,
            "image": feed.image, "author": feed.author, "guid": feed.guid, "type": feed.type,
            "explicit": feed.explicit, "unplayable": unplayable, "details": StoredDetails.text(feed.details),
        ]
        let old = try Row.fetchOne(db, "SELECT \(visible.list) FROM podcast WHERE id = ?", [podcast])
        if old.map({ Array($0.databaseValues) }) != visible.values { isVisible = true }
        let columns: Columns = [
            "etag": response.etag, "last_modified": response.lastModified, "content_type": response.contentType,
            "update_interval": response.updateInterval, "quiet_times": feed.quietTimes.bits,
        ]
        try db.update("podcast", visible + columns, where: ["id": podcast])
    }
}
