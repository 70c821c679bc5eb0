internal import Platform

extension FeedReader {
    /// Processes an element's text at its end tag.
    mutating func end(_ handler: FeedHandler, _ text: FeedBytes) {
        switch handler {
        case .pubDate, .dcDate, .updated: setDate(handler, text)
        case .duration:
            let trimmed = text.trimmed
            guard !trimmed.isEmpty, isInItem else { return }
            if let duration = FeedValues.duration(trimmed) {
                current.item.duration = duration
                current.ranks.set(.duration, 0)
            } else if FeedValues.seconds(trimmed) == nil {
                diagnose("the duration “\(Self.excerpt(trimmed))” cannot be read")
            }
        case .itunesSeason, .podcastSeason: setSeason(handler, text.trimmed)
        case .itunesEpisode, .podcastEpisode: setEpisode(handler, text.trimmed)
        case .episodeType: setEpisodeType(text)
        case .showType: setShowType(text)
        case .explicit:
            let value = FeedValues.boolean(text.trimmed)
            if isInItem {
                current.item.explicit = current.item.explicit ?? value
            } else {
                show.feed.explicit = show.feed.explicit ?? value
            }
        case .itunesBlock:
            guard FeedValues.boolean(text.trimmed) == true else { return }
            if isInItem { current.item.isBlocked = true } else { show.feed.isBlocked = true }
        case .link, .imageURL, .imageText, .imageAttribute: set(handler, url: text)
        case .newFeedURL: show.feed.newFeedURL = show.feed.newFeedURL ?? url(text)
        case .podcastGUID: show.feed.guid = show.feed.guid ?? FeedValues.string(text)
        case .category: addCategory(text)
        case .timeToLive:
            // The text is a number of minutes. More than a year counts as a year.
            show.schedule.timeToLive =
                FeedValues.wholeNumber(text.trimmed).map { min($0, 525_600) * 60 } ?? show.schedule.timeToLive
        case .updateFrequency: show.schedule.frequency = FeedValues.wholeNumber(text.trimmed) ?? show.schedule.frequency
        case .updatePeriod: show.schedule.period = Self.period(text) ?? show.schedule.period
        case .complete: if FeedValues.boolean(text.trimmed) == true { show.feed.isComplete = true }
        case .skipHour:
            if let hour = FeedValues.wholeNumber(text.trimmed), hour < 24 {
                Self.add(hour, to: &show.feed.skipHours, limits)
            }
        case .skipDay: if let day = Self.weekday(text) { Self.add(day, to: &show.feed.skipDays, limits) }
        case .medium: show.feed.medium = show.feed.medium ?? FeedValues.string(text)?.lowercased()
        case .content where current.isBase64: setBase64(text)
        case .personTag, .funding, .soundbite, .trailer, .location, .license, .textRecord, .contentLink, .block,
            .podcastFrequency, .locked:
            endPending(text)
        default: set(handler, text: text)
        }
    }

    /// Finishes the open item: orders its enclosures, and passes it to `onItem`, or adds it to the feed if there is no
    /// `onItem`. A live item is never passed to `onItem`. It is added to the feed, or dropped if the feed already has
    /// `limits.entries` live items.
    mutating func finishItem() {
        guard isInItem else { return }
        current.isOpen = false
        if current.item.link == nil, current.guidIsLink, let guid = current.item.guid, WebAddress.isValid(guid) {
            current.item.link = guid
        }
        (current.item.enclosures, current.item.attachments) = Enclosure.divided(
            current.item.enclosures, contents: current.mediaContents,
            alternates: current.item.alternates.isEmpty ? [] : current.item.alternates.flatMap(\.enclosures))
        if !current.mediaContents.isEmpty { addMediaContents() }
        if current.item.enclosures.isEmpty, let other = current.item.attachments.first {
            let problem = URLReference.scheme(of: other.url) == nil ? nil : WebAddress.problem(with: other.url)
            let what =
                problem.map { "an address that \($0)" } ?? String((other.type ?? "a file without a type").prefix(60))
            diagnose("an item has no audio or video, only \(what); it is ignored", line: current.item.line)
        }
        if let live = current.live {
            guard show.feed.liveItems.count < limits.entries else { return }
            show.feed.liveItems.append(
                LiveItem(status: live.status, start: live.start, end: live.end, item: current.moveItem()))
        } else {
            show.itemCount += 1
            if current.item.enclosures.isEmpty { show.feed.unplayable += 1 }
            if let onItem { onItem(current.moveItem()) } else { show.feed.items.append(current.moveItem()) }
        }
    }

    /// Adds a further alternate for each audio or video `media:content` whose URL no enclosure and no alternate has, up
    /// to `limits.entries` alternates.
    private mutating func addMediaContents() {
        var known = Set(current.item.enclosures.map(\.url))
        for alternate in current.item.alternates { known.formUnion(alternate.sources.map(\.url)) }
        for content in current.mediaContents where content.kind != .other && known.insert(content.url).inserted {
            guard current.item.alternates.count < limits.entries else { return }
            var alternate = AlternateEnclosure()
            alternate.type = content.type
            alternate.length = content.length
            alternate.sources = [AlternateEnclosure.Source(url: content.url)]
            current.item.alternates.append(alternate)
        }
    }

    // MARK: Fields

