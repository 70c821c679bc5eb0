import Platform

/// A builder of simple RSS 2.0 feeds.
package struct FeedBuilder: Sendable {
    package struct Item: Sendable {
        package var title: String
        package var guid: String?
        package var url: String?
        package var length: Int?
        package var type: String
        /// An RFC 822 date, `Sat, 21 Nov 2026 08:00:00 +0000`.
        package var published: String?
        /// Seconds, or `H:M:S`.
        package var duration: String?
        package var season: Int?
        package var episode: Int?
        /// Text or HTML; it is escaped.
        package var description: String?
        /// Elements inserted unchanged.
        package var raw: String

        package init(
            title: String, guid: String? = nil, url: String? = nil, length: Int? = nil, type: String = "audio/mpeg",
            published: String? = nil, duration: String? = nil, season: Int? = nil, episode: Int? = nil,
            description: String? = nil, raw: String = ""
        ) {
            self.title = title
            self.guid = guid
            self.url = url
            self.length = length
            self.type = type
            self.published = published
            self.duration = duration
            self.season = season
            self.episode = episode
            self.description = description
            self.raw = raw
        }
    }

    package var title: String
    package var link: String?
    package var description: String?
    package var language: String?
    package var image: String?
    /// `episodic` or `serial`.
    package var showType: String?
    /// Elements of the channel, inserted unchanged.
    package var raw: String
    package var items: [Item]

    package init(
        title: String, link: String? = nil, description: String? = nil, language: String? = nil,
        image: String? = nil, showType: String? = nil, raw: String = "", items: [Item] = []
    ) {
        self.title = title
        self.link = link
        self.description = description
        self.language = language
        self.image = image
        self.showType = showType
        self.raw = raw
        self.items = items
    }

    /// Returns a show of `count` episodes, newest first: number n has the title `Episode n`, the guid `n`, the URL
    /// `url(n)`, and was published on day n of 2026 at 08:00 UTC.
    package static func show(
        _ title: String, episodes count: Int, length: Int? = nil, url: (Int) -> String
    ) -> FeedBuilder {
        FeedBuilder(
            title: title,
            items: (1...max(count, 1)).prefix(count).reversed().map { number in
                Item(
                    title: "Episode \(number)", guid: String(number), url: url(number), length: length,
                    published: date(day: number))
            })
    }

    /// Returns day `day` of 2026, counted from 1 and wrapped at the end of the year, as an RFC 822 date without the
    /// weekday.
    package static func date(day: Int) -> String {
        // 20,454 is the number of the first day of 2026, counted from 1970.
        let (_, month, date) = GregorianDay(number: Int64(20_454 + (day - 1) % 365))?.components ?? (2026, 1, 1)
        return "\(GregorianDay.padded(date, 2)) \(GregorianDay.monthNames[month - 1]) 2026 08:00:00 +0000"
    }

    /// The feed as an XML document.
    package var text: String {
        var text = """
            <?xml version="1.0" encoding="UTF-8"?>
            <rss version="2.0" xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd" \
            xmlns:podcast="https://podcastindex.org/namespace/1.0" \
            xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:atom="http://www.w3.org/2005/Atom">
            <channel>

            """
        text += element("title", title) + element("link", link) + element("description", description)
        text += element("language", language) + element("itunes:type", showType)
        if let image { text += "<itunes:image href=\"\(escaped(image))\"/>\n" }
        text += raw
        for item in items { text += self.text(of: item) }
        return text + "</channel>\n</rss>\n"
    }

    private func text(of item: Item) -> String {
        var text = "<item>\n" + element("title", item.title)
        if let guid = item.guid { text += "<guid isPermaLink=\"false\">\(escaped(guid))</guid>\n" }
        if let url = item.url {
            let length = item.length.map { " length=\"\($0)\"" } ?? ""
            text += "<enclosure url=\"\(escaped(url))\"\(length) type=\"\(escaped(item.type))\"/>\n"
        }
        text += element("pubDate", item.published) + element("itunes:duration", item.duration)
        text += element("itunes:season", item.season.map(String.init))
        text += element("itunes:episode", item.episode.map(String.init))
        return text + element("description", item.description) + item.raw + "</item>\n"
    }

    private func element(_ name: String, _ value: String?) -> String {
        value.map { "<\(name)>\(escaped($0))</\(name)>\n" } ?? ""
    }

    private func escaped(_ text: String) -> String {
        var escaped = ""
        for character in text.unicodeScalars {
            switch character {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            default: escaped.unicodeScalars.append(character)
            }
        }
        return escaped
    }
}
