package import PodcastFeed
package import PodcastProtocol

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
package struct EpisodeExtras: Sendable, Equatable, Codable {
    package var transcripts: [Transcript] = []
    package var chaptersURL: String?
    package var chapters: [Chapter] = []
}

/// The source of the size of an episode's file.
package enum SizeSource: String, Sendable, Equatable {
    /// Confirmed by a server.
    case server = "server"
    /// A plausible value from the feed.
    case feed = "feed"
    /// Computed from the duration and a usual bit rate.
    case estimate = "estimate"
    /// Unknown: the size is 0.
    case unknown = "unknown"
}

/// The size of an episode's file before and after a server has confirmed it.
///
/// A file needs a size long before its content is requested, because players and `ls` treat 0 as an empty file. Feeds
/// often give wrong sizes: 0, 1, the seconds of the duration, or the length of another encoding.
package struct EpisodeSize: Sendable, Equatable {
    package let bytes: Int64
    package let source: SizeSource

    /// The maximum size: 16 TiB, the size of the largest file on ext4. A larger value is a mistake.
    package static let greatest: Int64 = 1 << 44
    /// The assumed audio rate in bytes per second: 128 kbit/s, the most common rate of podcasts in MP3 and AAC.
    static let audioRate = 16_000.0
    /// The assumed video rate in bytes per second: 1 Mbit/s, a talk in 720p.
    static let videoRate = 125_000.0
    /// The maximum plausible duration in seconds (100 days), which keeps estimates far from overflow.
    static let maxDuration = 8_640_000.0

    package init(bytes: Int64, source: SizeSource) {
        self.bytes = bytes
        self.source = source
    }

    /// - Parameters:
    ///   - confirmed: The size confirmed by a server.
    ///   - length: The feed's value in bytes.
    ///   - duration: The duration in seconds.
    ///   - type: The MIME type; evaluated only for an estimate, since listings compute thousands of sizes.
    ///   - name: The file's name.
    package init(
        confirmed: Int64?, length: Int64?, duration: Double?, type: @autoclosure () -> String?, name: String
    ) {
        let seconds = duration.flatMap { $0 > 0 && $0 <= Self.maxDuration ? $0 : nil }
        if let confirmed, (0...Self.greatest).contains(confirmed) {
            bytes = confirmed
            source = .server
        } else if let length, Self.isPlausible(length, seconds: seconds) {
            bytes = length
            source = .feed
        } else if let seconds {
            let isVideo = MediaType.isVideo(type: type(), fileExtension: FileName.fileExtension(of: name))
            bytes = Int64(seconds * (isVideo ? Self.videoRate : Self.audioRate))
            source = .estimate
        } else {
            bytes = 0
            source = .unknown
        }
    }

    private static func isPlausible(_ length: Int64, seconds: Double?) -> Bool {
        // The minimum plausible length: 10 kB is less than a second of music, or ten seconds of the lowest speech bit
        // rate. Smaller values are placeholders (0, 1, 1024) or durations in the wrong attribute.
        guard (10_000...greatest).contains(length) else { return false }
        guard let seconds else { return true }
        let rate = Double(length) / seconds
        // The minimum plausible rate in bytes per second: 8 kbit/s, the lowest rate of MP3. Opus can encode speech at 6
        // kbit/s, but podcasts do not use that.
        // The maximum plausible rate: 80 Mbit/s, above published 4K video and far above uncompressed audio (0.2 to 1.2
        // MB/s). A greater value was counted in bits, or is not a length.
        return rate >= 1_000.0 && rate <= 10_000_000.0
    }
}
