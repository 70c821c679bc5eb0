import Foundation
import GRDB
package import PodcastProtocol

extension Library {
    // MARK: - The folder

    /// Returns the archive folder; `nil` if there has never been one.
    package func archiveFolder() throws -> ArchiveFolderRecord? {
        try row("SELECT path, marker, owner, problem, hindrance FROM archive_folder") {
            ArchiveFolderRecord(path: $0[0], marker: $0[1], owner: $0[2], problem: $0[3], hindrance: $0[4])
        }
    }

    /// Records the archive folder, replacing the former one.
    package func record(_ folder: ArchiveFolderRecord) throws {
        try execute(
            "INSERT OR REPLACE INTO archive_folder (id, path, marker, owner, problem, hindrance) VALUES (1, ?, ?, ?, ?, ?)",
            [folder.path, folder.marker, folder.owner, folder.problem, folder.hindrance])
    }

    /// Records why a file was not added to the archive; `nil` if nothing is left to add.
    package func record(archiveHindrance reason: String?) throws {
        try execute("UPDATE archive_folder SET hindrance = ?1 WHERE hindrance IS NOT ?1", [reason])
    }

    /// Returns what is wrong with the archive, one line: that its folder cannot be read, that a file could not be
    /// added, or that files are missing.
    package func archiveProblem() throws -> String? {
        let folder = try archiveFolder()
        if let problem = folder?.problem ?? folder?.hindrance { return problem }
        let count = try value("SELECT count(*) FROM archived WHERE defect IS NOT NULL") ?? 0
        return count == 0 ? nil : "files that are missing or changed: \(count); podfs doctor lists them"
    }

    /// Whether the archive has any files.
    package func hasArchivedFiles() throws -> Bool { try value("SELECT EXISTS (SELECT 1 FROM archived)") ?? false }

    // MARK: - Files

    package func archivedFile(of episode: EpisodeID) throws -> ArchivedFile? {
        try first(where: "episode = ?", [episode])
    }

    package func archivedFile(path: String) throws -> ArchivedFile? { try first(where: "path = ?", [path]) }

    /// Returns the files whose path follows `path`, in the order of their paths.
    package func archivedFiles(after path: String, limit: Int) throws -> [ArchivedFile] {
        try all(where: "path > ? ORDER BY path LIMIT ?", [path, limit])
    }

    /// Returns the files of episodes in a folder of the archive.
    ///
    /// - Parameter folder: The folder's name.
    package func archivedFiles(in folder: String) throws -> [ArchivedFile] {
        // The character after the slash ends the range.
        try all(where: "path > ? AND path < ? ORDER BY path", [folder + "/", folder + "0"])
    }

    /// Returns the intact files of a show's episodes.
    package func archivedFiles(of show: ShowID) throws -> [ArchivedFile] {
        try all(
            where: "defect IS NULL AND episode IN (SELECT id FROM episode WHERE podcast = ? AND buried = 0)", [show])
    }

    /// Returns the names of the archive's folders that have files of episodes.
    package func archiveFolderNames() throws -> [String] {
        try values("SELECT DISTINCT substr(path, 1, instr(path, '/') - 1) FROM archived")
    }

    /// Records the defect of a file, and stops serving it.
    package func recordDefect(_ defect: String, ofArchived path: String, now: Int64) throws {
        try write { db in
            try db.run("UPDATE archived SET defect = ? WHERE path = ?", [defect, path])
            let episode = try EpisodeID.fetchOne(
                db, "DELETE FROM rendition WHERE archived = ? RETURNING episode", [path])
            guard let episode else { return }
            try RenditionSQL.advance(episode, now: now, db)
        }
    }

    /// Returns the files that are missing or changed.
    package func defectiveArchivedFiles() throws -> [ArchivedFile] {
        try all(where: "defect IS NOT NULL ORDER BY path")
    }

    /// Returns the intact files whose episodes are not served from the archive: it was offline when they were opened,
    /// or their show was subscribed again.
    package func detachedArchivedFiles(excluding excluded: Set<EpisodeID>, limit: Int) throws -> [ArchivedFile] {
        let files: [ArchivedFile] = try all(
            where: """
                defect IS NULL AND EXISTS (SELECT 1 FROM episode e WHERE e.id = archived.episode AND e.buried = 0)
                    AND NOT EXISTS (
                        SELECT 1 FROM rendition r WHERE r.episode = archived.episode AND r.archived IS NOT NULL)
                ORDER BY path LIMIT ?
                """, [limit + excluded.count])
        return Array(files.filter { file in file.episode.map { !excluded.contains($0) } ?? false }.prefix(limit))
    }

