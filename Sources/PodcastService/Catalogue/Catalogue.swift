internal import CCrypto
internal import Foundation
internal import Platform
internal import PodcastLibrary
internal import PodcastProtocol
internal import Transfers

/// A podcast directory that can be searched over the web: Apple's, or the Podcast Index. Builds requests and parses
/// responses, which are untrusted JSON of limited size; the caller does the network I/O.
package struct Catalogue: Sendable, CustomStringConvertible, CustomReflectable {
    private enum API: Sendable {
        /// The iTunes Search API. Needs no key; Apple asks for at most about 20 requests a minute.
        case iTunes
        /// The Podcast Index (podcastindex.org), which is open. Needs an API key, which is free.
        case podcastIndex(key: String, secret: String)
    }

    /// The names of the members of a response.
    private struct Members: Sendable {
        /// The list of entries, and the entry of a response that has one in place of a list.
        var list: String
        var single: String?
        /// The explanation of an error.
        var error: String
        /// The properties of an entry; of several members, the first usable one counts.
        var title: [String]
        var author: [String]
        var url: String
        var artwork: [String]
        var episodes: String
        var link: [String]
    }

    /// The public name, used in messages.
    let name: String
    private let url: String
    private let api: API
    private let members: Members

    /// Maximum number of entries per response: the maximum of the iTunes Search API, and more than anyone reads.
    static let mostEntries = 200
    /// Maximum size of a response in bytes. An entry of either catalogue takes 2 to 4 KiB, or more with a long
    /// description.
    private static let largest = 8 << 20

    /// - Parameter url: The setting `search.itunes.url`, which is the address of the API or of a compatible server. It
    ///   may have query parameters, such as `country=DE`.
    package static func iTunes(at url: String = "https://itunes.apple.com/search") -> Catalogue {
        Catalogue(
            name: "iTunes", url: url, api: .iTunes,
            members: Members(
                list: "results", error: "errorMessage", title: ["collectionName", "trackName"], author: ["artistName"],
                url: "feedUrl", artwork: ["artworkUrl600", "artworkUrl100", "artworkUrl60", "artworkUrl30"],
                episodes: "trackCount", link: ["collectionViewUrl", "trackViewUrl"]))
    }

    /// - Parameters:
    ///   - key, secret: The settings `search.podcastindex.key` and `search.podcastindex.secret`.
    ///   - url: the server's address without the API's path; `nil` for the public one.
    package static func podcastIndex(key: String, secret: String, at url: String? = nil) -> Catalogue {
        Catalogue(
            name: "Podcast Index", url: url ?? "https://api.podcastindex.org",
            api: .podcastIndex(key: key, secret: secret),
            members: Members(
                list: "feeds", single: "feed", error: "description", title: ["title"], author: ["author", "ownerName"],
                url: "url", artwork: ["artwork", "image"], episodes: "episodeCount", link: ["link"]))
    }

    /// The description without the secret, so that logging the value does not disclose it.
    package var description: String { "\(name) at \(url)" }
    package var customMirror: Mirror { Mirror(self, children: ["url": url]) }

    // MARK: Requests

    /// Builds the request that searches for a term.
    ///
    /// - Parameters:
    ///   - limit: the number of entries wanted, 1 to `mostEntries`.
    ///   - now: seconds since 1970. The Podcast Index requires a signature of this time, so a retry needs a new
    ///     request.
    func request(for term: SearchTerm, limit: Int, now: Int64) throws(Failure) -> DataRequest {
        switch api {
        case .iTunes:
            request(to: url, [("media", "podcast"), ("term", term.text), ("limit", String(limit))])
        case .podcastIndex(let key, let secret):
            try signed("search/byterm", [("q", term.text), ("max", String(limit))], key, secret, now)
        }
    }

    /// Builds the request for the show that a directory's web page describes; `nil` if the page belongs to another
    /// directory. `entries` parses the response.
    func request(for page: CataloguePage, now: Int64) throws(Failure) -> DataRequest? {
        switch (api, page) {
        case (.iTunes, .apple(let id)):
            // The lookup address is the search address, in whose path `lookup` replaces a last component `search`, or
            // is appended.
            var base = String(url.prefix { $0 != "?" && $0 != "#" })
            let query = url.dropFirst(base.count).prefix { $0 != "#" }
            while base.hasSuffix("/") { base.removeLast() }
            if base.hasSuffix("/search") { base.removeLast("/search".count) }
            return request(to: base + "/lookup" + query, [("id", String(id)), ("entity", "podcast")])
        case (.podcastIndex(let key, let secret), .podcastIndex(let id)):
            return try signed("podcasts/byfeedid", [("id", String(id))], key, secret, now)
        default: return nil
        }
    }

    /// Returns a request with parameters added to an address, which may already have some, and without its fragment.
    private func request(to address: String, _ parameters: [(String, String)]) -> DataRequest {
        let base = address.prefix { $0 != "#" }
        let query = parameters.map { "\($0)=\($1.percentEncoded)" }.joined(separator: "&")
        let separator = base.last == "?" || base.last == "&" ? "" : base.contains("?") ? "&" : "?"
        var request = DataRequest(url: base + separator + query, limit: Self.largest)
        // Apple sends JSON as `text/javascript`.
        request.fields = [("Accept", "application/json, text/javascript;q=0.9, */*;q=0.1")]
        return request
    }

    /// Returns a request for a method of the Podcast Index, signed with the key, the secret and the time. The API
    /// rejects the request if the time is wrong by more than five minutes.
    ///
    /// The API also requires User-Agent, which the engine always sends.
    private func signed(
        _ method: String, _ parameters: [(String, String)], _ key: String, _ secret: String, _ now: Int64
    ) throws(Failure) -> DataRequest {
        var base = url[...]
        while base.hasSuffix("/") { base = base.dropLast() }
        guard let signature = Self.sha1("\(key)\(secret)\(now)") else {
            throw failure("OpenSSL offers no SHA-1 here, so no request can be signed")
        }
        var request = request(to: "\(base)/api/1.0/\(method)", parameters)
        request.fields += [("X-Auth-Key", key), ("X-Auth-Date", String(now)), ("Authorization", signature)]
        // libcurl would send these fields to other hosts, too.
        request.followsRedirects = false
        return request
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

    // MARK: Responses

    /// Returns the entries of a response in order, at most `mostEntries`, without those that lack a usable feed or that
    /// the Podcast Index marks as dead. (Only Apple's own apps can play a show without `feedUrl`.)
    ///
    /// - Parameter head: the head of the final response, whatever its status.
    func entries(head: ResponseHead, body: [UInt8]) throws(Failure) -> [FoundShow] {
        let shows = try objects(head, body).lazy.filter { Self.number($0["dead"]) != 1 }.compactMap(show)
        return FoundShow.merged([Array(shows.prefix(Self.mostEntries))])
    }

    private func show(_ entry: [String: Any]) -> FoundShow? {
        func texts(_ names: [String]) -> [String] { names.compactMap { entry[$0] as? String } }
        return FoundShow(
            untrustedTitle: texts(members.title), author: texts(members.author), url: entry[members.url] as? String,
            artwork: texts(members.artwork), episodes: Self.number(entry[members.episodes]), link: texts(members.link))
    }

    /// Returns the objects of the list in a response; other elements are skipped.
    private func objects(_ head: ResponseHead, _ body: [UInt8]) throws(Failure) -> [[String: Any]] {
        let document = (try? JSONSerialization.jsonObject(with: Data(DocumentStart.text(body)))) as? [String: Any]
        let says = (document?[members.error] as? String).flatMap(FoundShow.line).map { ": \($0.prefix(200))" }
        guard head.status == 200 else { throw failure(Self.explain(head.status) + (says ?? "")) }
        guard let document else {
            if body.isEmpty { throw failure("the answer is empty") }
            let isPage = head.mediaType == "text/html" || DocumentStart.isMarkup(body)
            throw failure(
                isPage
                    ? "the server sent a web page instead of results; a login page may be intercepting the connection"
                    : "the answer cannot be read: it is not the JSON that was expected")
        }
        if let single = members.single, let object = document[single] as? [String: Any] { return [object] }
        guard let list = document[members.list] as? [Any] else {
            throw failure(says.map { "the search was refused\($0)" } ?? "the answer has no list '\(members.list)'")
        }
        return list.compactMap { $0 as? [String: Any] }
    }

    private func failure(_ message: String) -> Failure { Failure(errorNumber: EIO, message: "\(name): \(message)") }

    private static func explain(_ status: Int) -> String {
        let says = "the server answered \(status)"
        return switch status {
        case 401, 403: says + ": it refuses the API key, or refuses requests of podfs"
        case 429: says + ": too many searches; wait a minute"
        case 500...599: says + "; try again later"
        default: says
        }
    }

    /// Returns a whole number, which may be written as text. Rounds a JSON number with a fraction. Returns 1 for
    /// `true`, because Foundation converts it to a number.
    static func number(_ value: Any?) -> Int? {
        if let text = value as? String { return Int(text) }
        return (value as? Double).flatMap { Int(exactly: $0.rounded()) }
    }
}

// The entries of catalogues.
extension FoundShow {
    /// Creates an entry from untrusted input after sanitizing it; `nil` without a feed address that podfs may fetch.
    /// Of several texts, the first usable one counts.
    fileprivate init?(
        untrustedTitle titles: [String], author: [String], url: String?, artwork: [String], episodes: Int?,
        link: [String]
    ) {
        guard let url, let address = try? WebAddress(url), !address.hasUserInfo else { return nil }
        self.init(
            title: titles.lazy.compactMap(Self.line).first ?? address.host,
            author: author.lazy.compactMap(Self.line).first, url: url,
            artwork: artwork.first(where: Self.isAddress),
            episodes: episodes.flatMap { Self.counts.contains($0) ? $0 : nil }, link: link.first(where: Self.isAddress))
    }

    /// Plausible episode counts; anything else is treated as unknown.
    private static let counts = 0...10_000_000
    /// Maximum length of a title or name in bytes: about six lines of a terminal.
    private static let longestLine = 512

    private static func isAddress(_ text: String) -> Bool { (try? WebAddress(text)).map { !$0.hasUserInfo } ?? false }

    /// Returns the text as one line of at most `longestLine` bytes; `nil` if nothing remains.
    fileprivate static func line(_ text: String) -> String? {
        // Do not scan a megabyte of text: only the beginning is displayed.
        let line = PlainText.collapsed(text.unicodeScalars.prefix(longestLine * 4))
        return line.isEmpty ? nil : FileName.cut(line, to: longestLine).trimmingCharacters(in: .whitespaces)
    }

    /// Merges the results of several catalogues without duplicates: the first list in its order, then the entries that
    /// each further list adds. A field that an earlier entry lacks, such as artwork, is copied from a later entry of
    /// the same feed.
    static func merged(_ lists: [[FoundShow]], limit: Int = Catalogue.mostEntries) -> [FoundShow] {
        var result: [FoundShow] = []
        var indices: [String: Int] = [:]
        for entry in lists.joined() {
            let key = WebAddress.key(entry.url)
            if let index = indices[key] {
                result[index].complete(from: entry)
            } else if result.count < limit {
                indices[key] = result.count
                result.append(entry)
            }
        }
        return result
    }

    private mutating func complete(from other: FoundShow) {
        author = author ?? other.author
        artwork = artwork ?? other.artwork
        episodes = episodes ?? other.episodes
        link = link ?? other.link
        space = space.flatMap { own in other.space.map { min(own, $0) } } ?? space ?? other.space
    }
}
