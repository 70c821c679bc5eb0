/// Responses of podcast directories to a search, in the documented formats and with invented shows.
enum CatalogueFixtures {
    /// A response of the iTunes Search API. Apple's responses also begin with line feeds.
    static let iTunes = """



        {
         "resultCount":4,
         "results": [
        {"wrapperType":"track", "kind":"podcast", "collectionId":1001, "artistName":"Harbour Radio",
         "collectionName":"The Harbour Light", "trackName":"The Harbour Light", "trackCount":212,
         "collectionViewUrl":"https://podcasts.apple.com/us/podcast/the-harbour-light/id1001?uo=4",
         "feedUrl":"https://feeds.harbour.example/light.xml", "artworkUrl100":"https://is1.example/100x100bb.jpg",
         "artworkUrl600":"https://is1.example/600x600bb.jpg", "genres":["News", "Podcasts"]},
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
              "id": 75075, "title": "Tide Tables", "url": "https://feeds.tides.example/rss",
              "link": "https://tides.example", "description": "Water goes up.\\nWater goes down.",
              "author": "Mara Quist", "ownerName": "Quist Audio", "image": "https://tides.example/image.jpg",
              "artwork": "https://tides.example/artwork.jpg", "itunesId": 1001001, "generator": null,
              "explicit": false, "dead": 0, "episodeCount": 88, "categories": {"55": "News"}
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
}
