internal import Platform
internal import PodcastFeed
internal import PodcastLibrary
internal import PodcastProtocol
internal import Transfers

// The feeds that a web page names.
extension Subscriptions {
    /// Returns the feed at an address, or the feeds that the web page at this address names, as results of a search.
    func feeds(at url: String) async throws -> Reply {
        let (url, reach) = try await feedAddress(url)
        let address = PrivateAddress(url)
        let found = try await context.fetcher.retrieve(
            url, reach: reach, credentials: context.netrc.credentials(for: address.url, given: address.url))
        if let page = found.problem?.page, !page.feeds.isEmpty {
            return .found(try page.feeds.map { try show($0.title ?? $0.url, $0.url) }, problems: [])
        }
        if let problem = found.problem { throw problem }
        let title = found.feed?.title ?? address.visible
        return .found([try show(title, url, episodes: found.feed?.items.count)], problems: [])
    }

    private func show(_ title: String, _ url: String, episodes: Int? = nil) throws -> FoundShow {
        let known = try library.podcast(url: PrivateAddress(url).url)
        return FoundShow(
            title: title, url: url, episodes: episodes, subscribed: known.flatMap { $0.ephemeral ? nil : $0.name })
    }
}
