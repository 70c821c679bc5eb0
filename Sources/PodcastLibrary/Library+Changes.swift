import GRDB

extension Library {
    /// What a reader needs to forget about an episode that changed.
    package struct EpisodePlace: Sendable, Equatable {
        package var id: Int64
        package var podcast: Int64
        package var name: String
        package var generation: Int
    }

    /// Where an episode stands in the tree; cheap.
    package func place(of episode: Int64) throws -> EpisodePlace? {
        try read { db in
            try Row.fetchOne(
                db.cachedStatement(
                    sql: "SELECT id, podcast, name, generation FROM episode WHERE id = ? AND buried = 0"),
                arguments: [episode]
            ).map { EpisodePlace(id: $0[0], podcast: $0[1], name: $0[2], generation: $0[3]) }
        }
    }

    /// The episodes that changed at `moment` or later: what a reader catches up with after it has heard nothing for a
    /// while. Reads the whole table.
    package func places(changedSince moment: Int64) throws -> [EpisodePlace] {
        try read { db in
            try Row.fetchAll(
                db, sql: "SELECT id, podcast, name, generation FROM episode WHERE changed >= ? AND buried = 0",
                arguments: [moment]
            ).map { EpisodePlace(id: $0[0], podcast: $0[1], name: $0[2], generation: $0[3]) }
        }
    }

    /// Bytes in the cache, as last written down.
    package func cachedBytes() throws -> Int64 {
        try read { db in
            try Int64.fetchOne(db.cachedStatement(sql: "SELECT coalesce(sum(received), 0) FROM rendition")) ?? 0
        }
    }
}
