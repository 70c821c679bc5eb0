import GRDB
package import PodcastProtocol
internal import Transfers

/// The data needed to start a transfer of an episode's file, read together because an open of the file waits for it.
package struct EpisodeSource: Sendable, Equatable {
    package var podcast: ShowID
    /// The addresses of the file, in the order in which to try them; never empty.
    package var sources: [MediaSource]
    /// The file name.
    package var name: String
    package var generation: Int
    /// The size confirmed by a server; `nil` if none has.
    package var confirmedSize: Int64?
    /// The size that the feed states; `nil` if it states none, or an implausible one.
    package var statedSize: Int64?
    /// The name of the cache file; `nil` if the episode has no rendition, that is, no bytes cached or being fetched.
    package var file: String?
    /// The total size of the cache file in bytes, if known.
    package var fileSize: Int64?
    /// See `Rendition.fileState`.
    package var fileState: String?
    /// Whether the cache file is complete.
    package var isComplete: Bool
    /// Whether the complete file is in the archive and not in the cache.
    package var isArchived = false
    /// The download task, if any.
    package var task: Task?
    /// The show's own settings, as from `Library.settings(of:)`.
    package var settings: [String: String]
    /// The facts that decide which requests the show may cause: whether a person entered its feed address, and in which
    /// address spaces (the internet, a local network, this computer) its servers may be.
    package var access: ShowAccess

    /// The state of the episode's download task.
    package struct Task: Sendable, Equatable {
        /// Whether a person has suspended the task.
        package var isSuspended: Bool
        /// Whether the task was created automatically, and not requested since.
        package var isAutomatic: Bool
    }
}

extension Library {
    package func source(of episode: EpisodeID) throws -> EpisodeSource? {
        try read { db in
            let row = try Row.fetchOne(
                db,
                """
                SELECT e.podcast, e.url, e.generation, \(EpisodeSQL.size), r.file, r.complete,
                    d.suspended, d.automatic, r.size, r.file_state, e.name, e.length, e.duration,
                    r.archived IS NOT NULL, \(ShowAccess.columns)
                FROM episode e JOIN podcast p ON p.id = e.podcast LEFT JOIN rendition r ON r.episode = e.id
                    LEFT JOIN download d ON d.episode = e.id
                WHERE e.id = ? AND e.buried <> 1
                """, [episode])
            guard let row else { return nil }
            let podcast: ShowID = row[0]
            var task: EpisodeSource.Task?
            if let isSuspended: Bool = row[6] { task = .init(isSuspended: isSuspended, isAutomatic: row[7]) }
            let stated = EpisodeSize(confirmed: nil, length: row[bytes: 11], duration: row[12], type: nil, name: "")
            return EpisodeSource(
                podcast: podcast, sources: try MediaSource.fetch(db, of: episode, url: row[1]), name: row[10],
                generation: row[2], confirmedSize: row[bytes: 3],
                statedSize: stated.source == .feed ? stated.bytes : nil, file: row[4], fileSize: row[bytes: 8],
                fileState: row[9], isComplete: row[5] ?? false, isArchived: row[13], task: task,
                settings: try PodcastSQL.settings(db, of: podcast), access: ShowAccess(row, from: 14))
        }
    }
}
