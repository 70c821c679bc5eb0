import GRDB
package import PodcastProtocol

extension Library {
    /// The location of an episode's file in the mounted tree. A mount invalidates the kernel's caches of that file when
    /// the episode changes.
    package struct EpisodePlace: Sendable, Equatable {
        package var id: EpisodeID
        package var podcast: ShowID
        /// The file name. For an alternate (another encoding of an episode), the path below the show's folder.
        package var name: String
        package var generation: Int
        /// Whether the episode was removed from all listings.
        package var isBuried: Bool
        /// The episode of which this file is an alternate; `nil` if it is not an alternate.
        package var alternateOf: EpisodeID?

        /// The name in the folder that contains the file.
        package var fileName: String { FileName.last(ofPath: name) }
    }

    /// Returns the location of an episode's file, even if the episode is buried.
    package func place(of episode: EpisodeID) throws -> EpisodePlace? { try first(where: "e.id = ?", [episode]) }

    /// Returns the locations of the episodes that changed at `moment` or later, in seconds since 1970. A mount calls it
    /// if it has missed events of the daemon. Scans the whole table.
    package func places(changedSince moment: Int64) throws -> [EpisodePlace] {
        try all(where: "e.changed >= ?", [moment])
    }

    /// Returns the locations of one show's episodes that changed at `moment` or later, in seconds since 1970. Scans the
    /// show's episodes.
    package func places(of podcast: ShowID, changedSince moment: Int64) throws -> [EpisodePlace] {
        try all(where: "e.podcast = ? AND e.changed >= ?", [podcast, moment])
    }

    /// Returns the number of cached bytes of all episodes, as last persisted. Archived files do not count.
    package func cachedBytes() throws -> Int64 {
        try row("SELECT sum(max(0, min(received, \(EpisodeSize.greatest)))) FROM rendition WHERE archived IS NULL") {
            $0[0]
        } ?? 0
    }
}

extension Library.EpisodePlace: StoredRow {
    static let columns = "e.id, e.podcast, e.name, e.generation, e.buried = 1, a.episode"
    static let table = "episode e LEFT JOIN alternate a ON a.medium = e.id"

    init(_ row: Row) {
        self.init(
            id: row[0], podcast: row[1], name: row[2], generation: row[3], isBuried: row[4], alternateOf: row[5])
    }
}
