internal import Platform

extension FeedReader {
    /// Processes an element's start tag.
    ///
    /// - Returns: Whether the element's text is needed, too. The caller ignores the result for a handler that does not
    ///   collect text.
    mutating func start(_ handler: FeedHandler, _ attributes: FeedAttributes) -> Bool {
        switch handler {
        case .rss, .channel, .opml: break
        case .outline: startOutline(attributes)
        case .rdf: show.feed.format = .rss1
        case .feed:
            show.feed.format = .atom
            if let language = attributes.value("xml:lang") {
                set(.dcLanguage, text: UTF8Cleaner.prefix(language, limits.line))
            }
        case .item, .entry: startItem(attributes)
        case .liveItem: startLiveItem(attributes)
        case .enclosure: startEnclosure(attributes)
        case .mediaContent: startMediaContent(attributes)
        case .mediaThumbnail: set(handler, url: attributes.value("url"))
        case .alternateEnclosure: startAlternate(attributes)
        case .alternateSource: startAlternateSource(attributes)
        case .integrity: startIntegrity(attributes)
        case .personTag: return startPerson(attributes)
        case .funding: return startFunding(attributes)
        case .soundbite: return startSoundbite(attributes)
        case .trailer: return startTrailer(attributes)
        case .transcript: startTranscript(attributes)
        case .chaptersLink:
            current.item.chaptersURL = current.item.chaptersURL ?? attributes.value("url").flatMap { url($0) }
        case .chapter: startChapter(attributes)
        case .atomLink: startAtomLink(attributes)
        case .categoryAttribute: addCategory(attributes.value("text"))
        case .termAttribute: addCategory(attributes.value("label") ?? attributes.value("term"))
        case .imageAttribute:
            // The specification has only `href`; `url`, and a URL in the element's text, occur in feeds.
            guard let address = attributes.value("href") ?? attributes.value("url") else { return true }
            set(handler, url: address)
        case .imagesAttribute: set(handler, url: attributes.value("srcset").flatMap { Self.widest(ofSet: $0) })
        case .podcastImage: startPodcastImage(attributes)
        case .resourceImage: set(handler, url: attributes.value("rdf:resource"))
        case .value, .timeSplit, .recipient, .remoteItem, .podrollItem, .publisherItem, .splitItem, .socialInteract,
            .chat,
            .podping:
            startDataElement(handler, attributes)
        case .location, .license, .textRecord, .contentLink, .block, .podcastFrequency, .locked:
            return startPending(handler, attributes)
        case .guid where isInItem:
            guard current.ranks.wants(.guid, 0) else { return false }
            current.guidIsLink = attributes.value("isPermaLink").flatMap { FeedValues.boolean($0.trimmed) } ?? true
            return true
        case .content: return startContent(attributes)
        case .podcastSeason:
            current.item.seasonName = current.item.seasonName ?? line(attributes.value("name"))
            return current.ranks.wants(.season, 0)
        case .podcastEpisode:
            current.item.episodeDisplay = current.item.episodeDisplay ?? line(attributes.value("display"))
            return current.ranks.wants(.episode, 0)
        default:
            guard let (field, rank) = handler.field else { return true }
            return (isInItem ? current.ranks : show.ranks).wants(field, rank)
        }
        return false
    }

    mutating func startItem(_ attributes: FeedAttributes) {
        guard show.itemCount < limits.items else {
            return stop("there are more than \(limits.items) items; the rest is ignored")
        }
        current.begin(line: diagnosticLog.lines.current())
        if show.feed.format == .rss1, let about = attributes.value("rdf:about") {
            set(.atomID, text: UTF8Cleaner.prefix(about, limits.line))
        }
    }

    private mutating func startEnclosure(_ attributes: FeedAttributes) {
        guard let address = attributes.value("url").flatMap({ url($0) }) else {
            return diagnose("an enclosure has no URL and is ignored")
        }
        add(
            Enclosure(
                url: address, length: length(attributes.value("length")),
                type: attributes.value("type").flatMap(MIMEType.essence)))
    }

    private mutating func startAtomLink(_ attributes: FeedAttributes) {
        guard let address = attributes.value("href").flatMap({ url($0) }) else { return }
        let relation = attributes.value("rel").map { String(decoding: $0.trimmed, as: UTF8.self).lowercased() }
        switch relation {
        case nil, "", "alternate":
            guard isInItem else {
                if show.ranks.wants(.link, 1) {
                    show.feed.link = address
                    show.ranks.set(.link, 1)
                }
                return
            }
            if current.ranks.wants(.link, 1) {
                current.item.link = address
                current.ranks.set(.link, 1)
            }
        case "enclosure" where isInItem:
            add(
                Enclosure(
                    url: address, length: length(attributes.value("length")),
                    type: attributes.value("type").flatMap(MIMEType.essence)))
        case "next" where !isInItem: show.feed.next = show.feed.next ?? address
        case "prev-archive" where !isInItem: show.feed.previousArchive = show.feed.previousArchive ?? address
        default: break
        }
    }

