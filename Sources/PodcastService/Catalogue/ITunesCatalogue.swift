package import TransferCore

/// Apple's catalogue, by the iTunes Search API. It needs no key; Apple asks for at most about 20 requests a minute.
package struct ITunesCatalogue: Catalogue {
    package static let standardURL = "https://itunes.apple.com/search"

    package let name = "iTunes"
    private let url: String

    /// - Parameter url: `search.itunes.url`: the API's address, or that of something that answers as it does. It may
    ///   have parameters of its own, such as `country=DE`.
    package init(url: String = ITunesCatalogue.standardURL) {
        self.url = url
    }

    package func request(for term: SearchTerm, limit: Int, now: Int64) throws(CatalogueError) -> CatalogueRequest {
        let count = min(max(limit, 1), CatalogueAnswer.limit)
        return CatalogueRequest(
            url: CatalogueAnswer.address(
                url, [("media", "podcast"), ("term", term.text), ("limit", String(count))]),
            fields: [("Accept", "application/json, text/javascript;q=0.9, */*;q=0.1")])
    }

    /// The media type is not looked at: Apple sends JSON as `text/javascript`. Entries without `feedUrl` are shows that
    /// only Apple's own programs can play.
    package func entries(head: ResponseHead, body: [UInt8]) throws(CatalogueError) -> [CatalogueEntry] {
        let results = try CatalogueAnswer.objects(
            "results", complaint: "errorMessage", head: head, body: body, catalogue: name)
        let entries = results.lazy.compactMap { result in
            CatalogueEntry(
                untrustedTitle: (result["collectionName"] ?? result["trackName"]) as? String,
                author: result["artistName"] as? String, feedURL: result["feedUrl"] as? String,
                artwork: ["artworkUrl600", "artworkUrl100", "artworkUrl60", "artworkUrl30"].map {
                    result[$0] as? String
                },
                episodes: CatalogueAnswer.number(result["trackCount"]),
                link: (result["collectionViewUrl"] ?? result["trackViewUrl"]) as? String)
        }
        return CatalogueEntry.merged([Array(entries.prefix(CatalogueAnswer.limit))])
    }
}
