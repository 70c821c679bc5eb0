import GRDB
internal import PodcastProtocol
internal import Transfers

extension Library {
    /// Returns the subscribed shows, for `AdoptionMatcher`.
    package func adoptableShows() throws -> [AdoptableShow] {
        try query { db in
            try Row.fetchCursor(db, "SELECT id, name, title, url FROM podcast WHERE ephemeral = 0 ORDER BY id").mapAll {
                AdoptableShow(id: $0[0], name: $0[1], title: $0[2], url: $0[3])
            }
        }
    }

    /// Returns the episodes of all subscribed shows, for `AdoptionMatcher`.
    package func adoptableEpisodes() throws -> [AdoptableEpisode] {
        try query { db in
            try Row.fetchCursor(
                db,
                """
                SELECT e.id, e.podcast, e.name, e.title, e.guid, e.url, e.published, e.published_offset, e.duration, \
                \(EpisodeSQL.size), e.length, e.type, r.complete
                FROM podcast p JOIN episode e ON e.podcast = p.id LEFT JOIN rendition r ON r.episode = e.id
                WHERE p.ephemeral = 0 AND e.buried = 0 ORDER BY e.id
                """
            ).mapAll { row in
                let name: String = row[2]
                return AdoptableEpisode(
                    id: row[0], show: row[1], name: name, title: row[3], guid: row[4], url: row[5],
                    published: row[6], publishedOffset: row[7], duration: row[8],
                    size: EpisodeSize(
                        confirmed: row[bytes: 9], length: row[bytes: 10], duration: row[8],
                        isVideo: MediaType.isVideo(type: row[11], fileExtension: FileName.fileExtension(of: name))),
                    isComplete: row[12] ?? false)
            }
        }
    }
}
