/// A show of a list of subscriptions.
package struct ImportItem: Sendable, Codable, Equatable {
    package var url: String
    /// The show's name and site as the list has them, for as long as the feed does not say.
    package var title: String?
    package var link: String?

    package init(url: String, title: String? = nil, link: String? = nil) {
        self.url = url
        self.title = title
        self.link = link
    }
}

/// What has become of it.
package enum ImportResult: Sendable, Codable, Equatable {
    case added(name: String, episodes: Int)
    /// It is subscribed to already.
    case known(name: String)
    /// It is subscribed to, without episodes until a refresh succeeds.
    case kept(name: String, error: String)
    /// It is no show, or not any more.
    case refused(error: String)
}
