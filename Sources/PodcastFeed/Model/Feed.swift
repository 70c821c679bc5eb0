/// A feed as its document says it: the show's facts and its items, in the document's order.
///
/// A value with no identity and no history; `PodcastLibrary` decides which items are the episodes it knows.
package struct Feed: Sendable, Equatable {
    /// The syntax the document was written in.
    package enum Format: String, Sendable, Equatable {
        case rss2 = "rss2"
        case atom = "atom"
        case rss1 = "rss1"
        case json = "json"
    }

    package var format: Format
    package var title: String?
    /// The show's web site.
    package var link: String?
    package var description: String?
    /// A BCP 47 language tag as written.
    package var language: String?
    /// The address of the show's art.
    package var image: String?
    package var author: String?
    /// `podcast:guid`.
    package var guid: String?
    /// `episodic` or `serial` (`itunes:type`).
    package var type: String?
    package var explicit: Bool?
    /// `itunes:new-feed-url`: where the publisher wants the feed to be asked for from now on.
    package var newFeedURL: String?
    /// The next page of a paged feed (RFC 5005, `rel="next"`).
    package var next: String?
    /// Seconds between two looks at the feed that the publisher asks for: the longest of `ttl`, `sy:updatePeriod` and
    /// `podcast:updateFrequency`.
    package var updateInterval: Int?
    /// The previous document of an archived feed (RFC 5005, `rel="prev-archive"`).
    package var previousArchive: String?
    /// Whether the publisher says that no episode will follow (`itunes:complete`, `podcast:updateFrequency complete`).
    package var isComplete: Bool
    /// `podcast:locked`: whether other platforms are asked not to import the feed.
    package var isLocked: Bool?
    /// `podcast:medium`, lower case: `podcast`, `music`, `audiobook`, `video`, …
    package var medium: String?
    /// The people of the show (`podcast:person`); an item's own take their place.
    package var persons: [Person]
    package var funding: [Funding]
    package var trailers: [Trailer]
    /// Broadcasts (`podcast:liveItem`). They are no episodes: what they offer to play has no end.
    package var liveItems: [LiveItem]
    package var categories: [String]
    package var items: [Item]
    /// Whether the document broke off, or was not read to its end: what is missing here need not have left the feed.
    package var isCut: Bool
    package var diagnostics: [Diagnostic]

    package init(format: Format) {
        self.format = format
        self.isComplete = false
        self.isCut = false
        self.persons = []
        self.funding = []
        self.trailers = []
        self.liveItems = []
        self.categories = []
        self.items = []
        self.diagnostics = []
    }
}

/// One item of a feed: an episode, as far as the document knows.
package struct Item: Sendable, Equatable {
    package var guid: String?
    package var title: String?
    package var published: PublicationDate?
    /// Seconds.
    package var duration: Double?
    package var season: Int?
    /// The season's own name (`podcast:season name`).
    package var seasonName: String?
    /// Decimal: `podcast:episode` may be 315.5.
    package var episode: Double?
    /// What to show in place of the number (`podcast:episode display`), such as `Ch. 3`.
    package var episodeDisplay: String?
    /// `full`, `trailer` or `bonus`.
    package var episodeType: String?
    package var explicit: Bool?
    package var link: String?
    /// Show notes, HTML as found: `content:encoded`, else `description`, else `itunes:summary`.
    package var description: String?
    package var image: String?
    /// The author of this episode, when it differs from the show's.
    package var author: String?
    /// The first audio or video enclosure comes first, the alternates follow.
    package var enclosures: [Enclosure]
    package var transcripts: [Transcript]
    /// `podcast:chapters url`.
    package var chaptersURL: String?
    /// Chapters that stand in the feed itself (`psc:chapter`).
    package var chapters: [Chapter]
    /// The people of this episode; with none, those of the show.
    package var persons: [Person]
    package var soundbites: [Soundbite]
    /// Other renditions of the episode (`podcast:alternateEnclosure`); none of them is among the enclosures, unless
    /// there are no others.
    package var alternates: [AlternateEnclosure]
    /// The line of the document at which the item begins; 0 when unknown.
    package var line: Int

    package init() {
        enclosures = []
        transcripts = []
        chapters = []
        persons = []
        soundbites = []
        alternates = []
        line = 0
    }
}

/// A moment, and the day it fell on where the publisher lives.
package struct PublicationDate: Sendable, Equatable {
    /// Seconds since 1970-01-01 UTC.
    package var seconds: Int64
    /// Seconds east of UTC, as the feed wrote them; 0 when it did not say.
    package var offset: Int

    package init(seconds: Int64, offset: Int) {
        self.seconds = seconds
        self.offset = offset
    }
}

package struct Enclosure: Sendable, Equatable {
    package var url: String
    /// Bytes as the feed claims; `nil` when absent, zero, negative or no number.
    package var length: Int64?
    /// A MIME type as written, lower case.
    package var type: String?

    package init(url: String, length: Int64? = nil, type: String? = nil) {
        self.url = url
        self.length = length
        self.type = type
    }
}

package struct Transcript: Sendable, Equatable {
    package var url: String
    package var type: String?
    package var language: String?
    /// `captions` when its lines are short enough to be shown in time with the sound.
    package var relation: String?

    package init(url: String, type: String? = nil, language: String? = nil, relation: String? = nil) {
        self.url = url
        self.type = type
        self.language = language
        self.relation = relation
    }
}

package struct Chapter: Sendable, Equatable {
    /// Seconds from the start.
    package var start: Double
    package var title: String?
    /// A page about it.
    package var link: String?
    package var image: String?

    package init(start: Double, title: String? = nil, link: String? = nil, image: String? = nil) {
        self.start = start
        self.title = title
        self.link = link
        self.image = image
    }
}

/// Something the parser had to mend or pass over.
package struct Diagnostic: Sendable, Equatable {
    /// 1-based line of the document; 0 when unknown.
    package var line: Int
    package var message: String

    package init(line: Int, message: String) {
        self.line = line
        self.message = message
    }
}
