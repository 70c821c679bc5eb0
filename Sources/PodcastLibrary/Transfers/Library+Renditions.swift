import GRDB
package import PodcastFeed
package import PodcastProtocol
package import Transfers

extension Library {
    // MARK: - Queries

    /// Returns the current rendition of an episode: its bytes as defined by one server response.
    package func rendition(of episode: EpisodeID) throws -> Rendition? { try first(where: "r.episode = ?", [episode]) }

    /// Returns the rendition with this cache file.
    package func rendition(file: String) throws -> Rendition? { try first(where: "r.file = ?", [file]) }

    /// Returns the renditions in the cache: its expected contents.
    package func renditions() throws -> [Rendition] { try all(where: "r.archived IS NULL ORDER BY r.episode") }

    /// Returns the complete renditions whose files have not been searched for chapters yet.
    package func renditionsWithUnreadChapters() throws -> [Rendition] {
        try all(where: "r.complete = 1 AND r.chapters IS NULL")
    }

    /// Returns the renditions in the cache except pinned ones. Those that are open or in transfer are included, since
    /// the library does not know which they are.
    ///
    /// Those of played episodes come first, then those of unplayed ones; in both groups the least recently opened come
    /// first. The daemon, which also knows the transfers, decides the order of eviction.
    package func evictionCandidates() throws -> [Rendition] {
        try all(
            where: """
                e.pinned = 0 AND r.archived IS NULL ORDER BY \(RenditionSQL.played) DESC, r.last_opened, r.episode
                """)
    }

    // MARK: - Changes

    /// Sets the current rendition of an episode, replacing any other.
    ///
    /// Its generation becomes the episode's generation. Its size, if known, becomes the episode's confirmed size. The
    /// rendition's flag `pinned` can set the episode's flag but not clear it.
    ///
    /// - Returns: The replaced rendition, whose cache file is now unreferenced; `nil` if there was no rendition, or if
    ///   it had the same file.
    /// - Throws: `noSuchEpisode`; `staleGeneration` if the episode's generation is higher, or if the current rendition
    ///   has the same generation and another file.
    @discardableResult
    package func pin(_ rendition: Rendition, now: Int64) throws -> Rendition? {
        try write { db in
            let episode = try Row.fetchOne(
                db, "SELECT generation, podcast FROM episode WHERE id = ? AND \(AlternateSQL.isPresent)",
                [rendition.episode])
            guard let episode else { throw LibraryError.noSuchEpisode(rendition.episode) }
            let (current, podcast): (Int, Int64) = (episode[0], episode[1])
            let old = try Rendition.fetch(db, where: "r.episode = ?", [rendition.episode]).first
            let isSecond = old.map { $0.generation == rendition.generation && $0.file != rendition.file } ?? false
            guard rendition.generation >= current, !isSecond else {
                throw LibraryError.staleGeneration(
                    episode: rendition.episode, given: rendition.generation, current: current)
            }
            // Not INSERT OR REPLACE, which would also remove another episode's row with the same file.
            try db.run("DELETE FROM rendition WHERE episode = ?", [rendition.episode])
            try db.insert(
                into: "rendition",
                [
                    "episode": rendition.episode, "podcast": podcast, "generation": rendition.generation,
                    "file": rendition.file, "size": rendition.size, "validator": rendition.validator,
                    "final_url": rendition.finalURL,
                    "received": rendition.received, "complete": rendition.complete, "sha256": rendition.sha256,
                    "file_state": rendition.fileState, "created": rendition.created,
                    "last_opened": rendition.lastOpened,
                ])
            try db.run(
                """
                UPDATE episode SET
                    changed = CASE WHEN generation = ?1 AND (?2 IS NULL OR confirmed_size IS ?2)
                        THEN changed ELSE ?3 END,
                    generation = ?1, confirmed_size = coalesce(?2, confirmed_size), pinned = max(pinned, ?4)
                WHERE id = ?5
                """, [rendition.generation, rendition.size, now, rendition.pinned, rendition.episode])
            return old?.file == rendition.file ? nil : old
        }
    }

    /// Marks a rendition as complete, and deletes the episode's row in `download`, since the task has ended.
    ///
    /// - Parameter isVerified: Whether the file has the hash that the feed lists.
    /// - Throws: `noSuchRendition` if the generation is no longer current.
    package func complete(
        episode: EpisodeID, generation: Int, size: Int64, sha256: String, isVerified: Bool = false,
        fileState: String? = nil, now: Int64
    ) throws {
        try write { db in
            try db.run(
                """
                UPDATE rendition SET size = ?1, received = ?1, complete = 1, sha256 = ?2, file_state = ?5,
                    verified = ?6
                WHERE episode = ?3 AND generation = ?4
                """, [size, sha256, episode, generation, fileState, isVerified])
            guard db.changesCount > 0 else {
                throw LibraryError.noSuchRendition(episode: episode, generation: generation)
            }
            try db.run("UPDATE episode SET confirmed_size = ?, changed = ? WHERE id = ?", [size, now, episode])
            try db.run("DELETE FROM download WHERE episode = ?", [episode])
        }
    }

    /// Records the state (`FileState` as text) of a complete cache file after the file was verified.
    package func record(fileState: String, of file: String) throws {
        try execute("UPDATE rendition SET file_state = ? WHERE file = ? AND complete = 1", [fileState, file])
    }

