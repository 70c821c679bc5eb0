/// A small file that a feed offers beside the media: fetched when it is read, as a whole.
package enum AssetKind: String, Sendable, Codable, CaseIterable {
    /// The show's art; all others are an episode's.
    case cover
    case art
    /// Transcripts.
    case vtt
    case srt
    /// `podcast:chapters`.
    case chapters

    /// The name of its file in the cache's folder `assets`.
    ///
    /// - Parameter id: the row of the show or of the episode.
    package func fileName(_ id: Int64) -> String { "\(rawValue)-\(id)" }
}
