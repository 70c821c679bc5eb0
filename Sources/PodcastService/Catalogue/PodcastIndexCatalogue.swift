internal import CCrypto
internal import Platform
package import PodcastProtocol
package import Transfers

/// The Podcast Index (podcastindex.org), an open catalogue. Needs an API key, which is free.
package struct PodcastIndexCatalogue: Catalogue {
    package static let standardURL = "https://api.podcastindex.org"

    package let name = "Podcast Index"
    private let url: String
    private let key: String
    private let secret: String

    /// - Parameters:
    ///   - key, secret: The settings `search.podcastindex.key` and `search.podcastindex.secret`.
    ///   - url: the server's address without the API's path.
    package init(key: String, secret: String, url: String = PodcastIndexCatalogue.standardURL) {
        self.key = key
        self.secret = secret
        self.url = url
    }

    package func request(for term: SearchTerm, limit: Int, now: Int64) throws(CatalogueError) -> CatalogueRequest {
        let count = min(max(limit, 1), CatalogueAnswer.limit)
        return try request("search/byterm", [("q", term.text), ("max", String(count))], now: now)
    }

    package func request(for page: CataloguePage, now: Int64) throws(CatalogueError) -> CatalogueRequest? {
        guard case .podcastIndex(let id) = page else { return nil }
        return try request("podcasts/byfeedid", [("id", String(id))], now: now)
    }

    /// Returns a request for an API method, signed with the key, the secret and the time. The API rejects the request
    /// if the time is wrong by more than five minutes.
    ///
    /// The API also requires User-Agent, which the engine always sends.
    private func request(
        _ method: String, _ parameters: [(String, String)], now: Int64
    ) throws(CatalogueError) -> CatalogueRequest {
        var base = url[...]
        while base.hasSuffix("/") { base = base.dropLast() }
        guard let signature = Self.sha1("\(key)\(secret)\(now)") else {
            throw CatalogueError(catalogue: name, message: "OpenSSL offers no SHA-1 here, so no request can be signed")
        }
        return CatalogueRequest(
            url: CatalogueAnswer.address("\(base)/api/1.0/\(method)", parameters),
            fields: [
                ("Accept", "application/json"), ("X-Auth-Key", key), ("X-Auth-Date", String(now)),
                ("Authorization", signature),
            ],
            hasCredentials: true)
    }

    /// Skips feeds that the index marks as dead.
    package func entries(head: ResponseHead, body: [UInt8]) throws(CatalogueError) -> [FoundShow] {
        let feeds = try CatalogueAnswer.objects(
            "feeds", or: "feed", errorKey: "description", head: head, body: body, catalogue: name)
        let entries = feeds.lazy.filter { CatalogueAnswer.number($0["dead"]) != 1 }.compactMap { feed in
            FoundShow(
                untrustedTitle: feed["title"] as? String,
                author: [feed["author"], feed["ownerName"]].lazy.compactMap { $0 as? String }.first { !$0.isEmpty },
                url: feed["url"] as? String, artwork: [feed["artwork"] as? String, feed["image"] as? String],
                episodes: CatalogueAnswer.number(feed["episodeCount"]), link: feed["link"] as? String)
        }
        return FoundShow.merged([Array(entries.prefix(CatalogueAnswer.limit))])
    }

    /// Returns the SHA-1 of a text in lower-case hexadecimal, as the API requires; `nil` if OpenSSL's configuration
    /// disables SHA-1.
    ///
    /// The corresponding C function is `EVP_Digest`.
    static func sha1(_ text: String) -> String? {
        let bytes = Array(text.utf8)
        var digest = [UInt8](repeating: 0, count: 20)
        guard EVP_Digest(bytes, bytes.count, &digest, nil, EVP_sha1(), nil) == 1 else { return nil }
        return digest.hexadecimal
    }
}

extension PodcastIndexCatalogue: CustomStringConvertible, CustomReflectable {
    /// The description without the secret, so that logging the value does not disclose it.
    package var description: String { "\(name) at \(url)" }
    package var customMirror: Mirror { Mirror(self, children: ["url": url]) }
}
