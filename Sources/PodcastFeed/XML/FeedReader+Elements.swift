internal import Platform

// The elements whose processing needs more than a few lines; ``FeedRules`` has all others.
extension FeedReader {
    // MARK: Items

    mutating func startItem(_ tag: FeedAttributes) {
        guard show.itemCount < limits.items else {
            return stop("there are more than \(limits.items) items; the rest is ignored")
        }
        current = ItemState()
        current.item.line = diagnosticLog.lines.current()
        current.isOpen = true
        if show.feed.format == .rss1, let about = tag.value("rdf:about") {
            set(.guid, 1, UTF8Cleaner.prefix(about, limits.line))
        }
    }

    mutating func startLiveItem(_ tag: FeedAttributes) {
        startItem(tag)
        guard isInItem else { return }
        current.live = LiveItem(
            status: keyword(tag.value("status")), start: tag.date("start"), end: tag.date("end"), item: Item())
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
        if var live = current.live {
            guard show.feed.liveItems.count < limits.entries else { return }
            live.item = current.moveItem()
            show.feed.liveItems.append(live)
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
            current.item.alternates.append(
                AlternateEnclosure(
                    type: content.type, length: content.length,
                    sources: [AlternateEnclosure.Source(url: content.url)]))
        }
    }

    // MARK: Media

    mutating func startEnclosure(_ tag: FeedAttributes) {
        guard let address = url(tag.value("url")) else { return diagnose("an enclosure has no URL and is ignored") }
        add(enclosure: address, tag)
    }

    mutating func startAtomLink(_ tag: FeedAttributes) {
        switch tag.value("rel").map({ String(decoding: $0.trimmed, as: UTF8.self).lowercased() }) {
        case nil, "", "alternate": set(.link, 1, tag.value("href"))
        case "enclosure" where isInItem: if let address = url(tag.value("href")) { add(enclosure: address, tag) }
        case "next" where !isInItem: show.feed.next = show.feed.next ?? url(tag.value("href"))
        case "prev-archive" where !isInItem:
            show.feed.previousArchive = show.feed.previousArchive ?? url(tag.value("href"))
        default: break
        }
    }

    /// - Parameter tag: The attributes `length` and `type`. A missing length or a zero is too common for a diagnostic.
    private mutating func add(enclosure address: String, _ tag: FeedAttributes) {
        let length = tag.length("length")
        if length == nil, let text = tag.value("length")?.trimmed, !text.isEmpty, !text.elementsEqual("0".utf8) {
            diagnose("the length “\(Self.excerpt(text))” of an enclosure is not a number of bytes")
        }
        guard current.item.enclosures.count < limits.entries else { return }
        current.item.enclosures.append(Enclosure(url: address, length: length, type: tag.type("type")))
    }

    mutating func startMediaContent(_ tag: FeedAttributes) {
        guard current.mediaContents.count < limits.entries, let address = url(tag.value("url")) else { return }
        let content = Enclosure(url: address, length: tag.length("fileSize"), type: tag.type("type"))
        let medium = tag.value("medium").map { String(decoding: $0.trimmed, as: UTF8.self).lowercased() }
        guard medium == "audio" || medium == "video" || (medium == nil && [.media, .stream].contains(content.kind)),
            tag.value("expression").map({ String(decoding: $0.trimmed, as: UTF8.self).lowercased() }) != "sample"
        else { return }
        current.mediaContents.append(content)
        if current.ranks.wants(.duration, 1), let duration = tag.seconds("duration"), duration > 0 {
            current.item.duration = duration
            current.ranks.set(.duration, 1)
        }
    }

    mutating func startChapter(_ tag: FeedAttributes) {
        guard current.item.chapters.count < limits.entries else { return }
        guard let start = tag.seconds("start") else {
            return diagnose("a chapter has no readable start and is ignored")
        }
        current.item.chapters.append(
            Chapter(
                start: start, title: line(tag.value("title")), link: url(tag.value("href")),
                image: url(tag.value("image"))))
    }

    mutating func addCategory(_ text: FeedBytes?) {
        if let name = line(text) { show.feed.categories.add(name, limit: limits.entries) }
    }

    // MARK: Alternate enclosures

    mutating func startAlternate(_ tag: FeedAttributes) {
        // Some feeds write the name of the attribute `lang` in full.
        let alternate = AlternateEnclosure(
            type: tag.type("type"), length: tag.length("length"), bitRate: tag.decimalNumber("bitrate"),
            height: tag.wholeNumber("height"), language: word(tag.value("lang") ?? tag.value("language")),
            title: line(tag.value("title")), relation: line(tag.value("rel")), codecs: line(tag.value("codecs")),
            isDefault: tag.flag("default") ?? false)
        current.alternate = nil
        guard isInItem, current.item.alternates.count < limits.entries else { return }
        current.alternate = current.item.alternates.count
        current.item.alternates.append(alternate)
    }

    mutating func startAlternateSource(_ tag: FeedAttributes) {
        guard let last = current.alternate, let address = url(tag.value("uri")) else { return }
        // The limit of one list applies to the sources of all the item's alternates together.
        guard current.sources < limits.entries else { return }
        current.sources += 1
        current.item.alternates[last].sources.append(
            AlternateEnclosure.Source(url: address, type: tag.type("contentType")))
    }

