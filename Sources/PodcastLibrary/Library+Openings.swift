import GRDB
package import TransferCore

/// What decides how an episode is opened.
package struct EpisodeOpening: Sendable, Equatable {
    package var generation: Int
    /// A search result rather than of a subscribed show.
    package var isEphemeral: Bool
    /// What is told of it.
    package var told: EpisodeSize
    /// The cache holds all of a rendition.
    package var isComplete: Bool
    /// Of a rendition of this generation, which need not be complete: its file, and how many bytes that has, if known.
    package var file: String?
    package var fileSize: Int64?
    /// How the cache file looked when it was whole: text of the cache, not understood here.
    package var fileState: String?

    /// What a server said, in bytes.
    package var size: Int64? { told.source == .server ? told.bytes : nil }

    package init(
        generation: Int, isEphemeral: Bool = false, told: EpisodeSize, isComplete: Bool = false, file: String? = nil,
        fileSize: Int64? = nil, fileState: String? = nil
    ) {
        self.generation = generation
        self.isEphemeral = isEphemeral
        self.told = told
        self.isComplete = isComplete
        self.file = file
        self.fileSize = fileSize
        self.fileState = fileState
    }
}

extension Library {
    /// All that an open has to know, in one statement: every open of a file in a mount passes here.
    ///
    /// - Returns: `nil` where there is no such episode, or no longer.
    package func opening(of episode: EpisodeID) throws -> EpisodeOpening? {
        try query { db in
            let statement = try db.cachedStatement(
                sql: """
                    SELECT e.generation, \(EpisodeSQL.size), r.complete, r.generation, r.file, r.size, \
                    (SELECT p.ephemeral AND p.id NOT IN (SELECT podcast FROM sync_removed) \
                    FROM podcast p WHERE p.id = e.podcast), e.length, e.duration, e.type, e.name, r.file_state \
                    FROM episode e LEFT JOIN rendition r ON r.episode = e.id WHERE e.id = ? AND e.buried = 0
                    """)
            guard let row = try Row.fetchOne(statement, arguments: [episode]) else { return nil }
            let told = EpisodeSize(
                confirmed: row[bytes: 1], length: row[bytes: 7], duration: row[8],
                isVideo: MediaType.isVideo(type: row[9], fileExtension: FileName.fileExtension(of: row[10])))
            var opening = EpisodeOpening(
                generation: row[0], isEphemeral: row[6] ?? false, told: told, isComplete: row[2] ?? false)
            let generation: Int? = row[3]
            if opening.generation == generation {
                opening.file = row[4]
                opening.fileSize = row[bytes: 5]
                opening.fileState = row[11]
            }
            return opening
        }
    }
}
