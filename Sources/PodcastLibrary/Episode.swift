package import PodcastFeed
package import TransferCore

/// All that the library knows of an episode but its transcripts, chapters and alternate media (`EpisodeExtras`).
package struct Episode: Sendable, Equatable {
    /// The row id: positive, never given to another episode.
    package var id: EpisodeID
    package var podcast: ShowID
    /// The file's name with its extension.
    package var name: String
    package var guid: String?
    package var title: String
    package var published: Int64?
    /// Seconds east of UTC, as the feed wrote them.
    package var publishedOffset: Int
    /// Seconds.
    package var duration: Double?
    /// Where the media is asked for; what the feed said last.
    package var url: String
    package var type: String?
    /// Bytes as the feed claims; see `EpisodeSize`.
    package var length: Int64?
    package var season: Int?
    package var episode: Double?
    package var episodeType: String?
    package var explicit: Bool?
    package var link: String?
    /// Show notes as found in the feed, not sanitised.
    package var notes: String?
    package var image: String?
    package var author: String?
    package var firstSeen: Int64
    /// When something that users can see changed. A new query in the media URL is no such thing.
    package var changed: Int64
    /// Whether the episode stands in the feed as last fetched.
    package var listed: Bool
    /// Bytes, from a server.
    package var confirmedSize: Int64?
    /// Counts renditions from 1; never goes back.
    package var generation: Int
    package var cachedBytes: Int64
    package var complete: Bool
    /// Of the whole file, when complete; lower-case hexadecimal.
    package var sha256: String?
    package var played: Bool
    /// Seconds.
    package var position: Double?
    /// Kept in the cache whatever its age; outlives renditions.
    package var pinned: Bool
    package var lastOpened: Int64?
    package var sidecars: Sidecars
    package var download: Download?

    package init(
        id: EpisodeID, podcast: ShowID, name: String, guid: String? = nil, title: String, published: Int64? = nil,
        publishedOffset: Int = 0, duration: Double? = nil, url: String, type: String? = nil, length: Int64? = nil,
        season: Int? = nil, episode: Double? = nil, episodeType: String? = nil, explicit: Bool? = nil,
        link: String? = nil, notes: String? = nil, image: String? = nil, author: String? = nil, firstSeen: Int64 = 0,
        changed: Int64 = 0, listed: Bool = true, confirmedSize: Int64? = nil, generation: Int = 1,
        cachedBytes: Int64 = 0, complete: Bool = false, sha256: String? = nil, played: Bool = false,
        position: Double? = nil, pinned: Bool = false, lastOpened: Int64? = nil, sidecars: Sidecars = [],
        download: Download? = nil
    ) {
        self.id = id
        self.podcast = podcast
        self.name = name
        self.guid = guid
        self.title = title
        self.published = published
        self.publishedOffset = publishedOffset
        self.duration = duration
        self.url = url
        self.type = type
        self.length = length
        self.season = season
        self.episode = episode
        self.episodeType = episodeType
        self.explicit = explicit
        self.link = link
        self.notes = notes
        self.image = image
        self.author = author
        self.firstSeen = firstSeen
        self.changed = changed
        self.listed = listed
        self.confirmedSize = confirmedSize
        self.generation = generation
        self.cachedBytes = cachedBytes
        self.complete = complete
        self.sha256 = sha256
        self.played = played
        self.position = position
        self.pinned = pinned
        self.lastOpened = lastOpened
        self.sidecars = sidecars
        self.download = download
    }

    package var size: EpisodeSize {
        EpisodeSize(
            confirmed: confirmedSize, length: length, duration: duration,
            isVideo: MediaType.isVideo(type: type, fileExtension: FileName.fileExtension(of: name)))
    }
}

/// What lookup and a folder's listing need of an episode.
package struct EpisodeEntry: Sendable, Equatable {
    package var id: EpisodeID
    package var podcast: ShowID
    package var name: String
    package var published: Int64?
    package var firstSeen: Int64
    package var changed: Int64
    /// Bytes.
    package var size: Int64
    package var sizeSource: SizeSource
    package var generation: Int
    package var cachedBytes: Int64
    package var complete: Bool
    package var lastOpened: Int64?
    package var sidecars: Sidecars

    package init(
        id: EpisodeID, podcast: ShowID, name: String, published: Int64? = nil, firstSeen: Int64 = 0, changed: Int64 = 0,
        size: Int64 = 0, sizeSource: SizeSource = .unknown, generation: Int = 1, cachedBytes: Int64 = 0,
        complete: Bool = false, lastOpened: Int64? = nil, sidecars: Sidecars = []
    ) {
        self.id = id
        self.podcast = podcast
        self.name = name
        self.published = published
        self.firstSeen = firstSeen
        self.changed = changed
        self.size = size
        self.sizeSource = sizeSource
        self.generation = generation
        self.cachedBytes = cachedBytes
        self.complete = complete
        self.lastOpened = lastOpened
        self.sidecars = sidecars
    }
}

/// What a playlist says of an episode.
package struct Track: Sendable, Equatable {
    /// Of the file.
    package var name: String
    package var title: String
    /// Seconds.
    package var duration: Double?

    package init(name: String, title: String, duration: Double? = nil) {
        self.name = name
        self.title = title
        self.duration = duration
    }
}

/// What a feed offers beside an episode's media, so that a listing knows which files to show without reading more.
package struct Sidecars: OptionSet, Sendable, Hashable {
    package let rawValue: Int

    package init(rawValue: Int) {
        self.rawValue = rawValue
    }

    package static let notes = Sidecars(rawValue: 1 << 0)
    /// Art of its own.
    package static let art = Sidecars(rawValue: 1 << 1)
    /// In the feed itself or at an address.
    package static let chapters = Sidecars(rawValue: 1 << 2)
    /// A transcript as WebVTT.
    package static let vtt = Sidecars(rawValue: 1 << 3)
    /// A transcript as SubRip.
    package static let srt = Sidecars(rawValue: 1 << 4)
    /// A transcript in any other form (JSON, HTML, plain text).
    package static let transcript = Sidecars(rawValue: 1 << 5)
}

/// What stands in the feed for an episode beside its facts; read when it is asked for.
package struct EpisodeExtras: Sendable, Equatable {
    /// Other encodings of the same episode, in the feed's order.
    package var alternates: [Enclosure]
    package var transcripts: [Transcript]
    package var chaptersURL: String?
    package var chapters: [Chapter]

    package init(
        alternates: [Enclosure] = [], transcripts: [Transcript] = [], chaptersURL: String? = nil,
        chapters: [Chapter] = []
    ) {
        self.alternates = alternates
        self.transcripts = transcripts
        self.chaptersURL = chaptersURL
        self.chapters = chapters
    }
}
