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

/// The processing of an element.
struct FeedElement: Sendable {
    /// Processes an element's text, at its end tag.
    typealias End = @Sendable (inout FeedReader, FeedBytes) -> Void
    typealias Start = @Sendable (inout FeedReader, FeedAttributes) -> End?

    /// The kinds of text.
    enum Text {
        case line
        /// Tags inside the element are part of the text.
        case html
        /// A URL that is too long is ignored, since a truncated one is useless.
        case url
    }

    var text = Text.line
    /// Processes the start tag. Returns the processing of the text; `nil` if the text is not needed.
    let start: Start

    /// An element without data of its own.
    static let container = FeedElement { _, _ in nil }

    /// An element of which only the attributes are read.
    static func tag(_ start: @escaping @Sendable (inout FeedReader, FeedAttributes) -> Void) -> FeedElement {
        FeedElement { reader, tag in
            start(&reader, tag)
            return nil
        }
    }

    /// An element whose text is the value of a field, unless a source of equal or better rank has set the field.
    static func field(_ field: FeedField, _ rank: UInt8 = 0) -> FeedElement {
        let end = setting(field, rank)
        return FeedElement(text: field.text) { reader, _ in reader.ranks.wants(field, rank) ? end : nil }
    }

    static func setting(_ field: FeedField, _ rank: UInt8) -> End { { reader, text in reader.set(field, rank, text) } }
}

/// An entry of the table: the processing of an element in a scope.
struct FeedRule {
    /// The part of an element in the structure of a document.
    enum Role: UInt8 {
        /// The element itself has no meaning; its child elements may have one.
        case none
        case data
        /// An episode, or a live stream.
        case item
        /// The root of a list of subscriptions.
        case opml
        /// A subscription or a folder of such a list.
        case outline
    }

    var role: Role
    /// The index in ``FeedRules/elements``.
    var element: UInt8 = 0
    /// The scope of the element's children.
    var inside: FeedScope

    static let ignore = FeedRule(role: .none, inside: .nothing)
    var isIgnored: Bool { role == .none && inside == .nothing }
}

/// The table that maps an element's scope, namespace and name to its processing.
///
/// To support a new element, add a row here.
struct FeedRules: Sendable {
    static let shared = FeedRules()

    private static let scopeCount = FeedScope.allCases.count

    /// The index of each name, from 1.
    private var indices: [FeedNamespace: [String: UInt16]] = [:]
    private(set) var elements: [FeedElement] = []
    /// An entry for each name and scope, at `index * scopeCount + scope`.
    private var table: [FeedRule] = Array(repeating: .ignore, count: FeedRules.scopeCount)

    private init() {
        addChannels()
        for namespace in [FeedNamespace.atom, .core] { addAtom(namespace) }
        addITunes()
        addPodcastingOfShows()
        addPodcastingOfEpisodes()
        addPodcastingOfBoth()
        addModules()
        addOPML()
    }

    /// Returns the rule of the name with an index.
    @inline(__always)
    func rule(_ index: UInt16, in scope: FeedScope) -> FeedRule {
        table[Int(index) * Self.scopeCount + Int(scope.rawValue)]
    }

    /// Returns the index of a name; 0 for one that has no rule.
    ///
    /// - Parameter name: The local name in lower case.
    func index(of name: String, in namespace: FeedNamespace) -> UInt16 {
        indices[namespace]?[name] ?? 0
    }

    /// Adds a row.
    ///
    /// - Parameter element: `nil` for an element that only its child elements give a meaning.
    mutating func add(
        _ scopes: [FeedScope], _ namespace: FeedNamespace, _ name: String, inside: FeedScope = .nothing,
        as role: FeedRule.Role = .data, _ element: FeedElement?
    ) {
        let index = indices[namespace]?[name] ?? UInt16(table.count / Self.scopeCount)
        if indices[namespace, default: [:]].updateValue(index, forKey: name) == nil {
            table += repeatElement(.ignore, count: Self.scopeCount)
        }
        let rule = FeedRule(role: element == nil ? .none : role, element: UInt8(elements.count), inside: inside)
        for scope in scopes { table[Int(index) * Self.scopeCount + Int(scope.rawValue)] = rule }
        elements.append(element ?? .container)
    }

    /// Adds an element whose start tag decides how its text is processed.
    mutating func addElement(
        _ scopes: [FeedScope], _ namespace: FeedNamespace, _ name: String, _ start: @escaping FeedElement.Start
    ) {
        add(scopes, namespace, name, FeedElement(start: start))
    }

    /// Adds an element of which only the attributes are read.
    mutating func addTag(
        _ scopes: [FeedScope], _ namespace: FeedNamespace, _ name: String, inside: FeedScope = .nothing,
        as role: FeedRule.Role = .data, _ start: @escaping @Sendable (inout FeedReader, FeedAttributes) -> Void
    ) {
        add(scopes, namespace, name, inside: inside, as: role, .tag(start))
    }

    /// Adds an element of which only the text is read.
    mutating func addText(
        _ scopes: [FeedScope], _ namespace: FeedNamespace, _ name: String, _ text: FeedElement.Text = .line,
        _ end: @escaping FeedElement.End
    ) {
        add(scopes, namespace, name, FeedElement(text: text) { _, _ in end })
    }

