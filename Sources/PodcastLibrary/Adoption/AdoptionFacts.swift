package import PodcastFeed
package import PodcastProtocol
package import Transfers

/// A media file that another program has downloaded.
package struct AdoptableFile: Sendable, Equatable {
    /// The path below the folder that is searched.
    package var path: String
    /// The names of the folders that contain the file, the innermost last, from the folder that is searched.
    package var folders: [String]
    /// The size in bytes.
    package var size: Int64
    /// The format that the first bytes show; `nil` if they show none.
    package var format: MediaFormat?
    package var tags: MediaTags
    /// The episode's guid and media URL according to the database of the program that downloaded the file.
    package var record: ForeignRecord?

    package init(
        path: String, folders: [String], size: Int64, format: MediaFormat? = nil, tags: MediaTags = MediaTags(),
        record: ForeignRecord? = nil
    ) {
        self.path = path
        self.folders = folders
        self.size = size
        self.format = format
        self.tags = tags
        self.record = record
    }

    /// The file name.
    package var name: String { path.split(separator: "/").last.map(String.init) ?? path }

    /// The last folder and the file name, by which a `ForeignRecord` names the file.
    package var shortPath: String { (folders.suffix(1) + [name]).joined(separator: "/") }

    /// Whether a file may be media: its name has the extension of audio or video, also before a query, or no extension.
    package static func mayBeMedia(_ name: String) -> Bool {
        NameReading.isMedia(name) || NameReading.fileExtension(of: name).isEmpty
    }
}

/// A show of the library, for `AdoptionMatcher`.
package struct AdoptableShow: Sendable, Equatable {
    package var id: ShowID
    /// The name of its folder.
    package var name: String
    package var title: String
    /// The feed's address.
    package var url: String

    package init(id: ShowID, name: String, title: String, url: String = "") {
        self.id = id
        self.name = name
        self.title = title
        self.url = url
    }
}

/// An episode of the library, for `AdoptionMatcher`.
package struct AdoptableEpisode: Sendable, Equatable {
    package var id: EpisodeID
    package var show: ShowID
    /// The file's name in the mount.
    package var name: String
    package var title: String
    package var guid: String?
    /// The media URL.
    package var url: String
    /// The time of publication, in seconds since 1970 UTC, and the UTC offset of the feed's time zone in seconds.
    package var published: Int64?
    package var publishedOffset: Int
    /// The duration in seconds.
    package var duration: Double?
    package var size: EpisodeSize
    /// Whether the episode is completely downloaded.
    package var isComplete: Bool

    package init(
        id: EpisodeID, show: ShowID, name: String, title: String, guid: String? = nil, url: String,
        published: Int64? = nil, publishedOffset: Int = 0, duration: Double? = nil,
        size: EpisodeSize = EpisodeSize(bytes: 0, source: .unknown), isComplete: Bool = false
    ) {
        self.id = id
        self.show = show
        self.name = name
        self.title = title
        self.guid = guid
        self.url = url
        self.published = published
        self.publishedOffset = publishedOffset
        self.duration = duration
        self.size = size
        self.isComplete = isComplete
    }

    /// Whether the feed or a server has given a size.
    var hasKnownSize: Bool { size.source == .server || size.source == .feed }
}

/// The facts about an episode in the database of another podcast program.
package struct ForeignRecord: Sendable, Equatable {
    /// The program's name.
    package var program: String
    /// The feed's address.
    package var feed: String
    package var guid: String?
    /// The media URL.
    package var url: String
    /// The path of the downloaded file: the name of the show's folder and that of the file.
    package var file: String?
    package var played: Bool
    /// The playback position in seconds.
    package var position: Double?

    package init(
        program: String, feed: String, guid: String?, url: String, file: String? = nil, played: Bool = false,
        position: Double? = nil
    ) {
        self.program = program
        self.feed = feed
        self.guid = guid
        self.url = url
        self.file = file
        self.played = played
        self.position = position
    }
}

/// The decision about a file.
package enum AdoptionDecision: Sendable, Equatable {
    /// The file is the episode's.
    case adopt(EpisodeID, Confidence)
    /// The episode is completely downloaded already.
    case present(EpisodeID)
    /// Another file is the episode's as well, and the better one.
    case duplicate(EpisodeID, of: String)
    /// Several episodes fit equally well.
    case ambiguous([EpisodeID], evidence: String)
    /// An episode fits, but something contradicts it.
    case contradicted(EpisodeID, evidence: String, contradiction: String)
    /// An episode may fit, but the evidence does not suffice.
    case weak(EpisodeID, evidence: String)
    case unknown
    /// The file is not usable, for this reason.
    case unusable(String)

    /// The certainty of an adoption, and the reason.
    package struct Confidence: Sendable, Equatable {
        /// Whether more evidence was found than an adoption needs.
        package var isCertain: Bool
        /// The evidence as a phrase: `file name in the feed, folder of the show`.
        package var evidence: String
    }
}
