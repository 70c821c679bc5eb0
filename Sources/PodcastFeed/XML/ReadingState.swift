/// The show as parsed so far.
struct ShowState {
    var feed = Feed(format: .rss2)
    /// For each field, the rank of the element that has set it. Another element replaces the value only if its rank is
    /// better.
    var ranks = FieldRanks()
    var schedule = PublishingInterval()
    /// The number of items so far, without live items; includes those passed to the caller.
    var itemCount = 0

    /// Sets the properties that depend on the whole document.
    mutating func finish() {
        if let author = feed.author {
            for index in feed.items.indices where feed.items[index].author == author { feed.items[index].author = nil }
        }
        // A complete show gets no more episodes: one refresh a day is enough.
        feed.updateInterval = feed.isComplete ? max(schedule.seconds ?? 0, 86_400) : schedule.seconds
    }
}

/// The refresh interval requested by the publisher, in several vocabularies.
struct PublishingInterval {
    /// RSS's `ttl`, in seconds.
    var timeToLive: Int?
    /// `sy:updatePeriod`, in seconds.
    var period: Int?
    /// `sy:updateFrequency`: the number of updates per period.
    var frequency: Int?
    /// `podcast:updateFrequency`, in seconds.
    var rule: Int?

    /// Returns the hours of a period such as `DAILY`, in any case.
    static func hours(ofPeriod name: some StringProtocol) -> Int? {
        ["hourly": 1, "daily": 24, "weekly": 7 * 24, "monthly": 30 * 24, "yearly": 365 * 24][name.lowercased()]
    }

    /// Returns the interval in seconds of a recurrence rule (RFC 5545, section 3.3.10), by its `FREQ` and `INTERVAL`
    /// only; `nil` if it has no known frequency.
    static func seconds(ofRule rule: FeedBytes) -> Int? {
        let parts = String(decoding: rule.prefix(500), as: UTF8.self).uppercased().split(separator: ";")
        let values = Dictionary(
            parts.map { $0.split(separator: "=", maxSplits: 1) }.filter { $0.count == 2 }.map { ($0[0], $0[1]) },
            uniquingKeysWith: { $1 })
        let count = min(max(values["INTERVAL"].flatMap { Int($0) } ?? 1, 1), 1000)
        return values["FREQ"].flatMap(hours).map { $0 * 3600 * count }
    }

    /// The longest of the intervals, in seconds; `nil` if there is none.
    var seconds: Int? {
        let syndication = period.map { $0 / max(1, frequency ?? 1) }
        return [timeToLive, syndication, rule].compactMap(\.self).filter { $0 > 0 }.max()
    }
}

/// The open item as parsed so far.
struct ItemState {
    var item = Item()
    var isOpen = false
    var ranks = FieldRanks()
    /// The item's `media:content` elements with audio or video. They become enclosures if the item has no other media,
    /// otherwise alternates.
    var mediaContents: [Enclosure] = []
    /// Whether the item's `guid` may also be the URL of the item's page. In RSS it may, unless `isPermaLink` is
    /// `false`.
    var guidIsLink = false
    /// The index of the last `podcast:alternateEnclosure`; `nil` if there is none, or if the item's list was full.
    var alternate: Int?
    /// The number of `podcast:source` elements of the item, in all its alternate enclosures.
    var sources = 0
    /// The number of recipients and time splits in the last value block.
    var payments = 0
    /// Whether the last `podcast:valueTimeSplit` is the last one in the list: it was not omitted.
    var hasSplit = false
    /// A `podcast:liveItem` with its attributes only; `nil` for an episode.
    var live: LiveItem?

    /// Returns the item by moving it, since a copy would retain each of its strings.
    mutating func moveItem() -> Item {
        var moved = Item()
        swap(&moved, &item)
        return moved
    }
}

/// A property that several elements can supply.
enum FeedField: UInt64 {
    case title, link, guid, description, published, duration, season, episode, image, author, language

    /// The kind of text in the field's elements.
    var text: FeedElement.Text {
        switch self {
        case .description: .html
        case .link, .image: .url
        default: .line
        }
    }
}

/// The rank of each field's source, so that `content:encoded` replaces `description` in whatever order they occur.
///
/// Each field has four bits: a rank from 0, the best, to 14; or 15 while the field has no value.
struct FieldRanks {
    private var bits: UInt64 = .max
    /// The width of the image in pixels, if it was chosen by its width.
    private var width = Int64.max

    /// The width in pixels that suffices for art.
    static let artWidth: Int64 = 600

    /// Lets art replace the image if its width suffices and is less than that of the image.
    mutating func preferArt(ofWidth width: Int64) {
        guard (Self.artWidth..<self.width).contains(width) else { return }
        self.width = width
        set(.image, 15)
    }

    /// Returns whether a value of this rank is better than the current one; a value of equal rank is not.
    func wants(_ field: FeedField, _ rank: UInt8) -> Bool { UInt64(rank) < (bits >> (field.rawValue * 4)) & 15 }

    /// Records the rank of the current value.
    mutating func set(_ field: FeedField, _ rank: UInt8) {
        bits = bits & ~(15 << (field.rawValue * 4)) | UInt64(rank) << (field.rawValue * 4)
    }
}
