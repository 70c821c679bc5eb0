// The `podcast:` elements with data for pages and other programs, which do not affect the media.
extension FeedReader {
    /// Processes the start tag of an element without text.
    mutating func startDataElement(_ handler: FeedHandler, _ attributes: FeedAttributes) {
        switch handler {
        case .value: startValue(attributes)
        case .timeSplit: startTimeSplit(attributes)
        case .recipient: startRecipient(attributes)
        case .remoteItem: if let item = remoteItem(attributes) { withTags { Self.add(item, to: &$0.remoteItems, $1) } }
        case .podrollItem: if let item = remoteItem(attributes) { Self.add(item, to: &show.feed.podroll, limits) }
        case .publisherItem: show.feed.publisher = show.feed.publisher ?? remoteItem(attributes)
        case .splitItem:
            let item = remoteItem(attributes)
            withLastSplit { $0.remoteItem = $0.remoteItem ?? item }
        case .socialInteract: startSocialInteract(attributes)
        case .chat:
            guard let server = line(attributes.value("server")) else { return }
            let chat = Chat(
                server: server, network: word(attributes.value("protocol"))?.lowercased(),
                accountID: line(attributes.value("accountId")), space: line(attributes.value("space")))
            withTags { Self.add(chat, to: &$0.chats, $1) }
        case .podping:
            show.feed.usesPodping = attributes.value("usesPodping").flatMap { FeedValues.boolean($0.trimmed) }
        default: break
        }
    }

    /// Processes the start tag of an element with data both in its attributes and in its text.
    ///
    /// - Returns: Whether the text is needed.
    mutating func startPending(_ handler: FeedHandler, _ attributes: FeedAttributes) -> Bool {
        switch handler {
        case .location:
            current.pending = .location(
                Location(
                    name: "", relation: word(attributes.value("rel"))?.lowercased(),
                    geo: word(attributes.value("geo")), osm: word(attributes.value("osm")),
                    country: word(attributes.value("country"))?.uppercased()))
        case .license:
            current.pending = .license(License(name: "", url: attributes.value("url").flatMap { url($0) }))
        case .textRecord:
            current.pending = .text(TextRecord(text: "", purpose: word(attributes.value("purpose"))))
        case .contentLink:
            guard let address = attributes.value("href").flatMap({ url($0) }) else { return false }
            current.pending = .contentLink(ContentLink(url: address))
        case .block: current.pending = .block(PlatformBlock(platform: word(attributes.value("id")), isBlocked: false))
        case .podcastFrequency:
            let rule = attributes.value("rrule")
            show.schedule.rule = rule.flatMap(Self.interval(ofRule:)) ?? show.schedule.rule
            if attributes.value("complete").flatMap({ FeedValues.boolean($0.trimmed) }) == true {
                show.feed.isComplete = true
            }
            current.pending = .frequency(UpdateRule(rule: word(rule), start: date(attributes.value("dtstart"))))
        case .locked: current.pending = .locked(owner: line(attributes.value("owner")))
        default: return false
        }
        return true
    }

    /// Adds a pending element, of which only the start tag has been processed, with its text.
    mutating func completeDataElement(_ pending: PendingElement, _ text: FeedBytes, _ line: String?) {
        switch pending {
        case .location(var location):
            guard let name = line ?? location.geo else { return }
            location.name = name
            withTags { Self.add(location, to: &$0.locations, $1) }
        case .license(var license):
            guard let name = line ?? license.url else { return }
            license.name = name
            withTags { tags, _ in tags.license = tags.license ?? license }
        case .text(var record):
            guard let text = FeedValues.string(text) else { return }
            record.text = text
            withTags { Self.add(record, to: &$0.texts, $1) }
        case .contentLink(var link):
            link.title = line
            withTags { Self.add(link, to: &$0.contentLinks, $1) }
        case .block(var block):
            guard let isBlocked = FeedValues.boolean(text.trimmed) else { return }
            block.isBlocked = isBlocked
            Self.add(block, to: &show.feed.blocks, limits)
        case .frequency(var rule):
            rule.text = line
            show.feed.updateRule = show.feed.updateRule ?? rule
        case .locked(let owner):
            show.feed.isLocked = show.feed.isLocked ?? FeedValues.boolean(text.trimmed)
            show.feed.lockedOwner = show.feed.lockedOwner ?? owner
        default: return
        }
    }

