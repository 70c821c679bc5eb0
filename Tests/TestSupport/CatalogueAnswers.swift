import Foundation

/// Responses of podcast catalogues.
package enum CatalogueAnswers {
    package struct Show: Sendable {
        package var title: String
        package var url: String
        package var author: String?
        package var episodes: Int?

        package init(_ title: String, url: String, author: String? = nil, episodes: Int? = nil) {
            self.title = title
            self.url = url
            self.author = author
            self.episodes = episodes
        }
    }

    /// Returns a response of the iTunes Search API.
    package static func iTunes(_ shows: [Show]) -> Resource {
        let results = shows.map { show in
            var result: [String: Any] = [
                "kind": "podcast", "collectionName": show.title, "feedUrl": show.url,
                "artworkUrl600": "https://art.example/600.jpg", "collectionViewUrl": "https://shows.example/1",
            ]
            result["artistName"] = show.author
            result["trackCount"] = show.episodes
            return result
        }
        return json(["resultCount": shows.count, "results": results], type: "text/javascript; charset=utf-8")
    }

    /// Returns a response of the Podcast Index.
    package static func podcastIndex(_ shows: [Show]) -> Resource {
        let feeds = shows.map { show in
            var feed: [String: Any] = ["title": show.title, "url": show.url, "dead": 0]
            feed["author"] = show.author
            feed["episodeCount"] = show.episodes
            return feed
        }
        return json(["status": "true", "feeds": feeds, "count": shows.count], type: "application/json")
    }

    private static func json(_ object: [String: Any], type: String) -> Resource {
        // Dictionaries of strings and numbers are always valid JSON.
        let data = (try? JSONSerialization.data(withJSONObject: object)) ?? Data()
        return Resource(body: .bytes([UInt8](data)), contentType: type)
    }
}
