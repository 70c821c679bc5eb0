/// What the reader knows of the show so far.
struct ShowState {
    var feed = Feed(format: .rss2)
    /// How good the source of each field is that has a value.
    var ranks = FieldRanks()
    var schedule = PublishingInterval()
    /// Items so far, also those that were handed on.
    var itemCount = 0

    /// The document is over: what depends on the whole of it.
    mutating func finish() {
        if let author = feed.author {
            for index in feed.items.indices where feed.items[index].author == author { feed.items[index].author = nil }
        }
        feed.updateInterval = schedule.seconds
    }
}

/// How often the publisher asks to be looked at, in several vocabularies.
struct PublishingInterval {
    /// RSS's `ttl`, in seconds.
    var timeToLive: Int?
    /// `sy:updatePeriod` in seconds, and how often in it.
    var period: Int?
    var frequency: Int?
    /// `podcast:updateFrequency`, in seconds.
    var rule: Int?

    /// The longest of them.
    var seconds: Int? {
        let syndication = period.map { $0 / max(1, frequency ?? 1) }
        return [timeToLive, syndication, rule].compactMap(\.self).filter { $0 > 0 }.max()
    }
}

/// What the reader knows of the item that is open.
struct ItemState {
    var item = Item()
    var isOpen = false
    var ranks = FieldRanks()
    /// `media:content`, which counts when the item has no enclosure that can be played.
    var mediaContents: [Enclosure] = []
    /// The element whose attributes were read and whose text is being collected.
    var pending = PendingElement.none
    /// How many addresses of alternate enclosures the item has.
    var sources = 0
    /// The broadcast that the item is, if it is one.
    var live: Broadcast?

    struct Broadcast {
        var status: String?
        var start: PublicationDate?
        var end: PublicationDate?
    }

    mutating func begin(line: Int) {
        item = Item()
        item.line = line
        ranks = FieldRanks()
        mediaContents.removeAll(keepingCapacity: true)
        pending = .none
        sources = 0
        live = nil
        isOpen = true
    }

    /// The item, moved out: a copy would count each of its strings once more.
    mutating func take() -> Item {
        var taken = Item()
        swap(&taken, &item)
        return taken
    }
}