    /// Records a complete file in the archive as the file of an episode, and ends the episode's download.
    ///
    /// If the episode has the same content in the cache, the rendition keeps its generation, so that open files and the
    /// kernel's caches stay valid. Otherwise the generation is incremented.
    ///
    /// - Returns: The name of the cache file that is now unreferenced; `nil` if there is none.
    /// - Throws: `noSuchEpisode`.
    @discardableResult
    package func archive(_ file: ArchivedFile, as episode: EpisodeID, now: Int64) throws -> String? {
        try write { db in
            try db.run("DELETE FROM archived WHERE episode = ? OR path = ?", [episode, file.path])
            try db.run(
                """
                INSERT INTO archived (path, episode, feed, guid, url, size, sha256, file_state, defect)
                SELECT ?, e.id, p.url, e.guid, e.url, ?, ?, ?, ? FROM episode e JOIN podcast p ON p.id = e.podcast
                WHERE e.id = ? AND e.buried <> 1
                """, [file.path, file.size, file.sha256, file.fileState, file.defect, episode])
            guard db.changesCount > 0 else { throw LibraryError.noSuchEpisode(episode) }
            let old = try Rendition.fetch(db, where: "r.episode = ?", [episode]).first
            if let old, old.complete, old.sha256 == file.sha256, old.size == file.size {
                try db.run(
                    "UPDATE rendition SET archived = ?, file_state = ? WHERE episode = ?",
                    [file.path, file.fileState, episode])
            } else {
                try db.run("DELETE FROM rendition WHERE episode = ?", [episode])
                try db.run(
                    "UPDATE episode SET generation = generation + 1, confirmed_size = ? WHERE id = ?",
                    [file.size, episode])
                // There is no cache file, so its name is only unique.
                let name = UUID().uuidString.lowercased().replacing("-", with: "")
                try db.run(
                    """
                    INSERT INTO rendition (episode, podcast, generation, file, size, received, complete, sha256,
                        file_state, created, last_opened, archived)
                    SELECT id, podcast, generation, ?1, ?2, ?2, 1, ?3, ?4, ?5, ?5, ?6 FROM episode WHERE id = ?7
                    """, [name, file.size, file.sha256, file.fileState, now, file.path, episode])
            }
            try db.run("UPDATE episode SET changed = ? WHERE id = ?", [now, episode])
            try db.run("DELETE FROM download WHERE episode = ?", [episode])
            guard let old, old.archived == nil else { return nil }
            return old.file
        }
    }

    /// Stops serving an episode from the archive while the folder is offline, and increments its generation. The
    /// file's row stays.
    package func detachArchived(_ episode: EpisodeID, now: Int64) throws {
        try write { db in
            try db.run("DELETE FROM rendition WHERE episode = ? AND archived IS NOT NULL", [episode])
            guard db.changesCount > 0 else { return }
            try RenditionSQL.advance(episode, now: now, db)
        }
    }

    /// Records another path or state of an archived file that has the recorded content.
    package func updateArchived(path: String, to newPath: String, fileState: String) throws {
        try write { db in
            try db.run(
                "UPDATE archived SET path = ?, file_state = ?, defect = NULL WHERE path = ?",
                [newPath, fileState, path])
            try db.run(
                "UPDATE rendition SET archived = ?, file_state = ? WHERE archived = ?", [newPath, fileState, path])
        }
    }

    /// Forgets the archived file of an episode, which stays in the folder.
    package func forgetArchived(_ episode: EpisodeID) throws {
        try execute("DELETE FROM archived WHERE episode = ?", [episode])
    }

    // MARK: - Work

    /// Returns complete cache files of shows that are archived, the oldest episodes of a show first.
    ///
    /// - Parameters:
    ///   - isDefault: Whether shows without the setting `archive` are archived.
    ///   - excluded: Episodes to omit.
    package func archiveCandidates(
        isDefault: Bool, excluding excluded: Set<EpisodeID> = [], limit: Int
    ) throws -> [ArchiveCandidate] {
        let candidates = try rows(
            """
            SELECT e.id, p.id, p.name, e.name, r.size \(ArchiveSQL.candidates(isDefault: isDefault))
            ORDER BY p.id, e.moment, e.id LIMIT ?
            """, [limit + excluded.count]
        ) { row in
            ArchiveCandidate(episode: row[0], show: row[1], showName: row[2], name: row[3], size: row[bytes: 4] ?? 0)
        }
        return Array(candidates.filter { !excluded.contains($0.episode) }.prefix(limit))
    }

    /// Returns how much belongs into the archive and is still in the cache.
    package func archiveBacklog(isDefault: Bool) throws -> ArchiveBacklog {
        try row(
            """
            SELECT count(*), CAST(total(r.size) AS INTEGER) \(ArchiveSQL.candidates(isDefault: isDefault))
            """
        ) { ArchiveBacklog(episodes: $0[0], bytes: $0[bytes: 1] ?? 0) } ?? ArchiveBacklog()
    }

    /// Whether a show is archived.
    package func isArchived(_ show: ShowID, isDefault: Bool) throws -> Bool {
        try settings(of: show)[ArchiveSQL.key].flatMap(Bool.init) ?? isDefault
    }

