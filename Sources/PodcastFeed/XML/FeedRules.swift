/// The context of an element in a document, which determines the element's meaning.
enum FeedScope: UInt8, CaseIterable {
    /// Outside the root element.
    case document
    /// Inside `rss` or `rdf:RDF`.
    case root
    case channel
    case item
    /// Inside Atom's `feed` and `entry`.
    case feed
    case entry
    /// Inside the channel's `image`.
    case image
    case mediaGroup
    case alternateEnclosure
    case chapters
    /// Inside `itunes:category`, which contains its subcategories.
    case category
    /// Inside `itunes:owner`.
    case owner
    /// Inside Atom's `author`.
    case person
    /// Inside `opml`.
    case opml
    /// Inside OPML's `head`.
    case opmlHead
    /// Inside OPML's `body` or an `outline`.
    case outlines
    /// Inside `podcast:value`.
    case value
    /// Inside `podcast:valueTimeSplit`.
    case timeSplit
    /// Inside `podcast:podroll`.
    case podroll
    /// Inside `podcast:publisher`.
    case publisher
    /// Inside RSS's `skipHours` and `skipDays`.
    case skips
    /// Inside an element whose child elements are ignored, except `item`, `entry` and `outline`: one of these may
    /// follow an element that was not closed.
    case nothing
}

/// The processing of an element: at its start tag with its attributes, at its end tag with its text, or at both.
enum FeedHandler: UInt8 {
    case none
    // At the start tag.
    case rss, rdf, channel, item, feed, entry
    case enclosure, mediaContent, mediaThumbnail, alternateEnclosure, alternateSource
    case transcript, chaptersLink, chapter, atomLink, categoryAttribute, termAttribute, imageAttribute
    case value, timeSplit, recipient, remoteItem, podrollItem, publisherItem, splitItem, socialInteract, chat, podping
    case imagesAttribute, podcastImage, resourceImage, integrity, liveItem
    case opml, outline
    // At the end tag. Some of these elements, such as `guid`, have an attribute that is read at the start tag.
    // `FeedReader` collects the text of these cases and of all below (`collects`), and of `imageAttribute` above.
    case title, itunesTitle, mediaTitle, link, guid, atomID, language, dcLanguage
    case description, content, summary, subtitle, mediaDescription
    case pubDate, dcDate, updated
    case duration, itunesSeason, podcastSeason, itunesEpisode, podcastEpisode, episodeType, explicit, itunesBlock
    case imageURL, imageText, author, coreAuthor, dcCreator, ownerName
    case podcastGUID, showType, newFeedURL, category
    case timeToLive, updatePeriod, updateFrequency, skipHour, skipDay
    case complete, medium
    // At both tags: the attributes contain data such as a URL or a time, the text contains a name or a value.
    case personTag, funding, soundbite, trailer, location, license, textRecord, contentLink, block, podcastFrequency
    case locked

    /// Whether the element's text is collected.
    var collects: Bool { self >= .title || self == .imageAttribute }

    /// Whether the text is HTML, so that tags inside the element are part of the text.
    var isHTML: Bool { self >= .description && self <= .mediaDescription }

    /// Whether the text is a URL. A URL that is too long is ignored, since a truncated one is useless.
    var isURL: Bool {
        switch self {
        case .link, .imageURL, .imageText, .imageAttribute, .newFeedURL: true
        default: false
        }
    }

    /// Whether the element is an item: an episode, or a live stream.
    var isItem: Bool { self == .item || self == .entry || self == .liveItem }

    static func >= (left: FeedHandler, right: FeedHandler) -> Bool { left.rawValue >= right.rawValue }
    static func <= (left: FeedHandler, right: FeedHandler) -> Bool { left.rawValue <= right.rawValue }
}

/// An entry of the table: the processing of an element in a scope.
struct FeedRule {
    var handler: FeedHandler
    /// The scope of the element's children.
    var inside: FeedScope

    static let ignore = FeedRule(handler: .none, inside: .nothing)
    var isIgnored: Bool { handler == .none && inside == .nothing }
}

/// The table that maps an element's scope, namespace and name to its processing.
///
/// To support a new element, add a row here, and a case to ``FeedHandler`` unless an existing one fits.
struct FeedRules: Sendable {
    static let shared = FeedRules()

    /// The index of every name that has no rule.
    private static let unknown: UInt16 = 0

    private struct Key: Hashable {
        var namespace: FeedNamespace
        var name: String
    }

    /// The index of each name in `rows`, from 1.
    private var indices: [Key: UInt16] = [:]
    /// An entry for each scope and name, at `scope * nameCount + index`.
    private(set) var table: [FeedRule] = []
    /// The number of indices, including `unknown`.
    private(set) var nameCount = 1

    private init() {
        for row in Self.rows where indices[Key(namespace: row.1, name: row.2)] == nil {
            indices[Key(namespace: row.1, name: row.2)] = UInt16(nameCount)
            nameCount += 1
        }
        table = Array(repeating: .ignore, count: nameCount * FeedScope.allCases.count)
        for (scopes, namespace, name, handler, inside) in Self.rows {
            guard let index = indices[Key(namespace: namespace, name: name)] else { continue }
            for scope in scopes {
                table[Int(scope.rawValue) * nameCount + Int(index)] = FeedRule(handler: handler, inside: inside)
            }
        }
    }

