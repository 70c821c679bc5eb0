internal import Transfers

/// A search result.
package struct FoundShow: Sendable, Codable, Equatable {
    package var title: String
    package var author: String?
    /// The feed's address, for subscribing. Catalogues (podcast directories) list no credentials, so the address can be
    /// displayed unchanged.
    package var url: String
    package var artwork: String?
    package var episodes: Int?
    /// The address of the show's web page.
    package var link: String?
    /// The name of the show's folder; `nil` if the show is not subscribed.
    package var subscribed: String?

    package init(
        title: String, author: String? = nil, url: String, artwork: String? = nil, episodes: Int? = nil,
        link: String? = nil, subscribed: String? = nil
    ) {
        self.title = title
        self.author = author
        self.url = url
        self.artwork = artwork
        self.episodes = episodes
        self.link = link
        self.subscribed = subscribed
    }
}

/// A search result that the daemon has stored in the library. A mount lists the show in the search's folder.
package struct FoundFolder: Sendable, Codable, Equatable {
    package var podcast: ShowID
    /// The name of the show's folder.
    package var name: String

    package init(podcast: ShowID, name: String) {
        self.podcast = podcast
        self.name = name
    }
}
