/// Responses of podcast directories to a search, in the documented formats and with invented shows.
enum CatalogueFixtures {
    /// A response of the iTunes Search API. Apple's responses also begin with line feeds.
    static let iTunes = """



        {
         "resultCount":4,
         "results": [
        {"wrapperType":"track", "kind":"podcast", "artistId":1, "collectionId":1001, "trackId":1001,
         "artistName":"Harbour Radio", "collectionName":"The Harbour Light", "trackName":"The Harbour Light",
         "collectionCensoredName":"The Harbour Light", "artistViewUrl":"https://podcasts.apple.com/us/artist/1?uo=4",
         "collectionViewUrl":"https://podcasts.apple.com/us/podcast/the-harbour-light/id1001?uo=4",
         "feedUrl":"https://feeds.harbour.example/light.xml",
         "trackViewUrl":"https://podcasts.apple.com/us/podcast/the-harbour-light/id1001?uo=4",
         "artworkUrl30":"https://is1.example/30x30bb.jpg", "artworkUrl60":"https://is1.example/60x60bb.jpg",
         "artworkUrl100":"https://is1.example/100x100bb.jpg", "collectionPrice":0.00, "trackPrice":0.00,
         "releaseDate":"2026-11-19T05:00:00Z", "collectionExplicitness":"notExplicit",
         "trackExplicitness":"cleaned", "trackCount":212, "trackTimeMillis":1800, "country":"USA",
         "currency":"USD", "primaryGenreName":"News", "contentAdvisoryRating":"Clean",
         "artworkUrl600":"https://is1.example/600x600bb.jpg", "genreIds":["1489", "26"],
         "genres":["News", "Podcasts"]},
        {"wrapperType":"track", "kind":"podcast", "collectionId":1002, "artistName":"Apple only",
         "collectionName":"No Feed Here", "trackCount":3},
        {"wrapperType":"track", "kind":"podcast", "collectionId":1003, "trackName":"Only a track name",
         "feedUrl":"http://feeds.example/second", "artworkUrl60":"https://is1.example/second60.jpg",
         "trackCount":1},
        {"wrapperType":"track", "kind":"podcast", "collectionId":1004, "artistName":"Harbour Radio",
         "collectionName":"The Harbour Light (again)", "feedUrl":"http://feeds.harbour.example/light.xml/",
         "trackCount":5}]
        }


        """

    static let iTunesRefusal =
        #"{"errorMessage":"Invalid value(s) for key(s): [mediaType]", "queryParameters":{"output":"json"}}"#

    static let podcastIndex = """
        {
          "status": "true",
          "feeds": [
            {
              "id": 75075, "podcastGuid": "9b024349-ccf0-5f69-a609-6b82873eab3c", "title": "Tide Tables",
              "url": "https://feeds.tides.example/rss", "originalUrl": "https://feeds.tides.example/rss",
              "link": "https://tides.example", "description": "Water goes up.\\nWater goes down.",
              "author": "Mara Quist", "ownerName": "Quist Audio", "image": "https://tides.example/image.jpg",
              "artwork": "https://tides.example/artwork.jpg", "lastUpdateTime": 1795168800,
              "lastCrawlTime": 1795168800, "lastParseTime": 1795168800, "inPollingQueue": 0, "priority": 5,
              "lastGoodHttpStatusTime": 1795168800, "lastHttpStatus": 200, "contentType": "application/rss+xml",
              "itunesId": 1001001, "generator": null, "language": "en", "explicit": false, "type": 0,
              "medium": "podcast", "dead": 0, "chash": "0", "episodeCount": 88, "crawlErrors": 0,
              "parseErrors": 0, "categories": {"55": "News"}, "locked": 0, "imageUrlHash": 1,
              "newestItemPubdate": 1795160000
            },
            {"id": 2, "title": "Long gone", "url": "https://dead.example/rss", "dead": 1, "episodeCount": 3},
            {
              "id": 3, "title": "", "url": "https://untitled.example/rss", "author": "", "ownerName": "Owner",
              "image": "", "artwork": "", "itunesId": null, "categories": [], "episodeCount": "12", "dead": "0"
            }
          ],
          "count": 3, "query": "tide", "description": "Found matching feeds."
        }
        """

    static let podcastIndexRefusal = #"{"status":"false","description":"Invalid API key or secret"}"#

    static let podcastIndexNothing =
        #"{"status":"true","feeds":[],"count":0,"query":"xyzzy","description":"No feeds found."}"#
}
