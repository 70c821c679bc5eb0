import GRDB
import Glibc
import PodcastFeed
package import PodcastProtocol

extension Library {
    // MARK: - Queries

    /// Returns the episodes of a show, newest first; an undated one is sorted by when it was first seen.
    package func entries(of podcast: ShowID) throws -> [EpisodeEntry] {
        try all(where: EpisodeSQL.isListed, [podcast])
    }

    /// Returns the episodes of a show that have any of these sidecars, newest first.
    package func entries(of podcast: ShowID, with sidecars: Sidecars) throws -> [EpisodeEntry] {
        try all(
            where: """
                e.podcast = ?1 AND e.buried = 0 AND (e.sidecars & ?2 <> 0 OR ?3 AND r.chapters <> '') \
                ORDER BY e.moment DESC, e.id DESC
                """, [podcast, sidecars.rawValue, sidecars.contains(.chapters)])
    }

    package func entry(of podcast: ShowID, named name: String) throws -> EpisodeEntry? {
        try first(where: EpisodeSQL.isNamed, [podcast, FileName.folded(FileName.stem(ofFile: name)), name])
    }

    /// Returns the episode with exactly this file name without extension, for lookups of its sidecar files.
    package func entry(of podcast: ShowID, stem: String) throws -> EpisodeEntry? {
        try all(where: "e.podcast = ? AND e.folded = ? AND e.buried = 0", [podcast, FileName.folded(stem)])
            .first { FileName.stem(ofFile: $0.name).utf8.elementsEqual(stem.utf8) }
    }

    /// Returns the episode or the alternate with this id. An alternate is another encoding of an episode; it has a row
    /// of its own. Its name is a path: the folder of the episode's alternates and the file name.
    package func entry(id: EpisodeID) throws -> EpisodeEntry? {
        try first(where: "e.id = ? AND e.buried <> 1", [id])
    }

    /// Returns the episode or the alternate with this id. The name of an alternate is a path, as in `entry(id:)`.
    package func episode(id: EpisodeID) throws -> Episode? {
        try first(where: "e.id = ? AND e.buried <> 1", [id])
    }

    package func episode(of podcast: ShowID, named name: String) throws -> Episode? {
        try first(where: EpisodeSQL.isNamed, [podcast, FileName.folded(FileName.stem(ofFile: name)), name])
    }

    /// Returns the episodes of a show with their notes, newest first.
    package func episodes(of podcast: ShowID) throws -> [Episode] {
        try all(where: EpisodeSQL.isListed, [podcast])
    }

    /// Returns the transcripts and chapters that the feed lists for an episode. If the feed itself has no chapters,
    /// those inside the cached media file are returned.
    package func extras(of episode: EpisodeID) throws -> EpisodeExtras {
        try read { db in try EpisodeExtras.fetch(db, of: episode) }
    }

    /// Returns the tracks of a show's playlist, newest first. Reads only the columns that a track needs.
    package func tracks(of podcast: ShowID) throws -> [Track] {
        try rows("SELECT name, title, duration FROM episode e WHERE \(EpisodeSQL.isListed)", [podcast]) {
            Track(name: $0[0], title: $0[1], duration: $0[2])
        }
    }

    // MARK: - Changes

    /// Renames an episode's file, and the folder of its alternates. The extension stays; `name` may include it.
    ///
    /// - Returns: The file's new name, with its extension.
    /// - Throws: `invalidName`, `nameTaken`, `noSuchEpisode`.
    @discardableResult
    package func renameEpisode(id: EpisodeID, to name: String, now: Int64 = Int64(time(nil))) throws -> String {
        try write { db in
            let row = try Row.fetchOne(db, "SELECT podcast, name FROM episode WHERE id = ? AND buried = 0", [id])
            guard let row else { throw LibraryError.noSuchEpisode(id) }
            let podcast: ShowID = row[0]
            let suffix = "." + FileName.fileExtension(of: row[1])
            var stem = FileName.normalized(name)
            if stem.utf8.count > suffix.utf8.count, stem.lowercased().hasSuffix(suffix.lowercased()) {
                stem.removeLast(suffix.count)
            }
            if let reason = FileName.objection(to: stem) { throw LibraryError.invalidName(name, reason: reason) }
            let folded = FileName.folded(stem)
            if UniqueNames.reservedInShow.contains(folded) {
                throw LibraryError.invalidName(name, reason: "podfs has a file of this name in every show")
            }
            let taken = try Bool.fetchOne(
                db, "SELECT 1 FROM episode WHERE podcast = ? AND folded = ? AND id <> ?", [podcast, folded, id])
            guard taken == nil else { throw LibraryError.nameTaken(stem + suffix) }
            try EpisodeSQL.rename(id, to: stem + suffix, now: now, db)
            return stem + suffix
        }
    }