    /// Sets a text field, unless it has a value from a source of equal or better rank.
    mutating func set(_ handler: FeedHandler, text: FeedBytes) {
        guard let (field, rank) = handler.field, (isInItem ? current.ranks : show.ranks).wants(field, rank) else {
            return
        }
        let isName = field == .title || field == .author
        guard var value = isName ? FeedValues.line(text) : FeedValues.string(text) else { return }
        if field == .author { value = PlainLine.person(value) }
        if isName {
            guard let plain = PlainLine.withoutTags(value) else { return }
            value = plain
        }
        if isInItem {
            switch field {
            case .title: current.item.title = value
            case .guid:
                current.item.guid = value
                current.guidIsLink = current.guidIsLink && handler == .guid
            case .description: current.item.description = value
            case .author: current.item.author = value
            default: return
            }
            current.ranks.set(field, rank)
        } else {
            switch field {
            case .title: show.feed.title = value
            case .description: show.feed.description = value
            case .author: show.feed.author = value
            case .language: show.feed.language = value
            default: return
            }
            show.ranks.set(field, rank)
        }
    }

    private mutating func setBase64(_ text: FeedBytes) {
        guard var decoded = Base64.decoded(text) else { return diagnose("base64 text cannot be decoded") }
        var cleaner = UTF8Cleaner()
        var block = UTF8Cleaner.Block(size: 3 * decoded.count)
        decoded.withUnsafeMutableBytes { _ = cleaner.clean(UnsafeRawBufferPointer($0), into: &block) }
        guard self.text.isPlain else { return set(.content, text: block.contents) }
        FeedValues.escaped(block.contents).withUnsafeBufferPointer { set(.content, text: $0) }
    }

    /// Sets a URL field, unless it has a value from a source of equal or better rank.
    mutating func set(_ handler: FeedHandler, url text: FeedBytes?) {
        guard let text, let (field, rank) = handler.field, (isInItem ? current.ranks : show.ranks).wants(field, rank),
            let address = url(text)
        else { return }
        switch (field, isInItem) {
        case (.link, true): current.item.link = address
        case (.link, false): show.feed.link = address
        case (.image, true): current.item.image = address
        case (.image, false): show.feed.image = address
        default: return
        }
        if isInItem { current.ranks.set(field, rank) } else { show.ranks.set(field, rank) }
    }

    private mutating func setDate(_ handler: FeedHandler, _ text: FeedBytes) {
        guard isInItem, let (field, rank) = handler.field else { return }
        let trimmed = text.trimmed
        guard !trimmed.isEmpty else { return }
        guard let (date, assumption) = PublicationDate.read(trimmed) else {
            return diagnose("the date “\(Self.excerpt(trimmed))” cannot be read")
        }
        if let assumption { diagnose("the date “\(Self.excerpt(trimmed))”: \(assumption)") }
        current.item.published = date
        current.ranks.set(field, rank)
    }

    private mutating func setSeason(_ handler: FeedHandler, _ text: FeedBytes) {
        guard isInItem, !text.isEmpty, let (field, rank) = handler.field else { return }
        guard let season = FeedValues.wholeNumber(text) else {
            return diagnose("the season “\(Self.excerpt(text))” is not a number")
        }
        current.item.season = season
        current.ranks.set(field, rank)
    }

    private mutating func setEpisode(_ handler: FeedHandler, _ text: FeedBytes) {
        guard isInItem, !text.isEmpty, let (field, rank) = handler.field else { return }
        guard let episode = FeedValues.decimalNumber(text) else {
            return diagnose("the episode “\(Self.excerpt(text))” is not a number")
        }
        current.item.episode = episode
        current.ranks.set(field, rank)
    }

    private mutating func setEpisodeType(_ text: FeedBytes) {
        guard let type = FeedValues.string(text)?.lowercased() else { return }
        if ["full", "trailer", "bonus"].contains(type) {
            current.item.episodeType = current.item.episodeType ?? type
        } else {
            diagnose("the episode type “\(Self.excerpt(type.utf8))” is unknown")
        }
    }

    private mutating func setShowType(_ text: FeedBytes) {
        guard let type = FeedValues.string(text)?.lowercased() else { return }
        if type == "episodic" || type == "serial" {
            show.feed.type = show.feed.type ?? type
        } else {
            diagnose("the show's type “\(Self.excerpt(type.utf8))” is unknown")
        }
    }

    // MARK: Text

    /// Returns a URL, resolved against the base URL if there is one; `nil` if it is empty or exceeds a limit.
    mutating func url(_ text: FeedBytes) -> String? {
        urls.resolve(text, base: stack.base)
    }

    /// Returns the value of an attribute as a displayable line; `nil` if it is missing or blank.
    func line(_ attribute: FeedBytes?) -> String? {
        attribute.flatMap { FeedValues.line(UTF8Cleaner.prefix($0, limits.line)) }
    }

    /// Returns the value of an attribute as an identifier or keyword, without white space around it; `nil` if it is
    /// missing or blank.
    func word(_ attribute: FeedBytes?) -> String? {
        attribute.flatMap { FeedValues.string(UTF8Cleaner.prefix($0, limits.line)) }
    }

    /// Returns the beginning of a text, for a diagnostic.
    static func excerpt(_ text: some Collection<UInt8>) -> String {
        let whole = String(decoding: text.prefix(160), as: UTF8.self)
        return whole.count > 40 ? whole.prefix(40) + "…" : whole
    }

    private static func weekday(_ text: FeedBytes) -> String? {
        let day = String(decoding: text.trimmed, as: UTF8.self).lowercased()
        let days = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
        return days.contains(day) ? day : nil
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