    /// Calls `body` with the tags of the open item, or of the show if no item is open, and the limits.
    mutating func withTags(_ body: (inout PodcastTags, FeedLimits) -> Void) {
        if isInItem { body(&current.item.tags, limits) } else { body(&show.feed.tags, limits) }
    }

    private mutating func startSocialInteract(_ attributes: FeedAttributes) {
        guard let network = word(attributes.value("protocol"))?.lowercased() else { return }
        let interact = SocialInteract(
            network: network, url: attributes.value("uri").flatMap { url($0) },
            accountID: line(attributes.value("accountId")),
            accountURL: attributes.value("accountUrl").flatMap { url($0) },
            priority: attributes.value("priority").flatMap { FeedValues.wholeNumber($0.trimmed) })
        guard interact.url != nil || network == "disabled" else { return }
        withTags { Self.add(interact, to: &$0.socialInteracts, $1) }
    }

    /// Parses a `podcast:remoteItem`; `nil` if it identifies no feed.
    private mutating func remoteItem(_ attributes: FeedAttributes) -> RemoteItem? {
        let item = RemoteItem(
            feedGUID: word(attributes.value("feedGuid")), feedURL: attributes.value("feedUrl").flatMap { url($0) },
            itemGUID: word(attributes.value("itemGuid")), medium: word(attributes.value("medium"))?.lowercased(),
            title: line(attributes.value("title")))
        return item.feedGUID == nil && item.feedURL == nil ? nil : item
    }

    // MARK: Value

    private mutating func startValue(_ attributes: FeedAttributes) {
        let value = ValueBlock(
            type: word(attributes.value("type"))?.lowercased() ?? "",
            method: word(attributes.value("method"))?.lowercased(),
            suggested: attributes.value("suggested").flatMap { FeedValues.decimalNumber($0.trimmed) })
        var isOmitted = false
        withTags { tags, limits in
            isOmitted = tags.values.count >= limits.entries
            if !isOmitted { tags.values.append(value) }
        }
        // The payments of an omitted block are omitted too: they must not be added to the last stored block.
        current.payments = isOmitted ? limits.entries : 0
    }

    private mutating func startTimeSplit(_ attributes: FeedAttributes) {
        current.hasSplit = false
        guard let start = attributes.value("startTime").flatMap({ FeedValues.seconds($0.trimmed) }),
            let duration = attributes.value("duration").flatMap({ FeedValues.seconds($0.trimmed) })
        else { return diagnose("a valueTimeSplit has no readable start or duration and is ignored") }
        let split = ValueTimeSplit(
            start: start, duration: duration,
            remoteStart: attributes.value("remoteStartTime").flatMap { FeedValues.seconds($0.trimmed) },
            remotePercentage: attributes.value("remotePercentage").flatMap { FeedValues.wholeNumber($0.trimmed) })
        guard countPayment() else { return }
        current.hasSplit = true
        withTags { tags, _ in
            if !tags.values.isEmpty { tags.values[tags.values.count - 1].timeSplits.append(split) }
        }
    }

    private mutating func startRecipient(_ attributes: FeedAttributes) {
        guard let address = word(attributes.value("address")) else {
            return diagnose("a recipient of payments has no address and is ignored")
        }
        let recipient = ValueRecipient(
            name: line(attributes.value("name")), type: word(attributes.value("type"))?.lowercased(), address: address,
            customKey: word(attributes.value("customKey")), customValue: word(attributes.value("customValue")),
            split: attributes.value("split").flatMap { FeedValues.wholeNumber($0.trimmed) },
            isFee: attributes.value("fee").flatMap { FeedValues.boolean($0.trimmed) } ?? false)
        guard countPayment() else { return }
        if stack.scope(around: stack.count - 1) == .timeSplit {
            withLastSplit { $0.recipients.append(recipient) }
        } else {
            withTags { tags, _ in
                if !tags.values.isEmpty { tags.values[tags.values.count - 1].recipients.append(recipient) }
            }
        }
    }

    /// Counts a recipient or time split of the last value block, and returns whether their total is within the limit of
    /// one list.
    private mutating func countPayment() -> Bool {
        current.payments += 1
        return current.payments <= limits.entries
    }

    /// Calls `body` with the open time split, unless it was omitted.
    private mutating func withLastSplit(_ body: (inout ValueTimeSplit) -> Void) {
        guard current.hasSplit else { return }
        withTags { tags, _ in
            guard let value = tags.values.indices.last, let split = tags.values[value].timeSplits.indices.last else {
                return
            }
            body(&tags.values[value].timeSplits[split])
        }
    }
}
