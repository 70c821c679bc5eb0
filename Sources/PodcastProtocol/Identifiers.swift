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

/// The kinds of assets: small files that a feed lists in addition to the media, and the playlists of streams. An open
/// of an asset waits until the daemon has the whole file in the cache; for `stream`, until it has checked the playlist.
package enum AssetKind: String, Sendable, Codable, CaseIterable {
    /// A show's artwork. All other kinds belong to an episode.
    case cover
    /// An episode's artwork.
    case art
    /// A transcript in WebVTT.
    case vtt
    /// A transcript in SubRip.
    case srt
    /// The JSON file to which `podcast:chapters` refers.
    case chapters
    /// The playlist of an episode that is a stream. The daemon fetches and checks it, and does not store it.
    case stream

    /// Returns the file name in the cache's folder `assets`. For `stream` it is only an identifier, and there is no
    /// file.
    ///
    /// - Parameter id: The id of the show for `cover`, otherwise that of the episode.
    package func fileName(_ id: Int64) -> String { "\(rawValue)-\(id)" }
}