    static let shows: [FeedScope] = [.root, .channel, .feed]
    static let episodes: [FeedScope] = [.item, .entry]
    static let showsAndEpisodes = shows + episodes
    private static let item = FeedElement.tag { reader, tag in reader.startItem(tag) }

    private mutating func addChannels() {
        let shows: [FeedScope] = [.root, .channel]
        let all = shows + [.item]
        // The scopes of Atom and OPML in which an `item` is ignored, because it is not RSS's element.
        let nonRSS: Set<FeedScope> = [.feed, .entry, .opml, .opmlHead, .outlines]
        add([.document], .core, "rss", inside: .root, .container)
        add([.document], .rdf, "rdf", inside: .root, .tag { reader, _ in reader.show.feed.format = .rss1 })
        add([.document, .root], .core, "channel", inside: .channel, .container)
        // Also in unexpected scopes, because an element that is not closed must not hide the items after it.
        add(FeedScope.allCases.filter { !nonRSS.contains($0) }, .core, "item", inside: .item, as: .item, Self.item)
        add(all, .core, "title", .field(.title))
        add(all, .core, "link", .field(.link))
        add(all, .core, "description", .field(.description, 1))
        add(shows, .core, "language", .field(.language))
        addTag(shows, .core, "image", inside: .image) { $0.set(.image, 6, $1.value("rdf:resource")) }
        add([.image], .core, "url", .field(.image, 3))
        add(shows, .core, "managingeditor", .field(.author, 2))
        addText(shows, .core, "category") { $0.addCategory($1) }
        addText(shows, .core, "ttl") { reader, text in
            // The text is a number of minutes. More than a year counts as a year.
            guard let minutes = FeedValues.wholeNumber(text.trimmed) else { return }
            reader.show.schedule.timeToLive = min(minutes, 525_600) * 60
        }
        add(shows, .core, "skiphours", inside: .skips, nil)
        add(shows, .core, "skipdays", inside: .skips, nil)
        addText([.skips], .core, "hour") { reader, text in
            guard let hour = FeedValues.wholeNumber(text.trimmed), hour < 24 else { return }
            reader.show.feed.skipHours.add(hour, limit: reader.limits.entries)
        }
        addText([.skips], .core, "day") { reader, text in
            let day = String(decoding: text.trimmed, as: UTF8.self).lowercased()
            let days = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
            if days.contains(day) { reader.show.feed.skipDays.add(day, limit: reader.limits.entries) }
        }
        addElement([.item], .core, "guid") { reader, tag in
            guard reader.isInItem, reader.ranks.wants(.guid, 0) else { return nil }
            reader.current.guidIsLink = tag.flag("isPermaLink") ?? true
            return FeedElement.setting(.guid, 0)
        }
        add([.item], .core, "pubdate", .field(.published))
        add([.item], .core, "author", .field(.author, 2))
        addTag([.item], .core, "enclosure") { $0.startEnclosure($1) }
        addTag(all, .atom, "link") { $0.startAtomLink($1) }
        add([.item], .atom, "published", .field(.published, 1))
        add([.item], .atom, "updated", .field(.published, 2))
        add([.item], .atom, "summary", .field(.description, 2))
    }

    /// Adds Atom's elements, which are in no namespace if the document does not declare Atom's.
    private mutating func addAtom(_ namespace: FeedNamespace) {
        let all: [FeedScope] = [.feed, .entry]
        addTag([.document], namespace, "feed", inside: .feed) { reader, tag in
            reader.show.feed.format = .atom
            guard let language = tag.value("xml:lang") else { return }
            reader.set(.language, 1, UTF8Cleaner.prefix(language, reader.limits.line))
        }
        add([.feed, .entry, .nothing], namespace, "entry", inside: .entry, as: .item, Self.item)
        add(all, namespace, "title", .field(.title))
        add(all, namespace, "id", .field(.guid, 1))
        addTag(all, namespace, "link") { $0.startAtomLink($1) }
        add([.feed], namespace, "subtitle", .field(.description, 1))
        add([.feed], namespace, "tagline", .field(.description, 1))
        add([.feed], namespace, "logo", .field(.image, 3))
        add([.feed], namespace, "icon", .field(.image, 5))
        addTag([.feed], namespace, "category") { $0.addCategory($1.value("label") ?? $1.value("term")) }
        add(all, namespace, "author", inside: .person, nil)
        add([.person], namespace, "name", .field(.author))
        add([.entry], namespace, "content", Self.content)
        add([.entry], namespace, "summary", .field(.description, 2))
        add([.entry], namespace, "published", .field(.published))
        add([.entry], namespace, "issued", .field(.published))
        add([.entry], namespace, "updated", .field(.published, 2))
        add([.entry], namespace, "modified", .field(.published, 2))
    }

