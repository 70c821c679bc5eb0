package import PodcastFeed
package import PodcastProtocol
internal import Transfers

/// A copy of an episode's row, without its transcripts, chapters and alternate media (`EpisodeExtras`).
package struct Episode: Sendable, Equatable {
    /// The row id: positive, never reused for another episode.
    package var id: EpisodeID
    package var podcast: ShowID
    /// The file's name with its extension.
    package var name: String
    package var guid: String?
    package var title: String
    /// The time of publication, in seconds since 1970 UTC; `nil` if the feed has none.
    package var published: Int64?
    /// The UTC offset of the feed's time zone in seconds, positive east of Greenwich.
    package var publishedOffset: Int = 0
    /// The duration in seconds.
    package var duration: Double?
    /// The media URL, as last seen in the feed.
    package var url: String
    /// The MIME type according to the feed.
    package var type: String?
    /// The length in bytes according to the feed; see `EpisodeSize`.
    package var length: Int64?
    package var season: Int?
    /// The episode's number.
    package var episode: Double?
    /// `full`, `trailer` or `bonus`.
    package var episodeType: String?
    package var explicit: Bool?
    package var link: String?
    /// The show notes from the feed, unsanitized.
    package var notes: String?
    package var image: String?
    package var author: String?
    package var firstSeen: Int64 = 0
    /// The time of the last change that users can see. A new query in the media URL does not count.
    package var changed: Int64 = 0
    /// Whether the feed listed the episode when last fetched.
    package var listed: Bool = true
    /// The size in bytes confirmed by a server.
    package var confirmedSize: Int64?
    /// The number of the current rendition (version of the media file), from 1; never decreases.
    package var generation: Int = 1
    package var cachedBytes: Int64 = 0
    /// Whether the episode is completely cached.
    package var complete: Bool = false
    /// The SHA-256 of the complete file, in lower-case hexadecimal.
    package var sha256: String?
    /// Whether the complete file has the hash that the feed lists.
    package var isVerified = false
    package var played: Bool = false
    /// The playback position in seconds.
    package var position: Double?
    /// When the episode was last listened to, on any device.
    package var lastPlayed: Int64?
    /// Whether the current and future renditions are exempt from eviction.
    package var pinned: Bool = false
    /// When the file was last opened.
    package var lastOpened: Int64?
    package var sidecars: Sidecars = []
    /// The download, if it is outstanding or failed.
    package var download: Download?
    /// The episode's file in the archive, if it has one.
    package var archive: Archive?

    /// An episode's file in the archive.
    package struct Archive: Sendable, Equatable {
        /// The path relative to the archive folder.
        package var path: String
        /// The reason why the file is not served, such as that it is missing; `nil` if it is as recorded.
        package var defect: String?
        /// The reason why the archive folder cannot be read now; `nil` while it can.
        package var folderProblem: String?
        /// Whether the episode is served from the archive. Otherwise its complete file, if it has one, is in the cache.
        package var isServed: Bool
    }

    package var size: EpisodeSize {
        EpisodeSize(
            confirmed: confirmedSize, length: length, duration: duration,
            type: type, name: name)
    }
}

/// The data of an episode that lookups and listings need.
package struct EpisodeEntry: Sendable, Equatable {
    package var id: EpisodeID
    package var podcast: ShowID
    package var name: String
    package var published: Int64?
    package var firstSeen: Int64 = 0
    package var changed: Int64 = 0
    /// The size in bytes; 0 while unknown.
    package var size: Int64 = 0
    package var sizeSource: SizeSource = .unknown
    package var generation: Int = 1
    package var cachedBytes: Int64 = 0
    /// Whether the episode is completely cached.
    package var complete: Bool = false
    package var lastOpened: Int64?
    package var sidecars: Sidecars = []
}

/// The data of an episode that a playlist needs.
package struct Track: Sendable, Equatable {
    /// The file name.
    package var name: String
    package var title: String
    /// The duration in seconds.
    package var duration: Double?
}

/// The kinds of files that a feed offers beside an episode's media. The set is stored in the episode's row, so that a
/// listing reads no other row for them.
package struct Sidecars: OptionSet, Sendable, Hashable {
    package let rawValue: Int

    package init(rawValue: Int) { self.rawValue = rawValue }

    package static let notes = Sidecars(rawValue: 1 << 0)
    /// The episode's own artwork.
    package static let art = Sidecars(rawValue: 1 << 1)
    /// Chapters: in the feed itself, at a URL, or as times in the notes.
    package static let chapters = Sidecars(rawValue: 1 << 2)
    /// A transcript as WebVTT.
    package static let vtt = Sidecars(rawValue: 1 << 3)
    /// A transcript as SubRip.
    package static let srt = Sidecars(rawValue: 1 << 4)
    /// A transcript in JSON or HTML.
    package static let transcript = Sidecars(rawValue: 1 << 5)
    /// Other encodings of the episode's media.
    package static let alternates = Sidecars(rawValue: 1 << 6)

    /// The transcripts that are available as WebVTT, directly or after conversion.
    package static let anyVTT: Sidecars = [.vtt, .srt, .transcript]
}

/// The parts of an episode's feed data that are loaded only on request.
package struct EpisodeExtras: Sendable, Equatable {
    package var transcripts: [Transcript] = []
    package var chaptersURL: String?
    package var chapters: [Chapter] = []
}
