import GRDB
package import PodcastProtocol
internal import Transfers

/// The facts that decide how an episode is opened.
package struct EpisodeOpening: Sendable, Equatable {
    package var generation: Int
    /// Whether the show is a search result, to which nobody has subscribed. `false` also for a show that another device
    /// has recently unsubscribed from, whose row stays for a while (`sync_removed`).
    package var isEphemeral: Bool = false
    /// Whether the file is the playlist of a stream.
    package var isStream = false
    /// The size shown to programs.
    package var shownSize: EpisodeSize
    /// Whether the rendition (the episode's bytes as one server response defined them) is completely cached.
    package var isComplete: Bool = false
    /// The cache file of the rendition with this generation, which may be incomplete; `nil` if there is none.
    package var file: String?
    /// The total size of the cache file in bytes, if known.
    package var fileSize: Int64?
    /// The recorded metadata of the complete cache file. If the file's present metadata differ, the file has changed
    /// since. This module does not parse the text.
    package var fileState: String?
    /// The location of the complete file if it is in the archive; `nil` if it is in the cache.
    package var archive: ArchivePlace?

    /// The size in bytes confirmed by a server.
    package var size: Int64? { shownSize.source == .server ? shownSize.bytes : nil }
}

extension Library {
    /// Reads all facts that an open needs with a single SQL statement, because it runs for every open in a mount.
    ///
    /// - Returns: `nil` if the episode does not exist or is a tombstone (`buried` is 1). An alternate (`buried` is 2)
    ///   is returned.
    package func opening(of episode: EpisodeID) throws -> EpisodeOpening? {
        try row(
            """
            SELECT e.generation, \(EpisodeSQL.size), r.complete, r.generation, r.file, r.size, \
            (SELECT p.ephemeral AND p.id NOT IN (SELECT podcast FROM sync_removed) \
            FROM podcast p WHERE p.id = e.podcast), e.length, e.duration, e.type, e.name, r.file_state, \
            r.archived, f.path, f.problem IS NOT NULL \
            FROM episode e LEFT JOIN rendition r ON r.episode = e.id \
            LEFT JOIN archive_folder f ON r.archived IS NOT NULL WHERE e.id = ? AND e.buried <> 1
            """, [episode]
        ) { row in
            let shownSize = EpisodeSize(
                confirmed: row[bytes: 1], length: row[bytes: 7], duration: row[8],
                type: row[9], name: row[10])
            var opening = EpisodeOpening(
                generation: row[0], isEphemeral: row[6] ?? false, shownSize: shownSize, isComplete: row[2] ?? false)
            opening.isStream = StreamFile.isStream(row[10])
            let generation: Int? = row[3]
            if opening.generation == generation {
                opening.file = row[4]
                opening.fileSize = row[bytes: 5]
                opening.fileState = row[11]
                if let path: String = row[12], let folder: String = row[13] {
                    opening.archive = ArchivePlace(folder: folder, path: path, isOffline: row[14])
                }
            }
            return opening
        }
    }
}

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
