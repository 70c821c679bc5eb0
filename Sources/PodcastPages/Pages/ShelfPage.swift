internal import Platform
internal import PodcastFeed
package import PodcastLibrary
package import PodcastProtocol

/// The contents of the page of all shows.
package struct Shelf: Sendable {
    /// The shows, in the order of the page.
    package var shows: [Podcast]
    /// The publication time of each show's newest episode, in seconds since 1970.
    package var newest: [ShowID: Int64]
    /// The number of each show's episodes that were not played.
    package var unplayed: [ShowID: Int] = [:]
    /// Episodes in progress, the most recently played first.
    package var inProgress: [EpisodeSummary] = []
    /// The newest episodes of all shows.
    package var latest: [EpisodeSummary] = []
    /// The titles for the search, newest first.
    package var titles: [(id: EpisodeID, show: ShowID, title: String)] = []
    /// The names of the views' folders.
    package var views: [String] = []

    package init(_ shows: [Podcast], newest: [ShowID: Int64]) {
        self.shows = shows
        self.newest = newest
    }

    /// The maximum number of episodes in `inProgress`.
    package static let inProgressLimit = 6
    /// The maximum number of episodes in `latest`.
    package static let latestLimit = 9
    /// The maximum number of titles that can be searched. At some 80 bytes each, they stay below a megabyte.
    package static let titleLimit = 10_000
    /// The name of the file with a view's page, in the view's folder.
    package static let viewFile = "index.html"
}

extension Shelf {
    /// The page of all shows, `index.html` in the mount's root.
    package var page: [UInt8] {
        let indices = Dictionary(shows.enumerated().map { ($1.id, $0) }, uniquingKeysWith: { first, _ in first })
        var page = Markup.beginning(title: "Podcasts", kind: "shows")
        page += Markup.navigation(current: ["index.html"], views: views)
        if shows.isEmpty {
            page += """
                <header><h1>Podcasts</h1></header>
                <main>
                <p class="none">No shows yet. <code>podfs subscribe URL</code> adds one.</p>

                """
        } else {
            let episodes = shows.reduce(0) { $0 + $1.episodes }
            let cached = shows.reduce(0) { $0 + $1.cached }
            let downloaded: Markup? = cached > 0 ? "<span>\(WholeNumber.text(cached)) downloaded</span>" : nil
            page += """
                <header><h1>Podcasts</h1><p class="facts line"><span>\(shows.count.counted("show"))</span>\
                <span>\(episodes.counted("episode"))</span>\(downloaded)</p></header>
                <main>

                """
            let unfinished = section("Continue listening", inProgress, indices) { episode in
                episode.rest.map { "<span>\($0)</span>" }
            }
            let new = section("Newest episodes", latest, indices) { episode in
                episode.published.map { "<span>\(day: $0, offset: episode.publishedOffset)</span>" }
            }
            page += "\(unfinished)\(new)\(showList)\(data(indices))"
        }
        page += "</main>\n\(Markup.end)"
        return page.bytes
    }

    // MARK: Episodes

    private func section(
        _ name: String, _ episodes: [EpisodeSummary], _ indices: [ShowID: Int], fact: (EpisodeSummary) -> Markup?
    ) -> Markup? {
        if episodes.isEmpty { return nil }
        let cards = episodes.compactMap { episode -> Markup? in
            guard let show = indices[episode.podcast].map({ shows[$0] }) else { return nil }
            return """
                <li>\(Markup.art(of: show, in: [show.name]))<div>\
                <a href="\(path: show.name, "index.html")#e\(episode.id)">\
                \(Markup.heading(episode))</a>\
                <p class="facts"><span dir="auto">\(show.title)</span>\(fact(episode))</p>\
                \(Markup.listening(episode))</div></li>

                """
        }
        return """
            <section class="home" aria-label="\(name)"><h2>\(name)</h2><ul class="cards">
            \(cards)</ul></section>

            """
    }

    // MARK: Shows

    private var showList: Markup {
        """
        <section aria-label="Shows"><div class="bar"><h2>Shows</h2><div class="filter" hidden>\
        <input type="search" placeholder="Search shows and episodes" aria-label="Search shows and episodes">\
        <label>Sort by <select><option value="name">name</option><option value="newest">newest episode</option>\
        <option value="unplayed">unplayed</option></select></label></div></div>
        <p class="facts count" role="status"></p><ul class="found"></ul>
        <ul class="shelf">
        \(shows.map(tile))</ul></section>

        """
    }

    private func tile(of show: Podcast) -> Markup {
        let fresh = unplayed[show.id] ?? 0
        let episodes = show.episodes.counted("episode")
        let count =
            fresh > 0 && fresh < show.episodes
            ? "\(WholeNumber.text(fresh)) of \(WholeNumber.text(show.episodes)) unplayed"
            : show.episodes > 0 && fresh == 0 && !unplayed.isEmpty ? "\(episodes), all played" : episodes
        let day = newest[show.id].map { "<span>\(day: $0)</span>" as Markup }
        let problem = show.problem.map { problem -> Markup in
            let text = show.state == Podcast.gone ? "has ended" : "cannot be fetched"
            return "<p class=\"facts bad\" title=\"\(problem)\">\(text)</p>"
        }
        return """
            <li data-newest="\(newest[show.id] ?? 0)" data-unplayed="\(fresh)">\
            <a href="\(path: show.name, "index.html")">\(Markup.art(of: show, in: [show.name]))\
            <h3 dir="auto"\(raw: show.languageAttribute)>\(show.title)</h3></a>\
            <p class="facts"><span>\(count)</span>\(day)</p>\(problem)</li>

            """
    }

    /// The titles that the script searches.
    private func data(_ indices: [ShowID: Int]) -> Markup {
        let episodes = titles.prefix(Self.titleLimit).compactMap { entry -> OrderedJSON? in
            guard let index = indices[entry.show] else { return nil }
            return .array([.int(Int64(index)), .int(entry.id.rawValue), .string(entry.title)])
        }
        let shows = shows.map { OrderedJSON.string($0.name) }
        return Markup.data(.object([("shows", .array(shows)), ("episodes", .array(episodes))]), id: "titles")
    }
}