    /// Removes episodes from all listings because the setting `keep` excludes them, and deletes their renditions and
    /// downloads. The `episode` rows stay as tombstones, so that an episode that leaves the feed and returns is the
    /// same file again.
    ///
    /// - Returns: The deleted renditions, whose cache files the caller removes.
    package func bury(episodes: [EpisodeID], now: Int64) throws -> [Rendition] {
        try write { db in
            var renditions: [Rendition] = []
            for id in episodes {
                for file in try Self.files(of: id, db) {
                    let dropped = try Rendition.fetch(db, where: "r.episode = ?", [file])
                    for table in ["rendition", "download"] {
                        try db.run("DELETE FROM \(table) WHERE episode = ?", [file])
                    }
                    if !dropped.isEmpty { try RenditionSQL.advance(file, now: now, db) }
                    renditions += dropped
                }
                try db.run("UPDATE episode SET buried = 1, changed = ? WHERE id = ? AND buried = 0", [now, id])
            }
            return renditions
        }
    }

    /// Returns the shows with buried episodes that their feeds still list.
    package func podcastsWithBuriedEpisodes() throws -> [ShowID] {
        try values("SELECT DISTINCT podcast FROM episode WHERE buried = 1 AND listed = 1")
    }

    /// Restores buried episodes to the listings, under their previous names.
    package func unbury(episodes: [EpisodeID], now: Int64) throws {
        try write { db in
            for id in episodes {
                try db.run("UPDATE episode SET buried = 0, changed = ? WHERE id = ? AND buried = 1", [now, id])
            }
        }
    }

    /// Sets the played flag. With a sync server the playback state is one value, played or a position, so marking an
    /// episode as played clears the position: see podfs-sync(7).
    ///
    /// - Throws: `noSuchEpisode`.
    package func setPlayed(episode: EpisodeID, _ played: Bool, now: Int64) throws {
        let count = try setPlayed(where: "id = ?4", episode, played, now: now)
        guard count > 0 else { throw LibraryError.noSuchEpisode(episode) }
    }

    /// Sets the played flag of the episodes that meet a condition, which uses the argument `?4`.
    ///
    /// - Returns: The number of these episodes.
    private func setPlayed(
        where condition: String, _ argument: any DatabaseValueConvertible, _ played: Bool, now: Int64
    ) throws -> Int {
        try write { db in
            let clearsPosition = try played && SyncSQL.hasAccount(db)
            try db.run(
                """
                UPDATE episode SET
                    changed = CASE WHEN played = ?1 AND (?2 = 0 OR position IS NULL) THEN changed ELSE ?3 END,
                    played = ?1, position = CASE WHEN ?2 THEN NULL ELSE position END, started = NULL, total = NULL
                WHERE \(condition)
                """, [played, clearsPosition, now, argument])
            return db.changesCount
        }
    }

    /// Sets the playback position. With a sync server, a position marks a played episode as started again, and a
    /// position at the end marks an episode as played.
    ///
    /// - Parameter position: The position in seconds; `nil` clears it.
    /// - Throws: `noSuchEpisode`.
    package func setPosition(episode: EpisodeID, _ position: Double?, now: Int64) throws {
        try write { db in
            var position = position
            var played: Bool?
            if try SyncSQL.hasAccount(db) {
                let duration = try Double.fetchOne(
                    db, "SELECT coalesce(total, duration) FROM episode WHERE id = ?", [episode])
                switch SyncedState(played: false, position: position, total: duration) {
                case .new: break
                case .begun: played = false
                case .played: (played, position) = (true, nil)
                }
            }
            try db.run(
                """
                UPDATE episode SET
                    changed = CASE WHEN position IS ?1 AND played = coalesce(?2, played) THEN changed ELSE ?3 END,
                    position = ?1, played = coalesce(?2, played), started = NULL WHERE id = ?4
                """, [position, played, now, episode])
            guard db.changesCount > 0 else { throw LibraryError.noSuchEpisode(episode) }
        }
    }

