import GRDB
internal import Platform
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
    package var publishedOffset = 0
    /// The duration in seconds.
    package var duration: Double?
    package var size = EpisodeSize(bytes: 0, source: .unknown)
    /// Whether the episode is completely downloaded.
    package var isComplete = false

    /// Whether the feed or a server has given a size.
    var hasKnownSize: Bool { size.source == .server || size.source == .feed }

    /// Returns the numbers of the days of publication in the feed's time zone, in UTC, and at another offset.
    func days(alsoAt offset: Int = 0) -> Set<Int64> {
        Set(
            [publishedOffset, 0, offset].compactMap { offset in
                published.flatMap { GregorianDay(seconds: $0, offset: offset)?.number }
            })
    }
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
    package var played = false
    /// The playback position in seconds.
    package var position: Double?
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

extension Library {
    /// Returns the episodes of all subscribed shows, for `AdoptionMatcher`.
    package func adoptableEpisodes() throws -> [AdoptableEpisode] {
        try rows(
            """
            SELECT e.id, e.podcast, e.name, e.title, e.guid, e.url, e.published, e.published_offset, e.duration, \
            \(EpisodeSQL.size), e.length, e.type, r.complete
            FROM podcast p JOIN episode e ON e.podcast = p.id LEFT JOIN rendition r ON r.episode = e.id
            WHERE p.ephemeral = 0 AND e.buried = 0 ORDER BY e.id
            """
        ) { row in
            let name: String = row[2]
            return AdoptableEpisode(
                id: row[0], show: row[1], name: name, title: row[3], guid: row[4], url: row[5],
                published: row[6], publishedOffset: row[7], duration: row[8],
                size: EpisodeSize(
                    confirmed: row[bytes: 9], length: row[bytes: 10], duration: row[8],
                    type: row[11], name: name),
                isComplete: row[12] ?? false)
        }
    }
}
