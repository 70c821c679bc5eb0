internal import Platform

/// An element whose attributes have been read and whose text has not.
enum PendingElement {
    case none
    case person(Person)
    case funding(Funding)
    case soundbite(Soundbite)
    case trailer(Trailer)
    case location(Location)
    case license(License)
    case text(TextRecord)
    case contentLink(ContentLink)
    case block(PlatformBlock)
    case frequency(UpdateRule)
    case locked(owner: String?)
}

extension FeedReader {
    mutating func startLiveItem(_ attributes: FeedAttributes) {
        startItem(attributes)
        guard isInItem else { return }
        let status = word(attributes.value("status"))?.lowercased()
        current.live = ItemState.Broadcast(
            status: status, start: date(attributes.value("start")), end: date(attributes.value("end")))
    }

    mutating func startPerson(_ attributes: FeedAttributes) -> Bool {
        var person = Person(name: "")
        if let role = line(attributes.value("role")) { person.role = role.lowercased() }
        if let group = line(attributes.value("group")) { person.group = group.lowercased() }
        person.image = attributes.value("img").flatMap { url($0) }
        person.link = attributes.value("href").flatMap { url($0) }
        current.pending = .person(person)
        return true
    }

    mutating func startFunding(_ attributes: FeedAttributes) -> Bool {
        guard let address = attributes.value("url").flatMap({ url($0) }) else { return false }
        current.pending = .funding(Funding(url: address))
        return true
    }

    mutating func startSoundbite(_ attributes: FeedAttributes) -> Bool {
        guard let start = attributes.value("startTime").flatMap({ FeedValues.seconds($0.trimmed) }),
            let duration = attributes.value("duration").flatMap({ FeedValues.duration($0.trimmed) })
        else {
            diagnose("a soundbite has no readable start or duration and is ignored")
            return false
        }
        current.pending = .soundbite(Soundbite(start: start, duration: duration))
        return true
    }

    mutating func startTrailer(_ attributes: FeedAttributes) -> Bool {
        guard let address = attributes.value("url").flatMap({ url($0) }) else {
            diagnose("a trailer has no URL and is ignored")
            return false
        }
        let media = Enclosure(
            url: address, length: attributes.value("length").flatMap { FeedValues.length($0.trimmed) },
            type: attributes.value("type").flatMap(MIMEType.essence))
        current.pending = .trailer(
            Trailer(
                media: media, published: date(attributes.value("pubdate")),
                season: attributes.value("season").flatMap { FeedValues.wholeNumber($0.trimmed) }))
        return true
    }

    /// Completes the pending element with its text, and adds it.
    mutating func endPending(_ text: FeedBytes) {
        let line = FeedValues.line(text)
        switch current.pending {
        case .none: return
        case .person(var person):
            guard let line else { return }
            person.name = line
            if isInItem {
                Self.add(person, to: &current.item.persons, limits)
            } else {
                Self.add(person, to: &show.feed.persons, limits)
            }
        case .funding(var funding):
            funding.title = line
            Self.add(funding, to: &show.feed.funding, limits)
        case .soundbite(var soundbite):
            soundbite.title = line
            if isInItem { Self.add(soundbite, to: &current.item.soundbites, limits) }
        case .trailer(var trailer):
            trailer.title = line
            Self.add(trailer, to: &show.feed.trailers, limits)
        default: completeDataElement(current.pending, text, line)
        }
        current.pending = .none
    }

    /// Appends an element, unless the list is full or contains it. A list of more than 64 elements is not searched for
    /// duplicates: doing so for each of a million elements takes seconds.
    static func add<Element: Equatable>(_ element: Element, to list: inout [Element], _ limits: FeedLimits) {
        guard list.count < limits.entries, list.count > 64 || !list.contains(element) else { return }
        list.append(element)
    }

    // MARK: Alternate enclosures

    mutating func startAlternate(_ attributes: FeedAttributes) {
        var alternate = AlternateEnclosure()
        alternate.type = attributes.value("type").flatMap(MIMEType.essence)
        alternate.length = attributes.value("length").flatMap { FeedValues.length($0.trimmed) }
        alternate.bitRate = attributes.value("bitrate").flatMap { FeedValues.decimalNumber($0.trimmed) }
        alternate.height = attributes.value("height").flatMap { FeedValues.wholeNumber($0.trimmed) }
        // Some feeds write the attribute's name in full.
        alternate.language = word(attributes.value("lang") ?? attributes.value("language"))
        alternate.title = line(attributes.value("title"))
        alternate.relation = line(attributes.value("rel"))
        alternate.codecs = line(attributes.value("codecs"))
        alternate.isDefault = attributes.value("default").flatMap { FeedValues.boolean($0.trimmed) } ?? false
        current.alternate = nil
        guard isInItem, current.item.alternates.count < limits.entries else { return }
        current.alternate = current.item.alternates.count
        current.item.alternates.append(alternate)
    }

    mutating func startAlternateSource(_ attributes: FeedAttributes) {
        guard let last = current.alternate, let address = attributes.value("uri").flatMap({ url($0) }) else { return }
        // The limit of one list applies to the sources of all the item's alternates together.
        guard current.sources < limits.entries else { return }
        current.sources += 1
        current.item.alternates[last].sources.append(
            AlternateEnclosure.Source(url: address, type: attributes.value("contentType").flatMap(MIMEType.essence)))
    }

    mutating func startIntegrity(_ attributes: FeedAttributes) {
        guard let type = word(attributes.value("type"))?.lowercased(), let value = attributes.value("value"),
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

    // MARK: Images

    /// Processes `podcast:image`. Square art, unlike a banner or a share picture, may also become the `image` of the
    /// show or episode.
    mutating func startPodcastImage(_ attributes: FeedAttributes) {
        guard let address = attributes.value("href").flatMap({ url($0) }) else { return }
        let image = PodcastImage(
            url: address, alternativeText: line(attributes.value("alt")),
            aspectRatio: line(attributes.value("aspect-ratio")),
            width: attributes.value("width").flatMap { FeedValues.wholeNumber($0.trimmed) },
            height: attributes.value("height").flatMap { FeedValues.wholeNumber($0.trimmed) },
            type: attributes.value("type").flatMap(MIMEType.essence),
            purpose: line(attributes.value("purpose"))?.lowercased())
        withTags { Self.add(image, to: &$0.images, $1) }
        if image.isArt { set(.podcastImage, url: attributes.value("href")) }
    }

    /// Returns the URL of the widest image of a `srcset`: URLs with widths (`1500w`), separated by commas.
    static func widest(ofSet set: FeedBytes) -> FeedBytes? {
        var best: (url: FeedBytes, width: Int64)?
        var candidate: FeedBytes?
        for word in set.split(whereSeparator: \.isXMLSpace) {
            let endsCandidate = word.last == UInt8(ascii: ",")
            let text = FeedBytes(rebasing: endsCandidate ? word.dropLast() : word)
            if let url = candidate {
                let width = text.last == UInt8(ascii: "w") ? FeedValues.length(text.dropLast()) ?? 0 : 0
                if width > best?.width ?? -1 { best = (url, width) }
                candidate = nil
            } else if endsCandidate {
                if best == nil, !text.isEmpty { best = (text, 0) }
            } else {
                candidate = text
            }
        }
        if let candidate, best == nil { best = (candidate, 0) }
        return best?.url
    }

    func date(_ text: FeedBytes?) -> PublicationDate? {
        text.flatMap { PublicationDate.read($0.trimmed)?.date }
    }
}
