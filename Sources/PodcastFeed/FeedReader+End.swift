extension FeedReader {
    /// What an element's text says, when its end tag has come.
    mutating func end(_ handler: FeedHandler, _ text: FeedBytes) {
        switch handler {
        case .pubDate, .dcDate, .updated: setDate(handler, text)
        case .duration:
            let trimmed = text.trimmed
            guard !trimmed.isEmpty, isInItem else { return }
            if let duration = FeedValues.duration(trimmed) {
                item.duration = duration
                itemRanks.set(.duration, 0)
            } else if FeedValues.seconds(trimmed) == nil {
                note("the duration “\(Self.excerpt(trimmed))” cannot be read")
            }
        case .itunesSeason, .podcastSeason: setSeason(handler, text.trimmed)
        case .itunesEpisode, .podcastEpisode: setEpisode(handler, text.trimmed)
        case .episodeType: setEpisodeType(text)
        case .showType: setShowType(text)
        case .explicit:
            let value = FeedValues.boolean(text.trimmed)
            if isInItem { item.explicit = item.explicit ?? value } else { feed.explicit = feed.explicit ?? value }
        case .link, .imageURL, .imageText, .imageAttribute: set(handler, url: text)
        case .newFeedURL: feed.newFeedURL = feed.newFeedURL ?? url(text)
        case .podcastGUID: feed.guid = feed.guid ?? FeedValues.string(text)
        case .category: addCategory(text)
        case .timeToLive: timeToLive = FeedValues.season(text.trimmed).map { min($0, 525_600) * 60 } ?? timeToLive
        case .updateFrequency: updateFrequency = FeedValues.season(text.trimmed) ?? updateFrequency
        case .updatePeriod: updatePeriod = Self.period(text) ?? updatePeriod
        case .complete: if FeedValues.boolean(text.trimmed) == true { feed.isComplete = true }
        case .locked: feed.isLocked = feed.isLocked ?? FeedValues.boolean(text.trimmed)
        case .medium: feed.medium = feed.medium ?? FeedValues.string(text)?.lowercased()
        case .personTag, .funding, .soundbite, .trailer: endPending(handler, text)
        default: set(handler, text: text)
        }
    }

    /// The item is whole: what it offers to play is decided, and it joins the feed.
    mutating func finishItem() {
        guard isInItem else { return }
        isInItem = false
        if item.enclosures.isEmpty {
            item.enclosures = mediaContents.isEmpty ? item.alternates.flatMap(\.enclosures) : mediaContents
        }
        item.enclosures = Enclosure.selected(from: item.enclosures)
        if let live = pending.live {
            pending.live = nil
            guard feed.liveItems.count < limits.entries else { return }
            feed.liveItems.append(LiveItem(status: live.status, start: live.start, end: live.end, item: takeItem()))
        } else {
            itemCount += 1
            if let onItem { onItem(takeItem()) } else { feed.items.append(takeItem()) }
        }
    }

    /// The item, moved out: a copy would count each of its strings once more.
    private mutating func takeItem() -> Item {
        var taken = Item()
        swap(&taken, &item)
        return taken
    }

    /// The document is over: what depends on the whole of it.
    mutating func finishFeed() {
        if let author = feed.author {
            for index in feed.items.indices where feed.items[index].author == author { feed.items[index].author = nil }
        }
        let syndication = updatePeriod.map { $0 / max(1, updateFrequency ?? 1) }
        feed.updateInterval = [timeToLive, syndication, podcastFrequency].compactMap(\.self).filter { $0 > 0 }.max()
    }

    // MARK: Fields

    /// Gives a field its text, when it has none from a better source.
    mutating func set(_ handler: FeedHandler, text: FeedBytes) {
        guard let (field, rank) = handler.field, (isInItem ? itemRanks : feedRanks).wants(field, rank) else { return }
        let isName = field == .title || field == .author
        guard var value = isName ? FeedValues.line(text) : FeedValues.string(text) else { return }
        if handler == .coreAuthor { value = FeedValues.person(value) }
        if isInItem {
            switch field {
            case .title: item.title = value
            case .guid: item.guid = value
            case .description: item.description = value
            case .author: item.author = value
            default: return
            }
            itemRanks.set(field, rank)
        } else {
            switch field {
            case .title: feed.title = value
            case .description: feed.description = value
            case .author: feed.author = value
            case .language: feed.language = value
            default: return
            }
            feedRanks.set(field, rank)
        }
    }

    /// Gives a field its URL, when it has none from a better source.
    mutating func set(_ handler: FeedHandler, url text: FeedBytes?) {
        guard let text, let (field, rank) = handler.field, (isInItem ? itemRanks : feedRanks).wants(field, rank),
            let address = url(text)
        else { return }
        switch (field, isInItem) {
        case (.link, true): item.link = address
        case (.link, false): feed.link = address
        case (.image, true): item.image = address
        case (.image, false): feed.image = address
        default: return
        }
        if isInItem { itemRanks.set(field, rank) } else { feedRanks.set(field, rank) }
    }

    private mutating func setDate(_ handler: FeedHandler, _ text: FeedBytes) {
        guard isInItem, let (field, rank) = handler.field else { return }
        let trimmed = text.trimmed
        guard !trimmed.isEmpty else { return }
        guard let date = PublicationDate(parsing: trimmed) else {
            return note("the date “\(Self.excerpt(trimmed))” cannot be read")
        }
        item.published = date
        itemRanks.set(field, rank)
    }

    private mutating func setSeason(_ handler: FeedHandler, _ text: FeedBytes) {
        guard isInItem, !text.isEmpty, let (field, rank) = handler.field else { return }
        guard let season = FeedValues.season(text) else {
            return note("the season “\(Self.excerpt(text))” is no number")
        }
        item.season = season
        itemRanks.set(field, rank)
    }

    private mutating func setEpisode(_ handler: FeedHandler, _ text: FeedBytes) {
        guard isInItem, !text.isEmpty, let (field, rank) = handler.field else { return }
        guard let episode = FeedValues.episode(text) else {
            return note("the episode “\(Self.excerpt(text))” is no number")
        }
        item.episode = episode
        itemRanks.set(field, rank)
    }

    private mutating func setEpisodeType(_ text: FeedBytes) {
        guard let type = FeedValues.string(text)?.lowercased() else { return }
        if ["full", "trailer", "bonus"].contains(type) {
            item.episodeType = item.episodeType ?? type
        } else {
            note("the episode type “\(Self.excerpt(type.utf8))” is unknown")
        }
    }

    private mutating func setShowType(_ text: FeedBytes) {
        guard let type = FeedValues.string(text)?.lowercased() else { return }
        if type == "episodic" || type == "serial" {
            feed.type = feed.type ?? type
        } else {
            note("the show's type “\(Self.excerpt(type.utf8))” is unknown")
        }
    }

    // MARK: Text

    /// A URL, made absolute where the document or its address say how; `nil` when there is none or it is too long.
    mutating func url(_ text: FeedBytes) -> String? {
        urls.resolve(text, base: base)
    }

    /// The value of an attribute as a line for people.
    func line(_ attribute: FeedBytes?) -> String? {
        attribute.flatMap { FeedValues.line(UTF8Cleaner.prefix($0, limits.line)) }
    }

    /// The value of an attribute as a word for programs.
    func word(_ attribute: FeedBytes?) -> String? {
        attribute.flatMap { FeedValues.string(UTF8Cleaner.prefix($0, limits.line)) }
    }

    /// The beginning of a text, for a diagnostic.
    static func excerpt(_ text: some Collection<UInt8>) -> String {
        let whole = String(decoding: text.prefix(160), as: UTF8.self)
        return whole.count > 40 ? whole.prefix(40) + "…" : whole
    }

    private static func period(_ text: FeedBytes) -> Int? {
        switch String(decoding: text.trimmed, as: UTF8.self).lowercased() {
        case "hourly": 3600
        case "daily": 86_400
        case "weekly": 7 * 86_400
        case "monthly": 30 * 86_400
        case "yearly": 365 * 86_400
        default: nil
        }
    }
}
