package import Platform

/// The contents of a feed document: the properties of the show, and its items in the document's order.
///
/// `PodcastLibrary` matches the items with known episodes.
package struct Feed: Sendable, Equatable {
    /// The format of the document.
    package enum Format: String, Sendable, Equatable {
        case rss2, atom, rss1, json
    }

    package var format: Format
    package var title: String?
    /// The show's web site.
    package var link: String?
    package var description: String?
    /// A BCP 47 language tag as written.
    package var language: String?
    /// The URL of the show's cover art.
    package var image: String?
    package var author: String?
    /// `podcast:guid`.
    package var guid: String?
    /// `episodic` or `serial` (`itunes:type`).
    package var type: String?
    package var explicit: Bool?
    /// Whether the publisher asks directories not to list the show (`itunes:block`).
    package var isBlocked = false
    /// `itunes:new-feed-url`: the new URL of the feed according to the publisher.
    package var newFeedURL: String?
    /// The URL of the next page of a paged feed (RFC 5005, `rel="next"`).
    package var next: String?
    /// The refresh interval in seconds that the publisher asks for: the longest of `ttl`, `sy:updatePeriod` and
    /// `podcast:updateFrequency`; at least a day if no more episodes are expected. `nil` if the feed states none.
    package var updateInterval: Int?
    /// The URL of the previous document of an archived feed (RFC 5005, `rel="prev-archive"`).
    package var previousArchive: String?
    /// Whether the publisher says that there will be no more episodes (`itunes:complete`, `podcast:updateFrequency
    /// complete`, JSON Feed's `expired`).
    package var isComplete = false
    /// `podcast:locked`: whether other platforms are asked not to import the feed.
    package var isLocked: Bool?
    /// `podcast:medium`, lower case: `podcast`, `music`, `audiobook`, `video`, …
    package var medium: String?
    /// The people of the show (`podcast:person`); those of an item replace them.
    package var persons: [Person] = []
    /// The web pages where listeners can donate or pay (`podcast:funding`).
    package var funding: [WebLink] = []
    package var trailers: [Trailer] = []
    /// Live streams (`podcast:liveItem`). They are not episodes, because a live stream is not a file.
    package var liveItems: [LiveItem] = []
    package var categories: [String] = []
    /// Further `podcast:` elements of the show.
    package var tags = PodcastTags()
    /// Shows that the publisher recommends (`podcast:podroll`).
    package var podroll: [RemoteItem] = []
    /// The publisher's own feed, which lists its shows (`podcast:publisher`).
    package var publisher: RemoteItem?
    /// The mail address to ask for permission to import a locked feed (`podcast:locked owner`).
    package var lockedOwner: String?
    package var updateRule: UpdateRule?
    /// Whether the publisher announces changes by Podping, so that polling is unnecessary.
    package var usesPodping: Bool?
    package var blocks: [PlatformBlock] = []
    /// The hours of the day in UTC, 0 to 23, in which the feed does not change (RSS's `skipHours`).
    package var skipHours: [Int] = []
    /// The days of the week on which the feed does not change (RSS's `skipDays`): English names, lower case.
    package var skipDays: [String] = []
    package var items: [Item] = []
    /// The number of items without playable enclosures; they are not episodes.
    package var unplayable = 0
    /// Whether the document was truncated or not parsed to its end, so that an item missing here may still be in the
    /// feed.
    package var isCut = false
    package var diagnostics: [Diagnostic] = []
    /// Whether all items of the show are present. If so, an episode that is not among them has left the feed.
    package var isWhole: Bool { next == nil && !isCut }

    package init(format: Format) { self.format = format }
}

/// One item of a feed: an episode.
package struct Item: Sendable, Equatable, JSONObject {
    package var guid: String?
    package var title: String?
    package var published: PublicationDate?
    /// The duration in seconds.
    package var duration: Double?
    package var season: Int?
    /// The season's own name (`podcast:season name`).
    package var seasonName: String?
    /// The episode's number, which may have a fraction (`podcast:episode`), such as 315.5.
    package var episode: Double?
    /// The text to display instead of the number (`podcast:episode display`), such as `Ch. 3`.
    package var episodeDisplay: String?
    /// `full`, `trailer` or `bonus`.
    package var episodeType: String?
    package var explicit: Bool?
    /// Whether the publisher asks directories not to list the episode (`itunes:block`).
    package var isBlocked = false
    package var link: String?
    /// The show notes, unsanitized HTML: the first of `content:encoded`, `description`, `itunes:summary`,
    /// `media:description` and `itunes:subtitle`.
    package var description: String?
    package var image: String?
    /// The author of this episode. In `Feed.items` it is `nil` if it would only repeat the show's author.
    package var author: String?
    /// The playable enclosures. The first one that is audio or video is moved to the front.
    package var enclosures: [Enclosure] = []
    /// Enclosures that cannot be played: images, documents, torrents, URLs that are not http or https.
    package var attachments: [Enclosure] = []
    package var transcripts: [Transcript] = []
    /// `podcast:chapters url`.
    package var chaptersURL: String?
    /// Chapters in the feed itself (`psc:chapter`).
    package var chapters: [Chapter] = []
    /// The people of this episode; if empty, those of the show apply.
    package var persons: [Person] = []
    package var soundbites: [Soundbite] = []
    /// Other encodings of the episode: `podcast:alternateEnclosure`, and `media:content` whose URL is not among the
    /// ``enclosures``. The files of `podcast:alternateEnclosure` are also in ``enclosures`` if the item has no media
    /// file in an enclosure or in `media:content`.
    package var alternates: [AlternateEnclosure] = []
    /// Further `podcast:` elements of the episode.
    package var tags = PodcastTags()
    /// The line of the document at which the item starts; 0 if unknown.
    package var line = 0

    package init() {}

    var members: JSONMembers {
        [
            "guid": guid, "title": title, "published": published, "duration": duration, "season": season,
            "season_name": seasonName, "episode": episode, "episode_display": episodeDisplay,
            "episode_type": episodeType, "explicit": explicit, "blocked": isBlocked, "link": link,
            "description": description, "image": image, "author": author, "enclosures": enclosures,
            "attachments": attachments, "alternates": alternates, "transcripts": transcripts,
            "chapters_url": chaptersURL, "chapters": chapters, "persons": persons, "soundbites": soundbites,
            "tags": tags.isEmpty ? nil : tags, "line": line,
        ]
    }
}

