/// A show in a list of subscriptions.
package struct ImportItem: Sendable, Codable, Equatable {
    package var url: String
    /// The show's name and site in the list, used until the feed is fetched.
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
    /// The show is not subscribed: the address is not that of a show, or the show's feed is gone.
    case refused(error: String)
}