    /// Records the chapters inside a complete media file. Chapters are a visible change of the episode.
    ///
    /// - Returns: Whether the file is still that of a rendition, and has chapters.
    package func record(chapters: [Chapter], of rendition: Rendition, now: Int64) throws -> Bool {
        try write { db in
            try db.run(
                "UPDATE rendition SET chapters = ? WHERE file = ? AND complete = 1",
                [chapters.isEmpty ? "" : StoredDetails.text(chapters), rendition.file])
            guard db.changesCount > 0, !chapters.isEmpty else { return false }
            try db.run("UPDATE episode SET changed = ? WHERE id = ?", [now, rendition.episode])
            return true
        }
    }

    /// Records the number of received bytes; ignored if the generation is no longer current.
    package func recordReceived(episode: EpisodeID, generation: Int, bytes: Int64) throws {
        try execute(
            "UPDATE rendition SET received = ? WHERE episode = ? AND generation = ?", [bytes, episode, generation])
    }

    /// Removes the rendition of an episode, if any, and increments the episode's generation in any case.
    ///
    /// - Returns: The new generation.
    /// - Throws: `noSuchEpisode`.
    @discardableResult
    package func dropRendition(episode: EpisodeID, now: Int64) throws -> Int {
        try write { db in
            try db.run("DELETE FROM rendition WHERE episode = ?", [episode])
            guard let generation = try RenditionSQL.advance(episode, now: now, db) else {
                throw LibraryError.noSuchEpisode(episode)
            }
            return generation
        }
    }

    /// Records when an episode was opened. This is the atime of its file, and it also decides the order of eviction.
    ///
    /// - Throws: `noSuchEpisode`.
    package func recordOpening(of episode: EpisodeID, now: Int64) throws {
        try write { db in
            try db.run("UPDATE episode SET last_opened = ? WHERE id = ?", [now, episode])
            guard db.changesCount > 0 else { throw LibraryError.noSuchEpisode(episode) }
            try db.run("UPDATE rendition SET last_opened = ? WHERE episode = ?", [now, episode])
        }
    }
}

/// Conversion of `rendition` rows to values.
enum RenditionSQL {
    /// Increments the generation of an episode, and returns it; `nil` if there is no such episode.
    @discardableResult
    static func advance(_ episode: EpisodeID, now: Int64, _ db: Database) throws -> Int? {
        try StoredNumber.fetchOne(
            db, "UPDATE episode SET generation = generation + 1, changed = ? WHERE id = ? RETURNING generation",
            [now, episode]
        ).map { Int($0) }
    }

    /// The SQL expression for whether the episode was played. An alternate (another encoding of an episode) counts as
    /// played if its main episode was.
    static let played = """
        coalesce((SELECT m.played FROM alternate a JOIN episode m ON m.id = a.episode WHERE a.medium = e.id), e.played)
        """

    /// Returns the chapters inside an episode's complete media file; empty if they are not known.
    static func chapters(_ db: Database, of episode: EpisodeID) throws -> [Chapter] {
        let text = try String.fetchOne(
            db, "SELECT chapters FROM rendition WHERE episode = ? AND complete = 1", [episode])
        return StoredDetails.value(text, as: [Chapter].self) ?? []
    }
}

extension Rendition: StoredRow {
    static let columns = """
        r.episode, r.generation, r.file, r.size, r.validator, r.final_url, r.received, r.complete, \
        r.sha256, r.file_state, r.created, r.last_opened, e.pinned, \(RenditionSQL.played), r.archived
        """
    static let table = "rendition r JOIN episode e ON e.id = r.episode"

    init(_ row: Row) {
        self.init(
            episode: row[0], generation: row[1], file: row[2], size: row[bytes: 3], validator: row[4],
            finalURL: row[5], received: row[bytes: 6] ?? 0, complete: row[7], sha256: row[8], fileState: row[9],
            created: row[10], lastOpened: row[11], pinned: row[12], played: row[13], archived: row[14])
    }
}

/// One version of an episode's media file, as defined by one server response. Its bytes are cached or being fetched.
///
/// An episode has at most one current rendition; the generation distinguishes it from earlier ones.
package struct Rendition: Sendable, Equatable {
    package var episode: EpisodeID
    package var generation: Int
    /// The name of the cache file.
    package var file: String
    /// The total size in bytes; `nil` if no server has confirmed it.
    package var size: Int64?
    /// The validator of the response; opaque to this module.
    package var validator: String?
    package var finalURL: String?
    /// The number of received bytes.
    package var received: Int64 = 0
    package var complete: Bool = false
    package var sha256: String?
    /// The recorded metadata of the complete cache file, such as its size and mtime, opaque to this module; `nil` while
    /// the file is incomplete.
    package var fileState: String?
    package var created: Int64 = 0
    package var lastOpened: Int64 = 0
    package var pinned: Bool = false
    /// Whether the episode was played.
    package var played: Bool = false
    /// The path of the file in the archive folder; `nil` if it is in the cache. `file` is then only a unique name.
    package var archived: String?
}

extension Rendition {
    /// Creates the rendition of a response whose first bytes have arrived.
    package init(
        episode: EpisodeID, generation: Int, file: String, _ pin: Pin, finalURL: String?, now: Int64
    ) {
        self.init(
            episode: episode, generation: generation, file: file, size: pin.total, validator: pin.validator?.text,
            finalURL: finalURL, created: now, lastOpened: now)
    }

    /// Creates the rendition of a cache file with this checkpoint.
    package init(file: String, _ checkpoint: Checkpoint, now: Int64) {
        self.init(
            episode: checkpoint.key.episode, generation: checkpoint.generation, file: file, size: checkpoint.total,
            validator: checkpoint.validator, finalURL: checkpoint.finalURL,
            received: checkpoint.receivedRanges.byteCount, complete: checkpoint.complete, sha256: checkpoint.sha256,
            fileState: checkpoint.state?.text, created: now, lastOpened: now)
    }
}