    private mutating func addITunes() {
        let all = Self.showsAndEpisodes
        add(all, .itunes, "title", .field(.title, 1))
        add(all, .itunes, "summary", .field(.description, 2))
        add(all, .itunes, "subtitle", .field(.description, 4))
        add(all, .itunes, "author", .field(.author))
        add(
            all, .itunes, "image",
            FeedElement(text: .url) { reader, tag in
                // The specification has only `href`; `url`, and a URL in the element's text, occur in feeds.
                guard let address = tag.value("href") ?? tag.value("url") else { return FeedElement.setting(.image, 0) }
                reader.set(.image, 0, address)
                return nil
            })
        addText(all, .itunes, "explicit") { reader, text in
            let value = FeedValues.boolean(text.trimmed)
            if reader.isInItem {
                reader.current.item.explicit = reader.current.item.explicit ?? value
            } else {
                reader.show.feed.explicit = reader.show.feed.explicit ?? value
            }
        }
        addText(all, .itunes, "block") { reader, text in
            guard FeedValues.boolean(text.trimmed) == true else { return }
            if reader.isInItem { reader.current.item.isBlocked = true } else { reader.show.feed.isBlocked = true }
        }
        addText(Self.shows, .itunes, "type") { reader, text in
            let type = reader.word(text, among: ["episodic", "serial"], "show's type")
            reader.show.feed.type = reader.show.feed.type ?? type
        }
        addTag(Self.shows + [.category], .itunes, "category", inside: .category) { $0.addCategory($1.value("text")) }
        add(Self.shows, .itunes, "owner", inside: .owner, nil)
        add([.owner], .itunes, "name", .field(.author, 3))
        addText(Self.shows, .itunes, "new-feed-url", .url) {
            $0.show.feed.newFeedURL = $0.show.feed.newFeedURL ?? $0.url($1)
        }
        addText(Self.shows, .itunes, "complete") {
            if FeedValues.boolean($1.trimmed) == true { $0.show.feed.isComplete = true }
        }
        add(Self.episodes, .itunes, "duration", .field(.duration))
        add(Self.episodes, .itunes, "season", .field(.season, 1))
        add(Self.episodes, .itunes, "episode", .field(.episode, 1))
        addText(Self.episodes, .itunes, "episodetype") { reader, text in
            let type = reader.word(text, among: ["full", "trailer", "bonus"], "episode type")
            reader.current.item.episodeType = reader.current.item.episodeType ?? type
        }
    }

    private mutating func addModules() {
        let media: [FeedScope] = [.item, .entry, .mediaGroup]
        add(Self.episodes, .content, "encoded", Self.content)
        add([.item, .entry], .media, "group", inside: .mediaGroup, nil)
        addTag(media, .media, "content", inside: .mediaGroup) { $0.startMediaContent($1) }
        add(media, .media, "title", .field(.title, 2))
        add(media, .media, "description", .field(.description, 3))
        addTag(Self.shows + media, .media, "thumbnail") { $0.set(.image, 4, $1.value("url")) }
        add(Self.episodes, .chapters, "chapters", inside: .chapters, nil)
        addTag([.chapters], .chapters, "chapter") { $0.startChapter($1) }
        add(Self.showsAndEpisodes, .dublinCore, "creator", .field(.author, 1))
        add(Self.shows, .dublinCore, "language", .field(.language, 1))
        add(Self.episodes, .dublinCore, "date", .field(.published, 1))
        addText(Self.shows, .syndication, "updateperiod") { reader, text in
            let hours = PublishingInterval.hours(ofPeriod: String(decoding: text.trimmed, as: UTF8.self))
            if let hours { reader.show.schedule.period = hours * 3600 }
        }
        addText(Self.shows, .syndication, "updatefrequency") { reader, text in
            let frequency = FeedValues.wholeNumber(text.trimmed)
            reader.show.schedule.frequency = frequency ?? reader.show.schedule.frequency
        }
    }

    private mutating func addOPML() {
        add([.document], .core, "opml", inside: .opml, as: .opml, .container)
        add([.opml], .core, "head", inside: .opmlHead, nil)
        add([.opmlHead], .core, "title", .field(.title))
        add([.opml, .opmlHead], .core, "body", inside: .outlines, nil)
        // Recognized in `.nothing` too, as RSS's `item` is: the element before it may not have been closed.
        addTag([.opml, .opmlHead, .outlines, .nothing], .core, "outline", inside: .outlines, as: .outline) {
            $0.startOutline($1)
        }
    }

    /// Atom's `content`, or `content:encoded`.
    ///
    /// Atom's `content` may contain text, or any other type in base64 (RFC 4287, section 4.1.3). Atom 0.3 allowed
    /// base64 for text, too (`mode="base64"`).
    private static let content = FeedElement(text: .html) { reader, tag in
        guard reader.ranks.wants(.description, 0) else { return nil }
        let type = tag.type("type") ?? ""
        if reader.keyword(tag.value("mode")) == "base64" {
            let isText = type.isEmpty || type.hasPrefix("text/") || type.hasSuffix("html")
            guard isText else { return nil }
            return { reader, text in reader.setBase64(text) }
        }
        // Other types are not show notes.
        let isText = !type.contains("/") || type.hasPrefix("text/") || type.hasSuffix("xml")
        return isText ? FeedElement.setting(.description, 0) : nil
    }
}