    private mutating func add(_ enclosure: Enclosure) {
        guard current.item.enclosures.count < limits.entries else { return }
        current.item.enclosures.append(enclosure)
    }

    private mutating func startMediaContent(_ attributes: FeedAttributes) {
        guard current.mediaContents.count < limits.entries, let address = attributes.value("url").flatMap({ url($0) })
        else {
            return
        }
        let content = Enclosure(
            url: address, length: attributes.value("fileSize").flatMap { FeedValues.length($0.trimmed) },
            type: attributes.value("type").flatMap(MIMEType.essence))
        let medium = attributes.value("medium").map { String(decoding: $0.trimmed, as: UTF8.self).lowercased() }
        guard medium == "audio" || medium == "video" || (medium == nil && [.media, .stream].contains(content.kind)),
            attributes.value("expression").map({ String(decoding: $0.trimmed, as: UTF8.self).lowercased() }) != "sample"
        else { return }
        current.mediaContents.append(content)
        if current.ranks.wants(.duration, 1), let text = attributes.value("duration"),
            let duration = FeedValues.duration(text.trimmed)
        {
            current.item.duration = duration
            current.ranks.set(.duration, 1)
        }
    }

    private mutating func startTranscript(_ attributes: FeedAttributes) {
        guard current.item.transcripts.count < limits.entries,
            let address = attributes.value("url").flatMap({ url($0) })
        else {
            return
        }
        let language = word(attributes.value("language"))
        let transcript = Transcript(
            url: address, type: attributes.value("type").flatMap(MIMEType.essence), language: language,
            relation: word(attributes.value("rel"))?.lowercased())
        Self.add(transcript, to: &current.item.transcripts, limits)
    }

    /// Processes the start of Atom's `content` or of `content:encoded`.
    ///
    /// Atom's `content` may contain text, or any other type in base64 (RFC 4287, section 4.1.3). Atom 0.3 allowed
    /// base64 for text, too (`mode="base64"`).
    ///
    /// - Returns: Whether the text inside is needed.
    private mutating func startContent(_ attributes: FeedAttributes) -> Bool {
        current.isBase64 = false
        guard current.ranks.wants(.description, 0) else { return false }
        let type = attributes.value("type").flatMap(MIMEType.essence) ?? ""
        current.isBase64 = word(attributes.value("mode"))?.lowercased() == "base64"
        if current.isBase64 { return type.isEmpty || type.hasPrefix("text/") || type.hasSuffix("html") }
        // Other types are not show notes.
        return !type.contains("/") || type.hasPrefix("text/") || type.hasSuffix("xml")
    }

    private mutating func startChapter(_ attributes: FeedAttributes) {
        guard current.item.chapters.count < limits.entries else { return }
        guard let text = attributes.value("start"), let start = FeedValues.seconds(text.trimmed) else {
            return diagnose("a chapter has no readable start and is ignored")
        }
        current.item.chapters.append(
            Chapter(
                start: start, title: line(attributes.value("title")),
                link: attributes.value("href").flatMap { url($0) },
                image: attributes.value("image").flatMap { url($0) }))
    }

    mutating func addCategory(_ text: FeedBytes?) {
        if let name = line(text) { Self.add(name, to: &show.feed.categories, limits) }
    }

    /// Parses the length of an enclosure. A missing length or a zero is too common for a diagnostic.
    private mutating func length(_ text: FeedBytes?) -> Int64? {
        guard let text = text?.trimmed, !text.isEmpty else { return nil }
        let length = FeedValues.length(text)
        if length == nil, !text.elementsEqual("0".utf8) {
            diagnose("the length “\(Self.excerpt(text))” of an enclosure is not a number of bytes")
        }
        return length
    }

    /// Returns the interval in seconds of a recurrence rule (RFC 5545, section 3.3.10), by its `FREQ` and `INTERVAL`
    /// only; `nil` if it has no known frequency.
    static func interval(ofRule rule: FeedBytes) -> Int? {
        var unit: Int?
        var count = 1
        for part in String(decoding: rule.prefix(500), as: UTF8.self).uppercased().split(separator: ";") {
            let halves = part.split(separator: "=", maxSplits: 1)
            guard halves.count == 2 else { continue }
            switch (halves[0], halves[1]) {
            case ("FREQ", "HOURLY"): unit = 3600
            case ("FREQ", "DAILY"): unit = 86_400
            case ("FREQ", "WEEKLY"): unit = 7 * 86_400
            case ("FREQ", "MONTHLY"): unit = 30 * 86_400
            case ("FREQ", "YEARLY"): unit = 365 * 86_400
            case ("INTERVAL", let number): count = min(max(Int(number) ?? 1, 1), 1000)
            default: break
            }
        }
        return unit.map { $0 * count }
    }
}