    /// Sets whether the current and future renditions of an episode are exempt from eviction. Throws `noSuchEpisode`.
    package func setPinned(episode: EpisodeID, _ pinned: Bool, now: Int64) throws {
        try update(episode, "changed = CASE WHEN pinned = ?1 THEN changed ELSE ?2 END, pinned = ?1", [pinned, now])
    }

    /// Persists the size that a server has confirmed in a response whose bytes are not cached. Throws `noSuchEpisode`.
    package func confirm(episode: EpisodeID, size: Int64, now: Int64) throws {
        try update(
            episode,
            "changed = CASE WHEN confirmed_size IS ?1 THEN changed ELSE ?2 END, confirmed_size = ?1", [size, now])
    }

    /// Executes `UPDATE episode SET assignments`. The assignments use the two arguments `?1` and `?2`; the id is `?3`.
    private func update(_ episode: EpisodeID, _ assignments: String, _ arguments: StatementArguments) throws {
        try execute(
            "UPDATE episode SET \(assignments) WHERE id = ?3", arguments + [episode], orThrow: .noSuchEpisode(episode))
    }
}

extension EpisodeExtras {
    static func fetch(_ db: Database, of episode: EpisodeID) throws -> EpisodeExtras {
        let text = try String.fetchOne(db, "SELECT extras FROM detail WHERE episode = ?", [episode])
        var extras = StoredDetails.value(text, as: EpisodeExtras.self) ?? EpisodeExtras()
        if extras.chapters.isEmpty { extras.chapters = try RenditionSQL.chapters(db, of: episode) }
        return extras
    }
}

/// Conversion of `episode` rows to values.
enum EpisodeSQL {
    /// Renames the file of an episode, and moves its alternates to the folder with the new name.
    static func rename(_ episode: EpisodeID, to name: String, now: Int64, _ db: Database) throws {
        try db.run(
            "UPDATE episode SET name = ?, folded = ?, changed = ? WHERE id = ?",
            [name, FileName.folded(FileName.stem(ofFile: name)), now, episode])
        try db.run(
            """
            UPDATE episode SET name = ?1 || (SELECT a.name FROM alternate a WHERE a.medium = episode.id), changed = ?2
            WHERE id IN (SELECT medium FROM alternate WHERE episode = ?3)
            """, [Alternate.path("", of: name), now, episode])
    }

    /// The value of `buried` in the row of an alternate; see `schema.sql`.
    static let alternate = 2

    /// The SQL expression for an episode's size: the size that a server has confirmed for the file that the feed
    /// currently names, otherwise the size of the rendition.
    static let size = "coalesce(e.confirmed_size, r.size)"

    /// The SQL expression for an episode's sidecars, with the chapters inside the cached media file.
    fileprivate static let sidecars = "e.sidecars | iif(r.chapters <> '', \(Sidecars.chapters.rawValue), 0)"

    /// The condition of the rows `episode e` that can be found: those that a subscribed show lists.
    static let isFindable = "e.buried = 0 AND (SELECT p.ephemeral = 0 FROM podcast p WHERE p.id = e.podcast)"
    /// The condition of the rows `episode e` in progress. The position is an integer, like the number in the condition
    /// of the index `episode_begun`: otherwise SQLite does not use this index.
    static let isBegun = "e.played = 0 AND e.position >= \(Int(ListeningRules.inProgress))"
    /// The condition and the order of a show's episodes, newest first.
    static let isListed = "e.podcast = ? AND e.buried = 0 ORDER BY e.moment DESC, e.id DESC"
    /// The condition of a show's episode with a folded stem and a file name.
    fileprivate static let isNamed = "e.podcast = ? AND e.folded = ? AND e.name = ? AND e.buried = 0"
}

extension EpisodeEntry: StoredRow {
    static let columns = """
        e.id, e.podcast, e.name, e.published, e.first_seen, e.changed, \(EpisodeSQL.size), e.length, e.duration, \
        e.type, e.generation, r.received, r.complete, e.last_opened, \(EpisodeSQL.sidecars)
        """
    static let table = "episode e LEFT JOIN rendition r ON r.episode = e.id"

