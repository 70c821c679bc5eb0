package import Transfers

/// The id of a row in the library's `episode` table.
package struct EpisodeID: Identifier {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }
}

/// The id of a row in the library's `podcast` table: a subscribed show, or a search result.
package struct ShowID: Identifier {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }
}

extension MediaID {
    /// Creates the id of an episode's main media file, which has the same number as the episode.
    package init(_ episode: EpisodeID) { self.init(rawValue: episode.rawValue) }

    /// The row of the file in the library: that of the episode, or of the alternate.
    package var episode: EpisodeID { EpisodeID(rawValue: rawValue) }
}