/// A media file of an item.
package struct Enclosure: Sendable, Equatable, Codable, JSONObject {
    package var url: String
    /// The size in bytes that the feed states; `nil` if it is missing, zero, negative or not a number.
    package var length: Int64?
    /// The MIME type in lower case, without parameters.
    package var type: String?

    package init(url: String, length: Int64? = nil, type: String? = nil) {
        self.url = url
        self.length = length
        self.type = type
    }

    var members: JSONMembers { ["url": url, "length": length, "type": type] }
}

/// A transcript of an item (`podcast:transcript`).
package struct Transcript: Sendable, Equatable, Codable, JSONObject {
    package var url: String
    package var type: String?
    package var language: String?
    /// `captions` if its lines are short enough to be displayed in sync with the sound.
    package var relation: String?

    package init(url: String, type: String? = nil, language: String? = nil, relation: String? = nil) {
        self.url = url
        self.type = type
        self.language = language
        self.relation = relation
    }

    var members: JSONMembers { ["url": url, "type": type, "language": language, "relation": relation] }
}

/// A chapter of an episode, from the feed, a file of chapters, the show notes or the media file.
package struct Chapter: Sendable, Equatable, Codable, JSONObject {
    /// Seconds from the start.
    package var start: Double
    package var title: String?
    /// A web page about the chapter.
    package var link: String?
    package var image: String?

    package init(start: Double, title: String? = nil, link: String? = nil, image: String? = nil) {
        self.start = start
        self.title = title
        self.link = link
        self.image = image
    }

    var members: JSONMembers { ["start": start, "title": title, "link": link, "image": image] }
}

/// A mistake in the document that the parser has corrected or skipped.
package struct Diagnostic: Sendable, Equatable, JSONObject {
    /// The line of the document, from 1; 0 if unknown.
    package var line: Int
    package var message: String

    package init(line: Int, message: String) {
        self.line = line
        self.message = message
    }

    var members: JSONMembers { ["line": line, "message": message] }
}

extension Feed {
    /// The hours and weekdays of `skipHours` and `skipDays`, for the refresh schedule.
    package var quietTimes: QuietTimes {
        let names = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"]
        return QuietTimes(hours: Set(skipHours), days: Set(skipDays.compactMap(names.firstIndex)))
    }
}

/// The limits of a document: external input must not determine how much memory podfs uses.
///
/// Content beyond a limit is truncated or omitted, usually with a diagnostic; it is never an error.
package struct FeedLimits: Sendable, Equatable {
    /// The maximum size of the document, or of all pages of a feed together, in bytes: 20,000 items with long show
    /// notes fit. Resolving relative references may add as many bytes again.
    package var bytes = 64 << 20
    /// The maximum number of items, or of subscriptions in a list. A daily show has 36,500 in a century.
    package var items = 100_000
    /// The maximum nesting depth. Feeds need a dozen; XHTML show notes add a few dozen more. Deeper elements are
    /// skipped.
    package var depth = 256
    /// The maximum size of a title, name, identifier or other line in bytes. A longer one is truncated at a character
    /// boundary.
    package var line = 4_096
    /// The maximum size of a URL in bytes: twice what common servers accept. A longer one is omitted, since a
    /// truncated URL is useless.
    package var url = 16_384
    /// The maximum size of a description in bytes. A longer one is truncated at a character boundary.
    package var text = 1 << 20
    /// The maximum number of enclosures, transcripts, chapters, people, categories and the like in one list.
    package var entries = 1_000
    /// The maximum number of diagnostics; a broken generator repeats one mistake in each item.
    package var diagnostics = 100

    package static let standard = FeedLimits()

    package init() {}
}
