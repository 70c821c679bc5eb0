// Reads the JSON lists of videos that small servers offer, as if they were feeds.
//
// There is no standard for such lists. A list is an array, or an object with an array `videos`, of objects with a media
// URL and a title. The common names of these members are supported.
extension JSONFeed {
    /// The type assumed for a file without a MIME type, unless its URL's extension shows what it is. It is a video
    /// type, since the usual member is called `movie`.
    private static let mediaType = "video/mp4"

    mutating func video(_ object: JSONScanner.Value, line start: Int) -> Item {
        var item = Item()
        item.line = start
        item.guid = identifier(object["id"]) ?? identifier(object["guid"])
        item.title = title(object["title"]) ?? title(object["name"])
        item.description = html(object["description"]) ?? html(object["summary"])
        item.image = address(object["thumbnail"]) ?? address(object["image"])
        item.author = name(object["author"])
        for name: StaticString in ["published", "date", "created", "created_at"] {
            guard item.published == nil else { break }
            if case .number(let seconds)? = object[name] {
                // Programs write seconds or milliseconds. A number from 1e11 on is read as milliseconds, since 1e11
                // seconds would be the year 5138.
                let whole = seconds < 1e11 ? seconds : seconds / 1_000
                if whole >= 0, whole < 1e11 { item.published = PublicationDate(seconds: Int64(whole), offset: 0) }
            } else if let written = line(object[name]) {
                item.published = PublicationDate(parsing: written)
                if item.published == nil { diagnose("the date “\(written.prefix(40))” cannot be read", line: start) }
            }
        }
        let seconds = number(object["duration"]) ?? 0
        if seconds > 0, seconds <= 1e9 { item.duration = seconds }
        let names: [StaticString] = ["movie", "url", "href"]
        guard let index = names.firstIndex(where: { address(object[$0]) != nil }),
            let media = address(object[names[index]])
        else { return item }
        // If `movie` is the URL of the media, `url` or `href` is the URL of a web page about the media.
        if index == 0 { item.link = address(object["url"]) ?? address(object["href"]) }
        let inner = object[names[index]]
        let length = number(object["size"]) ?? number(inner?["size"])
        let type = type(object["type"]) ?? type(inner?["type"])
        var enclosure = Enclosure(
            url: media, length: length.flatMap { FeedValues.length($0) }, type: type)
        if enclosure.kind == .unknown, !(type?.contains("/") ?? false) { enclosure.type = Self.mediaType }
        (item.enclosures, item.attachments) = Enclosure.divided([enclosure])
        return item
    }

    /// Returns the URL in a string, or in an object's member `url` or `href`.
    private mutating func address(_ value: JSONScanner.Value?) -> String? {
        url(value) ?? url(value?["url"]) ?? url(value?["href"])
    }
}
