/// A small file that a feed offers besides the media; fetched completely when it is opened.
package enum AssetKind: String, Sendable, Codable, CaseIterable {
    /// The show's art; all others belong to an episode.
    case cover
    case art
    /// Transcripts.
    case vtt
    case srt
    /// `podcast:chapters`.
    case chapters

    /// Returns the file name in the cache's folder `assets`.
    ///
    /// - Parameter id: The row of the show or of the episode.
    package func fileName(_ id: Int64) -> String { "\(rawValue)-\(id)" }
}
