package import PodcastLibrary
package import TransferCore

/// The page of all shows, `index.html` in the root.
package struct ShelfPage: Sendable {
    private let shows: [Podcast]
    private let newest: [ShowID: Int64]

    /// - Parameters:
    ///   - shows: The shows in the order of the page.
    ///   - newest: The publication time of each show's newest episode, in seconds since 1970, by show.
    package init(_ shows: [Podcast], newest: [ShowID: Int64]) {
        self.shows = shows
        self.newest = newest
    }

    package var bytes: [UInt8] {
        var page = PageText()
        page.begin(title: "Podcasts", kind: "shows", policy: PageStyle.policyWithArt)
        page.add("<nav><a href=\"Latest/\">Latest</a><a href=\"Downloaded/\">Downloaded</a>")
        page.add("<a href=\".status.html\">Transfers</a></nav>\n<header><h1>Podcasts</h1>")
        if !shows.isEmpty {
            let episodes = shows.reduce(0) { $0 + $1.episodes }
            let cached = shows.reduce(0) { $0 + $1.cached }
            page.add("<p class=\"facts line\"><span>\(page.counted(shows.count, "show"))</span>")
            page.add("<span>\(page.counted(episodes, "episode"))</span>")
            if cached > 0 { page.add("<span>\(WholeNumber.text(cached)) cached</span>") }
            page.add("</p>")
        }
        page.add("</header>\n<main>\n")
        if shows.isEmpty {
            page.add("<p class=\"none\">No shows yet. <code>podfs subscribe URL</code> adds one.</p>\n")
        } else {
            page.add("<ul class=\"shelf\">\n")
            for show in shows { add(show, to: &page) }
            page.add("</ul>\n")
        }
        page.add("</main>\n<script>\(PageStyle.retry)</script>\n")
        page.end()
        return page.bytes
    }

    private func add(_ show: Podcast, to page: inout PageText) {
        page.add("<li><a href=\"")
        page.path(show.name, "index.html")
        page.add("\">")
        page.art(of: show, address: show.name, "cover.jpg")
        page.add("<h2 dir=\"auto\"\(LanguageTag.attribute(show.language))>")
        page.text(show.title)
        page.add("</h2></a><p class=\"facts\"><span>\(page.counted(show.episodes, "episode"))</span>")
        if let newest = newest[show.id] {
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
}
