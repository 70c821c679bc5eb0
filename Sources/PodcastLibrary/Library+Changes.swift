import GRDB
package import TransferCore

extension Library {
    /// The position in the tree of a changed episode, for cache invalidation.
    package struct EpisodePlace: Sendable, Equatable {
        package var id: EpisodeID
        package var podcast: ShowID
        package var name: String
        package var generation: Int
        /// Whether it was removed from all listings.
        package var isBuried: Bool
    }

    private static let placeColumns = "SELECT id, podcast, name, generation, buried FROM episode WHERE"

    private static func place(_ row: Row) -> EpisodePlace {
        EpisodePlace(id: row[0], podcast: row[1], name: row[2], generation: row[3], isBuried: row[4])
    }

    /// Returns an episode's position in the tree; cheap.
    package func place(of episode: EpisodeID) throws -> EpisodePlace? {
        try read { db in
            try Row.fetchOne(db.cachedStatement(sql: "\(Self.placeColumns) id = ?"), arguments: [episode])
                .map(Self.place)
        }
    }

    /// Returns the episodes that changed at `moment` or later, for a reader that has missed events. Reads the whole
    /// table.
    package func places(changedSince moment: Int64) throws -> [EpisodePlace] {
        try read { db in
            try Row.fetchAll(db, sql: "\(Self.placeColumns) changed >= ?", arguments: [moment]).map(Self.place)
        }
    }

    /// Returns the changed episodes of one show; cheap.
    package func places(of podcast: ShowID, changedSince moment: Int64) throws -> [EpisodePlace] {
        try read { db in
            let statement = try db.cachedStatement(sql: "\(Self.placeColumns) podcast = ? AND changed >= ?")
            return try Row.fetchAll(statement, arguments: [podcast, moment]).map(Self.place)
        }
    }

    /// Returns the number of cached bytes, as last persisted.
    package func cachedBytes() throws -> Int64 {
        try read { db in
            try StoredNumber.fetchOne(
                db.cachedStatement(
                    sql: "SELECT sum(max(0, min(received, \(EpisodeSize.greatest)))) FROM rendition")) ?? 0
        }
    }
}
