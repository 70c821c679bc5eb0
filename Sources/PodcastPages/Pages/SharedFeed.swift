internal import Platform
internal import PodcastFeed
package import PodcastLibrary

/// An RSS feed of a show, or of a view (a folder of selected episodes of any shows), for other podcast programs. Its
/// URLs are those of the files in a mount that a web server shares.
package struct SharedFeed: Sendable {
    /// The URL of the mounted folder, without a slash at its end.
    private let base: String
    private var text = XMLText()

    /// Starts the feed of a show.
    package init(_ show: Podcast, base: String) {
        self.base = base
        begin(title: show.title, folder: show.name, link: show.link.map(show.visible), description: show.description)
        text.element("language", show.language, indent: "    ")
        text.element("itunes:author", show.author, indent: "    ")
        text.element("itunes:type", show.type, indent: "    ")
        text.element("itunes:explicit", show.explicit.map { $0 ? "true" : "false" }, indent: "    ")
        if let cover = show.coverName { addImage("\(Self.address(base, show.name))/\(cover)", indent: "    ") }
    }

    /// Starts the feed of a view.
    package init(view name: String, base: String) {
        self.base = base
        begin(title: name, folder: name, link: nil, description: nil)
    }

    private mutating func begin(title: String, folder: String, link: String?, description: String?) {
        let folder = Self.address(base, folder)
        text.write(
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom" \
            xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd" xmlns:podcast="https://podcastindex.org/namespace/1.0">
              <channel>

            """)
        text.element("title", title, indent: "    ")
        text.element("link", link ?? "\(folder)/", indent: "    ")
        // RSS 2.0 requires a description.
        text.element("description", description.flatMap { $0.isEmpty ? nil : $0 } ?? title, indent: "    ")
        text.empty(
            "atom:link", [("rel", "self"), ("type", "application/rss+xml"), ("href", "\(folder)/feed.xml")],
            indent: "    ")
        // The feed is a copy for the household; no podcast directory should list it.
        text.element("itunes:block", "Yes", indent: "    ")
    }

    /// Adds an episode.
    ///
    /// - Parameters:
    ///   - folder: The name of its show's folder.
    ///   - show: The title of its show, in the feed of a view.
    ///   - isPrivate: Whether the show is requested with credentials; see `WebAddress`.
    package mutating func add(_ episode: EpisodeSummary, folder: String, show: String? = nil, isPrivate: Bool) {
        let folder = Self.address(base, folder)
        let stem = FileName.stem(ofFile: episode.name).percentEncoded
        text.write("    <item>\n")
        element("title", episode.title)
        text.write("      <guid isPermaLink=\"false\">")
        text.escape(episode.sharedGUID)
        text.write("</guid>\n")
        element("pubDate", episode.published.map { PublicationDate(seconds: $0, offset: 0).rfc822 })
        // A link equal to the guid is omitted: such a guid may be a secret URL, of which the feed contains only a hash.
        let link = episode.link == episode.guid ? nil : episode.link
        element("link", link.map { WebAddress.redacted($0, isPrivate: isPrivate) })
        element("description", episode.notes)
        let type = MediaType.reported(type: episode.type, fileExtension: FileName.fileExtension(of: episode.name))
        text.empty(
            "enclosure",
            [
                ("url", "\(folder)/\(episode.name.percentEncoded)"), ("length", String(episode.size)),
                ("type", type ?? "application/octet-stream"),
            ], indent: "      ")
        element("itunes:author", show)
        element("itunes:duration", episode.duration.map { String(WholeNumber.of($0.rounded())) })
        element("itunes:season", episode.season.map(String.init))
        element("itunes:episode", episode.number.flatMap { Int(exactly: $0) }.map(String.init))
        element("itunes:episodeType", episode.kind)
        element("itunes:explicit", episode.explicit.map { $0 ? "true" : "false" })
        if episode.sidecars.contains(.art) { addImage("\(folder)/\(stem).jpg", indent: "      ") }
        if !episode.sidecars.isDisjoint(with: .anyVTT) {
            text.empty(
                "podcast:transcript", [("url", "\(folder)/\(stem).vtt"), ("type", "text/vtt")], indent: "      ")
        }
        if episode.sidecars.contains(.chapters) {
            text.empty(
                "podcast:chapters",
                [("url", "\(folder)/.chapters/\(stem).json"), ("type", "application/json+chapters")], indent: "      ")
        }
        text.write("    </item>\n")
    }

    /// Returns the document.
    package mutating func finish() -> [UInt8] {
        text.write("  </channel>\n</rss>\n")
        return text.bytes
    }

    private mutating func element(_ name: String, _ value: String?) { text.element(name, value, indent: "      ") }

    private mutating func addImage(_ address: String, indent: String) {
        text.empty("itunes:image", [("href", address)], indent: indent)
    }

    private static func address(_ base: String, _ name: String) -> String { "\(base)/\(name.percentEncoded)" }
}

/// The subscriptions as OPML for other programs, without secrets.
package enum SubscriptionsPage {
    package static let title = "podfs subscriptions"

    /// Returns the document. Equal subscriptions give equal bytes.
    package static func document(_ subscriptions: [Subscription]) -> [UInt8] {
        OPML.document(title: title, subscriptions: subscriptions.lazy.map { $0.outline(url: $0.visibleURL) })
    }
}
