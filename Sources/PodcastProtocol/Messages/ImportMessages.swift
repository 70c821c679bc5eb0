/// A show in a list of subscriptions.
package struct ImportItem: Sendable, Codable, Equatable {
    package var url: String
    /// The show's title and website according to the list. Both are used until the feed is fetched. If the feed has no
    /// title, this title is used afterwards too.
    package var title: String?
    package var link: String?
    /// The folders of the list that contain the show.
    package var folders: [String]?

    package init(url: String, title: String? = nil, link: String? = nil, folders: [String]? = nil) {
        self.url = url
        self.title = title
        self.link = link
        self.folders = folders
    }
}

/// The result of importing a show.
package enum ImportResult: Sendable, Codable, Equatable {
    case added(name: String, episodes: Int)
    /// The show was already subscribed.
    case known(name: String)
    /// The show is subscribed, without episodes until a refresh succeeds.
    case kept(name: String, error: String)
    /// The show is not subscribed: for example, the address is not that of a show, the feed is gone (410), or the
    /// daemon rejected the command.
    case refused(error: String)
}