    /// Finds the archived files of a show that was unsubscribed and is subscribed again, by the feed's address and the
    /// guid or the media's address.
    ///
    /// - Returns: The number of files found.
    package func reattachArchived(to show: ShowID) throws -> Int {
        // Called after each refresh of a show, so a transaction is only started if there is something to write.
        let hasOrphans =
            try value(
                """
                SELECT EXISTS (SELECT 1 FROM podcast p CROSS JOIN archived a ON a.feed = p.url AND a.episode IS NULL
                    WHERE p.id = ?)
                """, [show]) ?? false
        guard hasOrphans else { return 0 }
        return try write { db in
            try db.run(
                """
                UPDATE OR IGNORE archived SET episode = coalesce(
                    (SELECT e.id FROM episode e WHERE e.podcast = ?1 AND e.buried = 0 AND e.guid = archived.guid
                        AND NOT EXISTS (SELECT 1 FROM archived b WHERE b.episode = e.id) LIMIT 1),
                    (SELECT e.id FROM episode e WHERE e.podcast = ?1 AND e.buried = 0 AND e.url = archived.url
                        AND NOT EXISTS (SELECT 1 FROM archived b WHERE b.episode = e.id) LIMIT 1))
                WHERE episode IS NULL AND feed = (SELECT url FROM podcast WHERE id = ?1)
                """, [show])
            return try Int.fetchOne(
                db, "SELECT count(*) FROM archived a JOIN episode e ON e.id = a.episode WHERE e.podcast = ?", [show])
                ?? 0
        }
    }
}

enum ArchiveSQL {
    /// The key of the show's setting.
    static let key = "archive"

    /// The FROM and WHERE clauses of the complete cache files that belong into the archive. The chapters in a
    /// file are read before. An episode whose archived file has a defect is not archived again by itself.
    static func candidates(isDefault: Bool) -> String {
        """
        FROM rendition r CROSS JOIN podcast p ON p.id = r.podcast CROSS JOIN episode e ON e.id = r.episode \
        LEFT JOIN setting s ON s.podcast = p.id AND s.key = '\(key)' \
        WHERE coalesce(s.value, '\(isDefault)') = 'true' AND r.complete = 1 AND r.archived IS NULL \
        AND e.buried = 0 AND p.ephemeral = 0 AND r.sha256 IS NOT NULL AND r.chapters IS NOT NULL \
        AND NOT EXISTS (SELECT 1 FROM archived a WHERE a.episode = e.id)
        """
    }
}

extension ArchivedFile: StoredRow {
    static let columns = "path, episode, size, sha256, file_state, defect"
    static let table = "archived"

    init(_ row: Row) {
        self.init(
            path: row[0], episode: row[1], size: row[bytes: 2] ?? 0, sha256: row[3], fileState: row[4], defect: row[5])
    }
}

/// An episode's file in the archive folder.
package struct ArchivedFile: Sendable, Equatable {
    /// The path relative to the folder: `SHOW/EPISODE`.
    package var path: String
    /// The episode; `nil` once its show is unsubscribed.
    package var episode: EpisodeID?
    package var size: Int64
    package var sha256: String
    /// The recorded metadata of the file, such as its mtime; this module does not parse the text.
    package var fileState: String?
    /// The reason why the file is not served, such as that it is missing; `nil` if it is as recorded.
    package var defect: String?

    package init(
        path: String, episode: EpisodeID?, size: Int64, sha256: String, fileState: String?, defect: String? = nil
    ) {
        self.path = path
        self.episode = episode
        self.size = size
        self.sha256 = sha256
        self.fileState = fileState
        self.defect = defect
    }
}

/// The archive folder, as the library knows it.
package struct ArchiveFolderRecord: Sendable, Equatable {
    /// The absolute path.
    package var path: String
    /// The id in the folder's marker file.
    package var marker: String
    /// The text by which this installation recognizes its own unfinished files in the folder.
    package var owner: String
    /// The reason why the files cannot be read now; `nil` while they can.
    package var problem: String?
    /// The reason why a file could not be added, such as that the disk is full; `nil` once one was.
    package var hindrance: String?

    package init(path: String, marker: String, owner: String, problem: String? = nil, hindrance: String? = nil) {
        self.path = path
        self.marker = marker
        self.owner = owner
        self.problem = problem
        self.hindrance = hindrance
    }
}

/// The location of an archived episode for a program that opens it.
package struct ArchivePlace: Sendable, Equatable {
    /// The absolute path of the archive folder.
    package var folder: String
    /// The path relative to the folder.
    package var path: String
    /// Whether the folder is known to be unavailable.
    package var isOffline: Bool
}

/// A complete cache file that belongs into the archive.
package struct ArchiveCandidate: Sendable, Equatable {
    package var episode: EpisodeID
    package var show: ShowID
    /// The show's folder.
    package var showName: String
    /// The episode's file name.
    package var name: String
    package var size: Int64

    package var path: String { "\(showName)/\(name)" }
}

/// The number and size of the files that belong into the archive and are still in the cache.
package struct ArchiveBacklog: Sendable, Equatable {
    package var episodes = 0
    package var bytes: Int64 = 0
}
