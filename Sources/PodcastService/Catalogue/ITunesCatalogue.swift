package import PodcastProtocol
package import Transfers

/// Apple's catalogue, through the iTunes Search API. Needs no key; Apple asks for at most about 20 requests a minute.
package struct ITunesCatalogue: Catalogue {
    package static let standardURL = "https://itunes.apple.com/search"

    package let name = "iTunes"
    private let url: String

    /// - Parameter url: The setting `search.itunes.url`, which is the address of the API or of a compatible server. It
    ///   may have query parameters, such as `country=DE`.
    package init(url: String = ITunesCatalogue.standardURL) { self.url = url }

    package func request(for term: SearchTerm, limit: Int, now: Int64) throws(CatalogueError) -> CatalogueRequest {
        let count = min(max(limit, 1), CatalogueAnswer.limit)
        return CatalogueRequest(
            url: CatalogueAnswer.address(
                url, [("media", "podcast"), ("term", term.text), ("limit", String(count))]),
            fields: Self.fields)
    }

    /// Builds the request that looks up a show by its number at Apple. Its address is the search address, in whose path
    /// `lookup` replaces a last component `search`, or is appended.
    package func request(for page: CataloguePage, now: Int64) throws(CatalogueError) -> CatalogueRequest? {
        guard case .apple(let id) = page else { return nil }
        var base = String(url.prefix { $0 != "?" && $0 != "#" })
        let query = url[base.endIndex...].prefix { $0 != "#" }
        while base.hasSuffix("/") { base.removeLast() }
        if base.hasSuffix("/search") { base.removeLast("/search".count) }
        return CatalogueRequest(
            url: CatalogueAnswer.address(base + "/lookup" + query, [("id", String(id)), ("entity", "podcast")]),
            fields: Self.fields)
    }

    private static let fields = [(name: "Accept", value: "application/json, text/javascript;q=0.9, */*;q=0.1")]

    /// Ignores the media type, because Apple sends JSON as `text/javascript`. Omits entries without `feedUrl`, because
    /// only Apple's own apps can play them.
    package func entries(head: ResponseHead, body: [UInt8]) throws(CatalogueError) -> [FoundShow] {
        let results = try CatalogueAnswer.objects(
            "results", errorKey: "errorMessage", head: head, body: body, catalogue: name)
        let entries = results.lazy.compactMap { result in
            FoundShow(
                untrustedTitle: (result["collectionName"] ?? result["trackName"]) as? String,
                author: result["artistName"] as? String, url: result["feedUrl"] as? String,
                artwork: ["artworkUrl600", "artworkUrl100", "artworkUrl60", "artworkUrl30"].map {
                    result[$0] as? String
                },
                episodes: CatalogueAnswer.number(result["trackCount"]),
                link: (result["collectionViewUrl"] ?? result["trackViewUrl"]) as? String)
        }
        return FoundShow.merged([Array(entries.prefix(CatalogueAnswer.limit))])
    }
}