    init(_ row: Row) {
        let name: String = row[2]
        let size = EpisodeSize(
            confirmed: row[bytes: 6], length: row[bytes: 7], duration: row[8], type: row[9], name: name)
        self.init(
            id: row[0], podcast: row[1], name: name, published: row[3], firstSeen: row[4], changed: row[5],
            size: size.bytes, sizeSource: size.source, generation: row[10], cachedBytes: row[bytes: 11] ?? 0,
            complete: row[12] ?? false, lastOpened: row[13], sidecars: Sidecars(rawValue: row[14]))
    }
}

extension Episode: StoredRow {
    static let columns = """
        e.id, e.podcast, e.name, e.guid, e.title, e.published, e.published_offset, e.duration, e.url, e.type, \
        e.length, e.season, e.episode, e.episode_type, e.explicit, e.link, n.notes, e.image, e.author, e.first_seen, \
        e.changed, e.listed, \(EpisodeSQL.size), e.generation, r.received, r.complete, r.sha256, r.verified, \
        e.played, e.position, e.last_played, e.pinned, e.last_opened, e.sidecars, a.path, a.defect, f.problem, \
        r.archived IS NOT NULL, \(Download.columns)
        """
    static let table = """
        episode e LEFT JOIN rendition r ON r.episode = e.id LEFT JOIN download d ON d.episode = e.id \
        LEFT JOIN detail n ON n.episode = e.id LEFT JOIN archived a ON a.episode = e.id \
        LEFT JOIN archive_folder f ON a.episode IS NOT NULL
        """

    init(_ row: Row) {
        self.init(
            id: row[0], podcast: row[1], name: row[2], guid: row[3], title: row[4], published: row[5],
            publishedOffset: row[6], duration: row[7], url: row[8], type: row[9], length: row[bytes: 10],
            season: row[11], episode: row[12], episodeType: row[13], explicit: row[14], link: row[15],
            notes: row[16], image: row[17], author: row[18], firstSeen: row[19], changed: row[20], listed: row[21],
            confirmedSize: row[bytes: 22], generation: row[23], cachedBytes: row[bytes: 24] ?? 0,
            complete: row[25] ?? false, sha256: row[26], isVerified: row[27] ?? false, played: row[28],
            position: row[29], lastPlayed: row[30], pinned: row[31], lastOpened: row[32],
            sidecars: Sidecars(rawValue: row[33]), download: Download(ifAny: row, from: 38))
        if let path: String = row[34] {
            archive = Archive(path: path, defect: row[35], folderProblem: row[36], isServed: row[37])
        }
    }
}

extension Library {
    /// Returns the stored playback state of an episode; `nil` if there is no such episode or it was removed from all
    /// listings.
    package func listening(of episode: EpisodeID) throws -> StoredListening? {
        try row("SELECT played, position, duration FROM episode WHERE id = ? AND buried = 0", [episode]) {
            StoredListening(played: $0[0], position: $0[1], duration: $0[2])
        }
    }

    /// Stores the playback state that a player has reported.
    ///
    /// - Throws: `noSuchEpisode`.
    package func recordListening(to episode: EpisodeID, _ change: ListeningChange, now: Int64) throws {
        try execute(
            """
            UPDATE episode SET changed = ?1, last_played = ?1, played = ?2, position = ?3, started = ?4, total = ?5
            WHERE id = ?6
            """, [now, change.played, change.position, change.started, change.total, episode],
            orThrow: .noSuchEpisode(episode))
    }

    /// Marks all episodes of a show as played or as not played.
    ///
    /// - Returns: The number of changed episodes.
    /// - Throws: `noSuchPodcast`.
    package func setPlayed(podcast: ShowID, _ played: Bool, now: Int64) throws -> Int {
        guard try folder(id: podcast) != nil else { throw LibraryError.noSuchPodcast(podcast) }
        // An episode in progress has no played flag, so marking the show as not played does not change it.
        return try setPlayed(where: "podcast = ?4 AND buried = 0 AND played <> ?1", podcast, played, now: now)
    }
}

extension Episode {
    /// Whether the episode was started and not finished.
    package var isInProgress: Bool { ListeningRules.isInProgress(played: played, position: position) }
}
