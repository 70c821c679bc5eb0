internal import Platform
internal import PodcastFeed
package import PodcastLibrary
package import PodcastProtocol
internal import Transfers

/// The contents of the page of all shows.
package struct Shelf: Sendable {
    /// The shows, in the order of the page.
    package var shows: [Podcast]
    /// The publication time of each show's newest episode, in seconds since 1970.
    package var newest: [ShowID: Int64]
    /// The number of each show's episodes that were not played.
    package var unplayed: [ShowID: Int] = [:]
    /// Episodes in progress, the most recently played first.
    package var inProgress: [ShelfEpisode] = []
    /// The newest episodes of all shows.
    package var latest: [ShelfEpisode] = []
    /// The titles for the search, newest first.
    package var titles: [TitleEntry] = []
    /// The names of the views that have no page in the mount's root, with their numbers of episodes.
    package var views: [(name: String, count: Int)] = []

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
    package static let viewFile = ".index.html"
}

/// The page of all shows, `index.html` in the mount's root.
package struct ShelfPage: Sendable {
    private let shelf: Shelf
    private let shows: [ShowID: Podcast]

    package init(_ shelf: Shelf) {
        self.shelf = shelf
        shows = Dictionary(shelf.shows.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    }

    package init(_ shows: [Podcast], newest: [ShowID: Int64]) { self.init(Shelf(shows, newest: newest)) }

    package var bytes: [UInt8] {
        var page = PageText()
        page.begin(title: "Podcasts", kind: "shows")
        page.navigation(current: "index.html")
        page.add("<header><h1>Podcasts</h1>")
        if !shelf.shows.isEmpty {
            let episodes = shelf.shows.reduce(0) { $0 + $1.episodes }
            let cached = shelf.shows.reduce(0) { $0 + $1.cached }
            page.add("<p class=\"facts line\"><span>\(page.counted(shelf.shows.count, "show"))</span>")
            page.add("<span>\(page.counted(episodes, "episode"))</span>")
            if cached > 0 { page.add("<span>\(WholeNumber.text(cached)) downloaded</span>") }
            page.add("</p>")
        }
        page.add("</header>\n<main>\n")
        if shelf.shows.isEmpty {
            page.add("<p class=\"none\">No shows yet. <code>podfs subscribe URL</code> adds one.</p>\n")
        } else {
            addSection("Continue listening", shelf.inProgress, to: &page) { addRest(of: $0, to: &$1) }
            addSection("Newest episodes", shelf.latest, to: &page) { addDate(of: $0, to: &$1) }
            addViews(to: &page)
            addShows(to: &page)
            addTitles(to: &page)
        }
        page.add("</main>\n")
        page.finish()
        return page.bytes
    }

    // MARK: Episodes

    private func addSection(
        _ name: String, _ episodes: [ShelfEpisode], to page: inout PageText,
        facts: (ShelfEpisode, inout PageText) -> Void
    ) {
        guard !episodes.isEmpty else { return }
        page.add("<section class=\"home\" aria-label=\"\(name)\"><h2>\(name)</h2><ul class=\"cards\">\n")
        for episode in episodes {
            guard let show = shows[episode.show] else { continue }
            page.add("<li>")
            page.art(of: show, address: [show.name, "cover.jpg"])
            page.add("<div><a href=\"")
            page.path(show.name, "index.html")
            page.add("#e\(episode.id)\">")
            page.heading("h3", episode.title, isPlayed: episode.played)
            page.add("</a><p class=\"facts\"><span dir=\"auto\">")
            page.text(show.title)
            page.add("</span>")
            facts(episode, &page)
            page.add("</p>")
            page.addListening(episode.position, of: episode.duration, isPlayed: episode.played)
            page.add("</div></li>\n")
        }
        page.add("</ul></section>\n")
    }

    private func addRest(of episode: ShelfEpisode, to page: inout PageText) {
        if let rest = episode.rest { page.add("<span>\(rest)</span>") }
    }

    private func addDate(of episode: ShelfEpisode, to page: inout PageText) {
        guard let published = episode.published else { return }
        page.add("<span>")
        page.day(published, offset: episode.publishedOffset)
        page.add("</span>")
    }

    private func addViews(to page: inout PageText) {
        if shelf.views.isEmpty { return }
        page.add("<section aria-label=\"Views\"><h2>Views</h2><ul class=\"views\">\n")
        for view in shelf.views {
            page.add("<li><a dir=\"auto\" href=\"")
            page.path(view.name, Shelf.viewFile)
            page.add("\">")
            page.text(view.name)
            page.add(" <span class=\"facts\">\(page.counted(view.count, "episode"))</span></a></li>\n")
        }
        page.add("</ul></section>\n")
    }

    // MARK: Shows

    private func addShows(to page: inout PageText) {
        page.add("<section aria-label=\"Shows\"><div class=\"bar\"><h2>Shows</h2><div class=\"filter\" hidden>")
        page.add("<input type=\"search\" placeholder=\"Search shows and episodes\" ")
        page.add("aria-label=\"Search shows and episodes\"><label>Sort by <select><option value=\"name\">name</option>")
        page.add("<option value=\"newest\">newest episode</option><option value=\"unplayed\">unplayed</option>")
        page.add(
            "</select></label></div></div>\n<p class=\"facts count\" role=\"status\"></p><ul class=\"found\"></ul>\n")
        page.add("<ul class=\"shelf\">\n")
        for show in shelf.shows { add(show, to: &page) }
        page.add("</ul></section>\n")
    }

    private func add(_ show: Podcast, to page: inout PageText) {
        let unplayed = shelf.unplayed[show.id] ?? 0
        page.add("<li data-newest=\"\(shelf.newest[show.id] ?? 0)\" data-unplayed=\"\(unplayed)\"><a href=\"")
        page.path(show.name, "index.html")
        page.add("\">")
        page.art(of: show, address: [show.name, "cover.jpg"])
        page.add("<h3 dir=\"auto\"\(LanguageTag.attribute(show.language))>")
        page.text(show.title)
        let episodes = page.counted(show.episodes, "episode")
        page.add("</h3></a><p class=\"facts\"><span>")
        if unplayed > 0, unplayed < show.episodes {
            page.add("\(WholeNumber.text(unplayed)) of \(WholeNumber.text(show.episodes)) unplayed")
        } else if show.episodes > 0, unplayed == 0, !shelf.unplayed.isEmpty {
            page.add("\(episodes), all played")
        } else {
            page.add(episodes)
        }
        page.add("</span>")
        if let newest = shelf.newest[show.id] {
            page.add("<span>")
            page.day(newest)
            page.add("</span>")
        }
        page.add("</p>")
        if let problem = show.problem {
            page.add("<p class=\"facts bad\" title=\"")
            page.text(problem)
            page.add("\">\(show.state == Podcast.gone ? "has ended" : "cannot be fetched")</p>")
        }
        page.add("</li>\n")
    }

    /// Adds the titles that the script searches.
    private func addTitles(to page: inout PageText) {
        let indices = Dictionary(
            shelf.shows.enumerated().map { ($1.id, $0) }, uniquingKeysWith: { first, _ in first })
        let episodes = shelf.titles.prefix(Shelf.titleLimit).compactMap { entry -> OrderedJSON? in
            guard let index = indices[entry.show] else { return nil }
            return .array([.int(Int64(index)), .int(entry.id.rawValue), .string(entry.title)])
        }
        let shows = shelf.shows.map { OrderedJSON.string($0.name) }
        page.data(.object([("shows", .array(shows)), ("episodes", .array(episodes))]), id: "titles")
    }
}