    /// Returns the index of a name.
    ///
    /// - Parameter name: The local name in lower case.
    func index(of name: String, in namespace: FeedNamespace) -> UInt16 {
        indices[Key(namespace: namespace, name: name)] ?? Self.unknown
    }

    private typealias Row = ([FeedScope], FeedNamespace, String, FeedHandler, FeedScope)

    /// The scopes of Atom and OPML in which an `item` is ignored, because it is not RSS's element.
    private static let nonRSSScopes: Set<FeedScope> = [.feed, .entry, .opml, .opmlHead, .outlines]
    private static let shows: [FeedScope] = [.root, .channel, .feed]
    private static let episodes: [FeedScope] = [.item, .entry]
    private static let showsAndEpisodes: [FeedScope] = [.root, .channel, .feed, .item, .entry]

    private static let rows: [Row] = rssRows + atomRows + itunesRows + podcastRows + moduleRows + opmlRows

    private static let rssRows: [Row] = [
        ([.document], .core, "rss", .rss, .root),
        ([.document], .rdf, "rdf", .rdf, .root),
        ([.document, .root], .core, "channel", .channel, .channel),
        // Also in unexpected scopes, because an element that is not closed must not hide the items after it.
        (FeedScope.allCases.filter { !nonRSSScopes.contains($0) }, .core, "item", .item, .item),
        ([.root, .channel, .item], .core, "title", .title, .nothing),
        ([.root, .channel, .item], .core, "link", .link, .nothing),
        ([.root, .channel, .item], .core, "description", .description, .nothing),
        ([.root, .channel], .core, "language", .language, .nothing),
        ([.root, .channel], .core, "image", .resourceImage, .image),
        ([.image], .core, "url", .imageURL, .nothing),
        ([.root, .channel], .core, "managingeditor", .coreAuthor, .nothing),
        ([.root, .channel], .core, "category", .category, .nothing),
        ([.root, .channel], .core, "ttl", .timeToLive, .nothing),
        ([.root, .channel], .core, "skiphours", .none, .skips),
        ([.root, .channel], .core, "skipdays", .none, .skips),
        ([.skips], .core, "hour", .skipHour, .nothing),
        ([.skips], .core, "day", .skipDay, .nothing),
        ([.item], .core, "guid", .guid, .nothing),
        ([.item], .core, "pubdate", .pubDate, .nothing),
        ([.item], .core, "author", .coreAuthor, .nothing),
        ([.item], .core, "enclosure", .enclosure, .nothing),
    ]

    /// Atom's elements, in Atom's namespace, or in no namespace if the document does not declare it.
    private static let atomRows: [Row] =
        [FeedNamespace.atom, .core].flatMap { namespace -> [Row] in
            [
                ([.document], namespace, "feed", .feed, .feed),
                ([.feed, .entry, .nothing], namespace, "entry", .entry, .entry),
                ([.feed, .entry], namespace, "title", .title, .nothing),
                ([.feed, .entry], namespace, "id", .atomID, .nothing),
                ([.feed, .entry], namespace, "link", .atomLink, .nothing),
                ([.feed], namespace, "subtitle", .description, .nothing),
                ([.feed], namespace, "tagline", .description, .nothing),
                ([.feed], namespace, "logo", .imageURL, .nothing),
                ([.feed], namespace, "icon", .imageText, .nothing),
                ([.feed], namespace, "category", .termAttribute, .nothing),
                ([.feed, .entry], namespace, "author", .none, .person),
                ([.person], namespace, "name", .author, .nothing),
                ([.entry], namespace, "content", .content, .nothing),
                ([.entry], namespace, "summary", .summary, .nothing),
                ([.entry], namespace, "published", .pubDate, .nothing),
                ([.entry], namespace, "issued", .pubDate, .nothing),
                ([.entry], namespace, "updated", .updated, .nothing),
                ([.entry], namespace, "modified", .updated, .nothing),
            ]
        } + [
            ([.root, .channel, .item], .atom, "link", .atomLink, .nothing),
            ([.item], .atom, "published", .dcDate, .nothing),
            ([.item], .atom, "updated", .updated, .nothing),
            ([.item], .atom, "summary", .summary, .nothing),
        ]

