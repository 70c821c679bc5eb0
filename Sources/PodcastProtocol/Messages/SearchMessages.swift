package import Transfers

/// A search result: a show as a catalogue (a podcast directory) describes it. Texts are single lines without control
/// characters; addresses are http or https.
package struct FoundShow: Sendable, Codable, Equatable {
    package var title: String
    package var author: String?
    /// The feed's address, for subscribing. Catalogues (podcast directories) list no credentials, so the address can be
    /// displayed unchanged.
    package var url: String
    /// The address of the largest artwork offered.
    package var artwork: String?
    /// The number of episodes.
    package var episodes: Int?
    /// The address of the show's web page, on the catalogue's site or its own.
    package var link: String?
    /// The name of the show's folder; `nil` if the show is not subscribed.
    package var subscribed: String?
    /// The address space of the catalogue's server: the internet, a local network or this computer. The addresses that
    /// the catalogue supplies may not be in a more private one.
    package var space: AddressSpace?

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
