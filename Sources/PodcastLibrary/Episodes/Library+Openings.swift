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