    private static let itunesRows: [Row] = [
        (showsAndEpisodes, .itunes, "title", .itunesTitle, .nothing),
        (showsAndEpisodes, .itunes, "summary", .summary, .nothing),
        (showsAndEpisodes, .itunes, "subtitle", .subtitle, .nothing),
        (showsAndEpisodes, .itunes, "author", .author, .nothing),
        (showsAndEpisodes, .itunes, "image", .imageAttribute, .nothing),
        (showsAndEpisodes, .itunes, "explicit", .explicit, .nothing),
        (showsAndEpisodes, .itunes, "block", .itunesBlock, .nothing),
        (shows, .itunes, "type", .showType, .nothing),
        (shows, .itunes, "category", .categoryAttribute, .category),
        ([.category], .itunes, "category", .categoryAttribute, .category),
        (shows, .itunes, "owner", .none, .owner),
        ([.owner], .itunes, "name", .ownerName, .nothing),
        (shows, .itunes, "new-feed-url", .newFeedURL, .nothing),
        (shows, .itunes, "complete", .complete, .nothing),
        (episodes, .itunes, "duration", .duration, .nothing),
        (episodes, .itunes, "season", .itunesSeason, .nothing),
        (episodes, .itunes, "episode", .itunesEpisode, .nothing),
        (episodes, .itunes, "episodetype", .episodeType, .nothing),
    ]

    private static let podcastRows: [Row] = [
        (shows, .podcast, "guid", .podcastGUID, .nothing),
        (shows, .podcast, "updatefrequency", .podcastFrequency, .nothing),
        (shows, .podcast, "locked", .locked, .nothing),
        (shows, .podcast, "funding", .funding, .nothing),
        (shows, .podcast, "medium", .medium, .nothing),
        (shows, .podcast, "trailer", .trailer, .nothing),
        (shows, .podcast, "liveitem", .liveItem, .item),
        (shows, .podcast, "podping", .podping, .nothing),
        (shows, .podcast, "block", .block, .nothing),
        (shows, .podcast, "podroll", .none, .podroll),
        ([.podroll], .podcast, "remoteitem", .podrollItem, .nothing),
        (shows, .podcast, "publisher", .none, .publisher),
        ([.publisher], .podcast, "remoteitem", .publisherItem, .nothing),
        (showsAndEpisodes, .podcast, "remoteitem", .remoteItem, .nothing),
        (showsAndEpisodes, .podcast, "value", .value, .value),
        ([.value, .timeSplit], .podcast, "valuerecipient", .recipient, .nothing),
        ([.value], .podcast, "valuetimesplit", .timeSplit, .timeSplit),
        ([.timeSplit], .podcast, "remoteitem", .splitItem, .nothing),
        (showsAndEpisodes, .podcast, "location", .location, .nothing),
        (showsAndEpisodes, .podcast, "license", .license, .nothing),
        (showsAndEpisodes, .podcast, "txt", .textRecord, .nothing),
        (showsAndEpisodes, .podcast, "chat", .chat, .nothing),
        (showsAndEpisodes, .podcast, "socialinteract", .socialInteract, .nothing),
        (showsAndEpisodes, .podcast, "contentlink", .contentLink, .nothing),
        (showsAndEpisodes, .podcast, "person", .personTag, .nothing),
        (showsAndEpisodes, .podcast, "image", .podcastImage, .nothing),
        (showsAndEpisodes, .podcast, "images", .imagesAttribute, .nothing),
        (episodes, .podcast, "season", .podcastSeason, .nothing),
        (episodes, .podcast, "episode", .podcastEpisode, .nothing),
        (episodes, .podcast, "transcript", .transcript, .nothing),
        (episodes, .podcast, "chapters", .chaptersLink, .nothing),
        (episodes, .podcast, "alternateenclosure", .alternateEnclosure, .alternateEnclosure),
        ([.alternateEnclosure], .podcast, "source", .alternateSource, .nothing),
        ([.alternateEnclosure], .podcast, "integrity", .integrity, .nothing),
        (episodes, .podcast, "soundbite", .soundbite, .nothing),
    ]

    private static let moduleRows: [Row] = [
        (episodes, .content, "encoded", .content, .nothing),
        ([.item, .entry], .media, "group", .none, .mediaGroup),
        ([.item, .entry, .mediaGroup], .media, "content", .mediaContent, .mediaGroup),
        ([.item, .entry, .mediaGroup], .media, "title", .mediaTitle, .nothing),
        ([.item, .entry, .mediaGroup], .media, "description", .mediaDescription, .nothing),
        ([.root, .channel, .feed, .item, .entry, .mediaGroup], .media, "thumbnail", .mediaThumbnail, .nothing),
        (episodes, .chapters, "chapters", .none, .chapters),
        ([.chapters], .chapters, "chapter", .chapter, .nothing),
        (showsAndEpisodes, .dublinCore, "creator", .dcCreator, .nothing),
        (shows, .dublinCore, "language", .dcLanguage, .nothing),
        (episodes, .dublinCore, "date", .dcDate, .nothing),
        (shows, .syndication, "updateperiod", .updatePeriod, .nothing),
        (shows, .syndication, "updatefrequency", .updateFrequency, .nothing),
    ]

    private static let opmlRows: [Row] = [
        ([.document], .core, "opml", .opml, .opml),
        ([.opml], .core, "head", .none, .opmlHead),
        ([.opmlHead], .core, "title", .title, .nothing),
        ([.opml, .opmlHead], .core, "body", .none, .outlines),
        // Recognized in `.nothing` too, as RSS's `item` is: the element before it may not have been closed.
        ([.opml, .opmlHead, .outlines, .nothing], .core, "outline", .outline, .outlines),
    ]
}
