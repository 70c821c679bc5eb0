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

    /// An episode's row.
    private struct StoredEpisode {
        let id: EpisodeID
        let identity: EpisodeIdentity
        let media: StoredMedia
        let listed: Bool
        let buried: Bool
        let digest: Int64
        let visibleDigest: Int64
        let firstSeen: Int64
    }

    let db: Database
    let podcast: ShowID
    let template: NameTemplate
    let now: Int64

    private var inserted: [EpisodeID] = []
    private var updated: [EpisodeID] = []
    private var unlisted: [EpisodeID] = []
    private var alternates: AlternateRows
    /// Whether any change of this merge is visible to users.
    private var isVisible = false

    init(db: Database, podcast: ShowID, template: NameTemplate, now: Int64) {
        self.db = db
        self.podcast = podcast
        self.template = template
        self.now = now
        alternates = AlternateRows(db: db, podcast: podcast, now: now)
    }

    /// - Throws: `noSuchPodcast`.
    mutating func run(_ feed: Feed, _ items: Items, _ response: FeedResponse) throws -> MergeResult {
        let old = try show()
        let known = try rows()
        let rowOfItem = EpisodeMatcher.match(
            items: items.episodes.map(\.identity), rows: known.map(\.identity), isDelta: response.isDelta)

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
            for (row, isPresent) in zip(known, present) where !isPresent && row.listed {
                try db.run("UPDATE episode SET listed = 0 WHERE id = ?", [row.id])
                if !row.buried { unlisted.append(row.id) }
            }
        }
        if response.isDelta {
            try insert(fresh, show: old.title, isFirst: known.isEmpty)
            if !inserted.isEmpty { try Library.unpark(podcasts: [podcast], now: now, db) }
            try updatePodcast(afterDelta: response)
            try observe(inserted.isEmpty ? .unchanged : .healthy, old)
            return try result(items)
        }
        let title = FileName.trimmedSpace(feed.title ?? "")
        try insert(fresh, show: title.isEmpty ? old.title : title, isFirst: known.isEmpty)
        if !inserted.isEmpty { try Library.unpark(podcasts: [podcast], now: now, db) }
        try updatePodcast(old, feed, title: title.isEmpty ? old.title : title, unplayable: items.skipped, response)
        let isEmptied = response.isWhole && items.episodes.isEmpty && known.contains { !$0.buried }
        try observe(isEmptied ? .emptied : .healthy, old)
        return try result(items)
    }

    private func show() throws -> Podcast {
        guard let show = try Podcast.fetch(db, where: "p.id = ?", [podcast]).first else {
            throw LibraryError.noSuchPodcast(podcast)
        }
        return show
    }

    private func result(_ items: Items) throws -> MergeResult {
        MergeResult(
            podcast: try show(), inserted: inserted, updated: updated, unlisted: unlisted, skipped: items.skipped)
    }

    /// Returns the rows of the show's episodes. Buried episodes, which no listing shows, are included. Alternates, the
    /// rows of an episode's other encodings, are not.
    private func rows() throws -> [StoredEpisode] {
        try Row.fetchCursor(
            db,
            """
            SELECT id, length, listed, buried, digest, visible_digest,
                guid, url, title, published, published_offset, type, duration, name, medium, main_url, first_seen
            FROM episode WHERE podcast = ? AND id NOT IN (SELECT medium FROM alternate) ORDER BY id
            """, [podcast]
        ).mapAll { row in
            let published = (row[9] as Int64?).map { PublicationDate(seconds: $0, offset: row[10]) }
            return StoredEpisode(
                id: row[0],
                identity: EpisodeIdentity(
                    guid: row[6], url: row[15] ?? row[7], title: row[8], published: published, type: row[11],
                    duration: row[12]),
                media: StoredMedia(name: row[13], url: row[7], type: row[11], length: row[1], key: row[14]),
                listed: row[2], buried: row[3], digest: row.bits(4), visibleDigest: row.bits(5), firstSeen: row[16])
        }
    }

    // MARK: - Known episodes

    /// Updates the row of an episode that the feed lists.
    private mutating func refresh(_ row: StoredEpisode, with item: EpisodeFacts) throws {
        // A buried episode is restored when the feed lists it again after omitting it. An episode that was buried while
        // the feed listed it stays buried as long as the feed lists it.
        let returns = !row.listed && row.buried
        if row.digest == item.digest {
            guard !row.listed else { return }
            try db.run(
                """
                UPDATE episode SET listed = 1, buried = 0, changed = CASE WHEN ? THEN ? ELSE changed END
                WHERE id = ?
                """, [returns, now, row.id])
        } else {
            let sameVisible = row.visibleDigest == item.visibleDigest
            let media = item.media(of: row.media)
            var columns =
                item.columns(media, name: row.media.name, firstSeen: row.firstSeen) + Self.columns(item, media)
            columns += ["listed": true, "buried": row.buried && row.listed]
            if returns || !sameVisible { columns += ["changed": now] }
            if row.media.isOtherFile(than: media) { columns += ["confirmed_size": nil] }
            try db.update("episode", columns, where: ["id": row.id])
            try StoredSources.write(media.sources, of: row.id, isNew: false, db)
            if !sameVisible { try writeDetail(row.id, item, isNew: false) }
            try writeAttachments(row.id, item, isNew: false)
            try alternates.write(item, of: row.id, name: row.media.name, besides: media, isNew: false)
            if !sameVisible || alternates.hasVisibleChanges { isVisible = true }
        }
        if returns { isVisible = true }
        updated.append(row.id)
    }

    /// Returns the columns that only an episode has, unlike an alternate.
    private static func columns(_ facts: EpisodeFacts, _ media: EpisodeMedia) -> Columns {
        [
            "guid": facts.guid, "season": facts.item.season, "episode": facts.item.episode,
            "episode_type": facts.item.episodeType, "explicit": facts.item.explicit, "link": facts.item.link,
            "image": facts.item.image, "sidecars": facts.sidecars(besides: media).rawValue, "digest": facts.digest,
            "visible_digest": facts.visibleDigest, "medium": media.key, "main_url": media.mainURL,
        ]
    }

    // MARK: - New episodes

    /// Inserts episodes, the oldest first, so that ids increase with time and the older of two episodes with the same
    /// name gets the name without a number.
    private mutating func insert(_ items: [EpisodeFacts], show: String, isFirst: Bool) throws {
        guard !items.isEmpty else { return }
        let taken: Set<String> =
            isFirst
            ? []
            : try String.fetchSet(db, "SELECT folded FROM episode WHERE podcast = ?", [podcast])
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
            var columns = facts.columns(media, name: name, firstSeen: now) + Self.columns(facts, media)
            columns += [
                "podcast": podcast, "name": name, "folded": FileName.folded(stem), "first_seen": now,
                "changed": now,
            ]
            try db.insert(into: "episode", columns)
            let id = EpisodeID(db.lastInsertedRowID)
            try writeDetail(id, facts, isNew: true)
            try writeAttachments(id, facts, isNew: true)
            try StoredSources.write(media.sources, of: id, isNew: true, db)
            try alternates.write(facts, of: id, name: name, besides: media, isNew: true)
            inserted.append(id)
        }
        isVisible = true
    }

    private func writeDetail(_ id: EpisodeID, _ facts: EpisodeFacts, isNew: Bool) throws {
        try StoredDetails.write(facts.details, of: id, isNew: isNew, db)
        let notes = facts.item.description
        guard notes != nil || facts.item.chaptersURL != nil else {
            if isNew { return }
            return try db.run("DELETE FROM detail WHERE episode = ?", [id])
        }
        try db.run(
            "INSERT OR REPLACE INTO detail (episode, notes, chapters_url) VALUES (?, ?, ?)",
            [id, notes, facts.item.chaptersURL])
    }

    private func writeAttachments(_ id: EpisodeID, _ facts: EpisodeFacts, isNew: Bool) throws {
        if !isNew {
            try db.run("DELETE FROM attachment WHERE episode = ?", [id])
        }
        func insert(_ kind: Int, _ position: Int, _ columns: Columns) throws {
            try db.insert(
                into: "attachment", ["episode": id, "kind": kind, "position": position] + columns)
        }
        for (position, transcript) in facts.item.transcripts.enumerated() {
            try insert(
                EpisodeSQL.transcriptKind, position,
                ["url": transcript.url, "type": transcript.type, "language": transcript.language])
        }
        for (position, chapter) in facts.chapters.enumerated() {
            try insert(
                EpisodeSQL.chapterKind, position,
                [
                    "url": chapter.link, "start": chapter.start, "title": chapter.title, "image": chapter.image,
                ])
        }
    }

    // MARK: - The show

    /// Records what the feed says about its own future.
    private func observe(_ sign: FeedSign, _ old: Podcast) throws {
        var trouble = old.trouble
        trouble.observe(sign, at: now)
        if trouble != old.trouble { try Library.set(trouble, of: podcast, now: now, db) }
    }

    /// Records a successful refresh with a delta: a response with only the new items (RFC 3229). The stored
    /// validators (ETag, Last-Modified) are not replaced, so that the next request again asks for the items that are
    /// new since the last whole document.
    private func updatePodcast(afterDelta response: FeedResponse) throws {
        try db.run(
            """
            UPDATE podcast SET state = 'active', error = NULL, http_status = ?1, last_refresh = ?2,
                next_refresh = coalesce(?3, next_refresh), changed = CASE WHEN ?4 THEN ?2 ELSE changed END,
                failures = 0, space = coalesce(?6, space), reach = coalesce(reach, ?7)
            WHERE id = ?5
            """,
            [
                response.status, now, response.nextRefresh, isVisible, podcast, response.space?.rawValue,
                response.reach?.rawValue,
            ])
    }

    private func updatePodcast(
        _ old: Podcast, _ feed: Feed, title: String, unplayable: Int, _ response: FeedResponse
    ) throws {
        var new = old
        new.title = title
        new.link = feed.link
        new.description = feed.description
        new.language = feed.language
        new.image = feed.image
        new.author = feed.author
        new.guid = feed.guid
        new.type = feed.type
        new.explicit = feed.explicit
        new.unplayable = unplayable
        new.state = Podcast.active
        new.error = nil
        let hasOtherDetails = try StoredDetails.write(feed.details, of: podcast, db)
        let changed = isVisible || hasOtherDetails || new != old ? now : old.changed
        var columns: Columns = [
            "title": title, "link": feed.link, "description": feed.description, "language": feed.language,
            "image": feed.image, "author": feed.author, "guid": feed.guid, "type": feed.type,
            "explicit": feed.explicit, "state": Podcast.active, "error": nil, "http_status": response.status,
            "etag": response.etag, "last_modified": response.lastModified, "final_url": response.finalURL,
            "content_type": response.contentType, "last_refresh": now, "next_refresh": response.nextRefresh,
            "changed": changed, "failures": 0, "update_interval": response.updateInterval,
            "quiet_times": feed.quietTimes.bits, "unplayable": unplayable,
        ]
        if let space = response.space { columns += ["space": space.rawValue] }
        try db.update("podcast", columns, where: ["id": podcast])
        try db.run(
            "UPDATE podcast SET reach = ? WHERE id = ? AND reach IS NULL", [response.reach?.rawValue, podcast])
    }
}
