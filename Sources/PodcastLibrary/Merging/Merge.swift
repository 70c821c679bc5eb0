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
        let media: StoredMedia
        let listed: Bool
        let buried: Bool
        let digest: Int64
        let visibleDigest: Int64
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
        guard let old = try PodcastSQL.fetch(db, "p.id = ?", [podcast]) else {
            throw LibraryError.noSuchPodcast(podcast)
        }
        let (known, facts) = try rows()
        let rowOfItem = EpisodeMatcher.match(
            items: items.episodes.map(\.identity), rows: facts, isDelta: response.isDelta)

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
                try db.cachedStatement(sql: "UPDATE episode SET listed = 0 WHERE id = ?").execute(arguments: [row.id])
                if !row.buried { unlisted.append(row.id) }
            }
        }
        if response.isDelta {
            try insert(fresh, show: old.title, isFirst: known.isEmpty)
            if !inserted.isEmpty { try Library.unpark(podcasts: [podcast], now: now, db) }
            try updatePodcast(afterDelta: response)
            return try result(items)
        }
        let title = FileName.trimmedSpace(feed.title ?? "")
        try insert(fresh, show: title.isEmpty ? old.title : title, isFirst: known.isEmpty)
        if !inserted.isEmpty { try Library.unpark(podcasts: [podcast], now: now, db) }
        try updatePodcast(old, feed, title: title.isEmpty ? old.title : title, unplayable: items.skipped, response)
        return try result(items)
    }

    private func result(_ items: Items) throws -> MergeResult {
        guard let podcast = try PodcastSQL.fetch(db, "p.id = ?", [podcast]) else {
            throw LibraryError.noSuchPodcast(podcast)
        }
        return MergeResult(
            podcast: podcast, inserted: inserted, updated: updated, unlisted: unlisted, skipped: items.skipped)
    }

    /// Returns the rows of the show's episodes, and the facts that identify each of them. Buried episodes, which no
    /// listing shows, are included. Alternates, the rows of an episode's other encodings, are not.
    private func rows() throws -> ([StoredEpisode], [EpisodeIdentity]) {
        var known: [StoredEpisode] = []
        var facts: [EpisodeIdentity] = []
        let cursor = try Row.fetchCursor(
            db.cachedStatement(
                sql: """
                    SELECT id, length, listed, buried, digest, visible_digest,
                        guid, url, title, published, published_offset, type, duration, name, medium, main_url
                    FROM episode WHERE podcast = ? AND id NOT IN (SELECT medium FROM alternate) ORDER BY id
                    """), arguments: [podcast])
        while let row = try cursor.next() {
            known.append(
                StoredEpisode(
                    id: row[0],
                    media: StoredMedia(name: row[13], url: row[7], type: row[11], length: row[1], key: row[14]),
                    listed: row[2], buried: row[3], digest: row.bits(4), visibleDigest: row.bits(5)))
            let seconds: Int64? = row[9]
            facts.append(
                EpisodeIdentity(
                    guid: row[6], url: row[15] ?? row[7], title: row[8],
                    published: seconds.map { PublicationDate(seconds: $0, offset: row[10]) }, type: row[11],
                    duration: row[12]))
        }
        return (known, facts)
    }

    // MARK: - Known episodes

    /// Updates the row of an episode that the feed lists.
    private mutating func refresh(_ row: StoredEpisode, with item: EpisodeFacts) throws {
        // A buried episode is restored when the feed lists it again after omitting it. An episode that was buried while
        // the feed listed it stays buried as long as the feed lists it.
        let returns = !row.listed && row.buried
        if row.digest == item.digest {
            guard !row.listed else { return }
            try db.cachedStatement(
                sql: """
                    UPDATE episode SET listed = 1, buried = 0, changed = CASE WHEN ? THEN ? ELSE changed END
                    WHERE id = ?
                    """
            ).execute(arguments: [returns, now, row.id])
        } else {
            let sameVisible = row.visibleDigest == item.visibleDigest
            let media = item.media(of: row.media)
            try update(
                row, item, media, forgetSize: Self.differ(row.media, media), isVisible: returns || !sameVisible)
            try StoredSources.write(media.sources, of: row.id, isNew: false, db)
            if !sameVisible { try writeDetail(row.id, item, isNew: false) }
            try writeAttachments(row.id, item, isNew: false)
            try alternates.write(item, of: row.id, name: row.media.name, besides: media, isNew: false)
            if !sameVisible || alternates.hasVisibleChanges { isVisible = true }
        }
        if returns { isVisible = true }
        updated.append(row.id)
    }

    /// Whether the feed now refers to another file: the stated length or the URL without its query has changed. The
    /// size that a server confirmed for the old file is then deleted. Cached bytes of the old file (a rendition) keep
    /// their own size until they are removed.
    static func differ(_ row: StoredMedia, _ media: EpisodeMedia) -> Bool {
        if let old = row.length, let new = media.enclosure.length, old != new { return true }
        let old = EpisodeMatcher.comparable(url: row.url).prefix { $0 != "?" }
        let new = EpisodeMatcher.comparable(url: media.enclosure.url).prefix { $0 != "?" }
        return old != new
    }

    /// Returns the size in bytes of the playlist that podfs generates for a stream; `nil` for any other file.
    private static func streamSize(_ name: String, _ facts: EpisodeFacts, _ media: EpisodeMedia) -> Int? {
        guard StreamFile.isStream(name) else { return nil }
        return StreamFile.content(title: facts.title, duration: facts.item.duration, url: media.enclosure.url).count
    }

    private func update(
        _ row: StoredEpisode, _ facts: EpisodeFacts, _ media: EpisodeMedia, forgetSize: Bool, isVisible: Bool
    ) throws {
        let item = facts.item
        let arguments: [(any DatabaseValueConvertible)?] = [
            facts.guid, facts.title, item.published?.seconds, item.published?.offset ?? 0, item.duration,
            media.enclosure.url, media.enclosure.type, media.enclosure.length, item.season, item.episode,
            item.episodeType, item.explicit, item.link, item.image, item.author,
            facts.sidecars(besides: media).rawValue, facts.digest, facts.visibleDigest, isVisible, now, forgetSize,
            row.buried && row.listed, row.id, media.key,
            media.mainURL, Self.streamSize(row.media.name, facts, media),
        ]
        try db.cachedStatement(
            sql: """
                UPDATE episode SET
                    guid = ?1, title = ?2, published = ?3, published_offset = ?4, moment = coalesce(?3, first_seen),
                    duration = ?5, url = ?6, type = ?7, length = ?8, season = ?9, episode = ?10, episode_type = ?11,
                    explicit = ?12, link = ?13, image = ?14, author = ?15, sidecars = ?16, digest = ?17,
                    visible_digest = ?18, changed = CASE WHEN ?19 THEN ?20 ELSE changed END,
                    confirmed_size = coalesce(?26, CASE WHEN ?21 THEN NULL ELSE confirmed_size END),
                    listed = 1, buried = ?22, medium = ?24, main_url = ?25
                WHERE id = ?23
                """
        ).execute(arguments: StatementArguments(arguments))
    }

    // MARK: - New episodes

    /// Inserts episodes, the oldest first, so that ids increase with time and the older of two episodes with the same
    /// name gets the name without a number.
    private mutating func insert(_ items: [EpisodeFacts], show: String, isFirst: Bool) throws {
        guard !items.isEmpty else { return }
        let taken: Set<String> =
            isFirst
            ? []
            : try String.fetchSet(
                db.cachedStatement(sql: "SELECT folded FROM episode WHERE podcast = ?"), arguments: [podcast])
        var names = UniqueNames(taken: taken.union(UniqueNames.reservedInShow))
        // Undated items come last. Among themselves they are inserted in reverse document order, like items with equal
        // dates, since most documents list the newest item first.
        let times = items.map { $0.item.published?.seconds ?? .max }
        let order = items.indices.sorted { times[$0] != times[$1] ? times[$0] < times[$1] : $0 > $1 }
        let statement = try db.cachedStatement(
            sql: """
                INSERT INTO episode (podcast, name, folded, guid, title, published, published_offset, moment, duration,
                    url, type, length, season, episode, episode_type, explicit, link, image, author, first_seen,
                    changed, sidecars, digest, visible_digest, medium, main_url, confirmed_size)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """)
        let preference = try PodcastSQL.settings(db, of: podcast)["prefer"].flatMap(MediaPreference.init)
        for index in order {
            let facts = items[index]
            let item = facts.item
            let stem = names.claim(template.stem(for: item, show: show))
            let media = facts.media(preferring: preference)
            let name = stem + "." + MediaType(type: media.enclosure.type, url: media.enclosure.url).fileExtension
            let arguments: [(any DatabaseValueConvertible)?] = [
                podcast, name, FileName.folded(stem), facts.guid, facts.title,
                item.published?.seconds, item.published?.offset ?? 0, item.published?.seconds ?? now, item.duration,
                media.enclosure.url, media.enclosure.type, media.enclosure.length, item.season, item.episode,
                item.episodeType, item.explicit, item.link, item.image, item.author, now, now,
                facts.sidecars(besides: media).rawValue, facts.digest, facts.visibleDigest, media.key, media.mainURL,
                Self.streamSize(name, facts, media),
            ]
            try statement.execute(arguments: StatementArguments(arguments))
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
            return try db.cachedStatement(sql: "DELETE FROM detail WHERE episode = ?").execute(arguments: [id])
        }
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO detail (episode, notes, chapters_url) VALUES (?, ?, ?)")
            .execute(arguments: [id, notes, facts.item.chaptersURL])
    }

    private func writeAttachments(_ id: EpisodeID, _ facts: EpisodeFacts, isNew: Bool) throws {
        if !isNew {
            try db.cachedStatement(sql: "DELETE FROM attachment WHERE episode = ?").execute(arguments: [id])
        }
        if facts.item.enclosures.count < 2, facts.item.transcripts.isEmpty, facts.chapters.isEmpty { return }
        let statement = try db.cachedStatement(
            sql: """
                INSERT INTO attachment (episode, kind, position, url, type, language, length, start, title, image)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """)
        for (position, media) in facts.alternates.enumerated() {
            try statement.execute(arguments: [
                id, EpisodeSQL.alternateKind, position, media.url, media.type, nil, media.length, nil, nil, nil,
            ])
        }
        for (position, transcript) in facts.item.transcripts.enumerated() {
            try statement.execute(arguments: [
                id, EpisodeSQL.transcriptKind, position, transcript.url, transcript.type, transcript.language, nil,
                nil, nil, nil,
            ])
        }
        for (position, chapter) in facts.chapters.enumerated() {
            try statement.execute(arguments: [
                id, EpisodeSQL.chapterKind, position, chapter.link, nil, nil, nil, chapter.start, chapter.title,
                chapter.image,
            ])
        }
    }

    // MARK: - The show

    /// Records a successful refresh with a delta: a response with only the new items (RFC 3229). The stored
    /// validators (ETag, Last-Modified) are not replaced, so that the next request again asks for the items that are
    /// new since the last whole document.
    private func updatePodcast(afterDelta response: FeedResponse) throws {
        try db.cachedStatement(
            sql: """
                UPDATE podcast SET state = 'active', error = NULL, http_status = ?1, last_refresh = ?2,
                    next_refresh = coalesce(?3, next_refresh), changed = CASE WHEN ?4 THEN ?2 ELSE changed END,
                    failures = 0, space = coalesce(?6, space), reach = coalesce(reach, ?7)
                WHERE id = ?5
                """
        ).execute(arguments: [
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
        let arguments: [(any DatabaseValueConvertible)?] = [
            title, feed.link, feed.description, feed.language, feed.image, feed.author, feed.guid, feed.type,
            feed.explicit, response.status, response.etag, response.lastModified, response.finalURL,
            response.contentType, now, response.nextRefresh, changed, response.updateInterval,
            response.space?.rawValue, response.reach?.rawValue, feed.quietTimes.bits, unplayable,
            podcast,
        ]
        try db.cachedStatement(
            sql: """
                UPDATE podcast SET title = ?, link = ?, description = ?, language = ?, image = ?, author = ?, guid = ?,
                    type = ?, explicit = ?, state = 'active', error = NULL, http_status = ?, etag = ?,
                    last_modified = ?, final_url = ?, content_type = ?, last_refresh = ?, next_refresh = ?, changed = ?,
                    failures = 0, update_interval = ?, space = coalesce(?, space), reach = coalesce(reach, ?),
                    quiet_times = ?, unplayable = ?
                WHERE id = ?
                """
        ).execute(arguments: StatementArguments(arguments))
    }
}