    mutating func startIntegrity(_ tag: FeedAttributes) {
        guard let type = keyword(tag.value("type")), let value = tag.value("value"),
            // A longer value would be truncated, and a truncated hash is useless.
            value.count <= limits.line, let value = FeedValues.string(value), let last = current.alternate
        else { return }
        let integrity = AlternateEnclosure.Integrity(type: type, value: value)
        if integrity.digests == nil {
            diagnose("the integrity “\(type.prefix(20)) \(value.prefix(20))” cannot be checked: it is not a SHA-2 hash")
        }
        // A hash that can be checked takes precedence over a signature.
        let isBetter = current.item.alternates[last].integrity?.digests == nil && integrity.digests != nil
        if current.item.alternates[last].integrity == nil || isBetter {
            current.item.alternates[last].integrity = integrity
        }
    }

    // MARK: Podcasting 2.0

    /// Calls `body` with the tags of the open item, or of the show if no item is open, and the limit of one list.
    mutating func withTags(_ body: (inout PodcastTags, Int) -> Void) {
        if isInItem { body(&current.item.tags, limits.entries) } else { body(&show.feed.tags, limits.entries) }
    }

    /// Processes `podcast:image`. Square art, unlike a banner or a share picture, may also become the `image` of the
    /// show or episode.
    mutating func startPodcastImage(_ tag: FeedAttributes) {
        guard let address = url(tag.value("href")) else { return }
        let image = PodcastImage(
            url: address, alternativeText: line(tag.value("alt")), aspectRatio: line(tag.value("aspect-ratio")),
            width: tag.wholeNumber("width"), height: tag.wholeNumber("height"), type: tag.type("type"),
            purpose: line(tag.value("purpose"))?.lowercased())
        withTags { $0.images.add(image, limit: $1) }
        if image.isArt { setArt(1, tag.value("href"), width: Int64(image.width ?? 0)) }
    }

    /// Parses a `podcast:remoteItem`; `nil` if it identifies no feed.
    mutating func remoteItem(_ tag: FeedAttributes) -> RemoteItem? {
        let item = RemoteItem(
            feedGUID: word(tag.value("feedGuid")), feedURL: url(tag.value("feedUrl")),
            itemGUID: word(tag.value("itemGuid")), medium: keyword(tag.value("medium")),
            title: line(tag.value("title")))
        return item.feedGUID == nil && item.feedURL == nil ? nil : item
    }

    mutating func startValue(_ tag: FeedAttributes) {
        let value = ValueBlock(
            type: keyword(tag.value("type")) ?? "", method: keyword(tag.value("method")),
            suggested: tag.decimalNumber("suggested"))
        var isOmitted = false
        withTags { tags, limit in
            isOmitted = tags.values.count >= limit
            if !isOmitted { tags.values.append(value) }
        }
        // The payments of an omitted block are omitted too: they must not be added to the last stored block.
        current.payments = isOmitted ? limits.entries : 0
    }

    mutating func startTimeSplit(_ tag: FeedAttributes) {
        current.hasSplit = false
        guard let start = tag.seconds("startTime"), let duration = tag.seconds("duration") else {
            return diagnose("a valueTimeSplit has no readable start or duration and is ignored")
        }
        let split = ValueTimeSplit(
            start: start, duration: duration, remoteStart: tag.seconds("remoteStartTime"),
            remotePercentage: tag.wholeNumber("remotePercentage"))
        guard countPayment() else { return }
        current.hasSplit = true
        withLastValue { $0.timeSplits.append(split) }
    }

    mutating func startRecipient(_ tag: FeedAttributes) {
        guard let address = word(tag.value("address")) else {
            return diagnose("a recipient of payments has no address and is ignored")
        }
        let recipient = ValueRecipient(
            name: line(tag.value("name")), type: keyword(tag.value("type")), address: address,
            customKey: word(tag.value("customKey")), customValue: word(tag.value("customValue")),
            split: tag.wholeNumber("split"), isFee: tag.flag("fee") ?? false)
        guard countPayment() else { return }
        if stack.scope(around: stack.count - 1) == .timeSplit {
            withLastSplit { $0.recipients.append(recipient) }
        } else {
            withLastValue { $0.recipients.append(recipient) }
        }
    }

    /// Counts a recipient or time split of the last value block, and returns whether their total is within the limit of
    /// one list.
    private mutating func countPayment() -> Bool {
        current.payments += 1
        return current.payments <= limits.entries
    }

    /// Calls `body` with the last value block, if there is one.
    private mutating func withLastValue(_ body: (inout ValueBlock) -> Void) {
        withTags { tags, _ in if let last = tags.values.indices.last { body(&tags.values[last]) } }
    }

    /// Calls `body` with the open time split, unless it was omitted.
    mutating func withLastSplit(_ body: (inout ValueTimeSplit) -> Void) {
        guard current.hasSplit else { return }
        withLastValue { value in if let last = value.timeSplits.indices.last { body(&value.timeSplits[last]) } }
    }
}
