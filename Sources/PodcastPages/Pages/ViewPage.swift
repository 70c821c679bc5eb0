internal import Platform
package import PodcastLibrary
package import PodcastProtocol
internal import Transfers

/// A list of episodes of all shows, with a page in the mounted folder.
package enum ViewKind: String, CaseIterable, Sendable {
    case latest, inProgress, unplayed, downloaded

    /// The name of the page's file. It begins with a dot, like `.status.html`, because no name of a show's folder does.
    package var file: String {
        switch self {
        case .latest: ".latest.html"
        case .inProgress: ".in-progress.html"
        case .unplayed: ".unplayed.html"
        case .downloaded: ".downloaded.html"
        }
    }

    package var title: String {
        switch self {
        case .latest: "Latest"
        case .inProgress: "In progress"
        case .unplayed: "Unplayed"
        case .downloaded: "Downloaded"
        }
    }

    /// The text of a page without episodes.
    var emptyText: String {
        switch self {
        case .latest: "No episodes yet. podfs subscribe URL adds a show."
        case .inProgress: "Nothing is in progress. Episodes that have been played in part are listed here."
        case .unplayed: "Everything has been played."
        case .downloaded: "Nothing is downloaded. Playing an episode downloads it, and so does podfs download."
        }
    }

    /// The maximum number of episodes on one of these pages, and on the page in a view's folder.
    package static let limit = 500
    /// The number of episodes to load for such a page. It is one more than `limit`, so that the page can show whether
    /// there are more than it lists.
    package static let loadLimit = limit + 1

    /// Returns whether the name of a view is the title of one of these pages, ignoring case.
    package static func hasPage(named view: String) -> Bool {
        allCases.contains { $0.title.lowercased() == view.lowercased() }
    }
}

/// A page with episodes of all shows, such as the latest, each with a player.
package struct ViewPage: Sendable {
    private let title: String
    /// The page's file, which the navigation marks as the current one; `nil` for a view's page, which the navigation
    /// does not list.
    private let file: String?
    private let emptyText: String
    /// The relative path of the mounted folder: `..` for a page in a view's folder, otherwise empty.
    private let root: [String]
    private let episodes: ArraySlice<ShelfEpisode>
    /// Whether there are more episodes than the page lists.
    private let isCut: Bool
    private let shows: [ShowID: Podcast]

    /// - Parameter episodes: The episodes in the order of the page, up to `ViewKind.loadLimit`.
    package init(_ kind: ViewKind, _ episodes: [ShelfEpisode], shows: [ShowID: Podcast]) {
        (title, file, emptyText, root) = (kind.title, kind.file, kind.emptyText, [])
        self.episodes = episodes.prefix(ViewKind.limit)
        isCut = episodes.count > ViewKind.limit
        self.shows = shows
    }

    /// Creates the page in the folder of a view.
    ///
    /// - Parameter episodes: The episodes in the order of the page, up to `ViewKind.loadLimit`.
    package init(folder: String, _ episodes: [ShelfEpisode], shows: [ShowID: Podcast]) {
        (title, file, emptyText, root) = (
            folder, nil, "No episode matches this view. podfs view list shows its conditions.", [".."]
        )
        self.episodes = episodes.prefix(ViewKind.limit)
        isCut = episodes.count > ViewKind.limit
        self.shows = shows
    }

    package var bytes: [UInt8] {
        var page = PageText()
        page.begin(title: "\(title) – podfs", kind: "view")
        page.navigation(current: file, root: root.map { $0 + "/" }.joined())
        page.add("<header><h1 dir=\"auto\">")
        page.text(title)
        page.add("</h1><p class=\"facts line\">")
        page.add("<span>\(isCut ? "the first " : "")\(page.counted(episodes.count, "episode"))</span></p></header>\n")
        page.add("<main>\n")
        if episodes.isEmpty {
            page.add("<p class=\"none\">\(emptyText)</p>\n")
        } else {
            page.add("<div class=\"bar\"><h2>Episodes</h2><p class=\"filter\" hidden><input type=\"search\" ")
            page.add(
                "placeholder=\"Filter episodes\" aria-label=\"Filter episodes\"></p></div>\n<ol class=\"episodes\">\n")
            for episode in episodes { add(episode, to: &page) }
            page.add("</ol>\n")
        }
        page.add("</main>\n")
        page.finish()
        return page.bytes
    }

    private func add(_ episode: ShelfEpisode, to page: inout PageText) {
        guard let show = shows[episode.show] else { return }
        page.add("<li\(episode.played ? " class=\"played\"" : "")><details><summary>")
        page.art(of: show, address: root + [show.name, "cover.jpg"])
        page.heading("h3", episode.title, isPlayed: episode.played)
        page.add("<span class=\"from\" dir=\"auto\">")
        page.text(show.title)
        page.add("</span><span class=\"facts\"><span>")
        if let published = episode.published { page.day(published, offset: episode.publishedOffset) }
        page.add("</span><span>\(episode.rest ?? episode.duration.map(TimeText.clock) ?? "")</span>")
        page.state(isComplete: episode.complete)
        page.add("</span>")
        page.addListening(episode.position, of: episode.duration, isPlayed: episode.played)
        page.add("</summary><div class=\"inside\">\n")
        let fileExtension = FileName.fileExtension(of: episode.name)
        if MediaType(type: episode.type, url: "file.\(fileExtension)").major != .other {
            let isVideo = MediaType.isVideo(type: episode.type, fileExtension: fileExtension)
            page.add("<p><a data-player=\"\(isVideo ? "video" : "audio")\"")
            if let duration = episode.duration { page.add(" data-length=\"\(TimeText.clock(duration))\"") }
            if let position = episode.position, position >= 1, !episode.played {
                page.add(" data-at=\"\(WholeNumber.of(position))\"")
            }
            page.add(" href=\"")
            page.path(root + [show.name, episode.name])
            page.add("\" aria-label=\"")
            page.text(episode.title)
            page.add("\">Play</a></p>\n")
        }
        page.add("<p class=\"facts line\"><a href=\"")
        page.path(root + [show.name, "index.html"])
        page.add("#e\(episode.id)\" dir=\"auto\">")
        page.text(show.title)
        page.add("</a><a href=\"")
        page.path(root + [show.name, episode.name])
        page.add("\">File</a></p>\n</div></details></li>\n")
    }
}

extension ShelfEpisode {
    /// The remaining time of an episode in progress, such as `12:07 left`; `nil` for other episodes.
    var rest: String? {
        guard !played, let duration, let position, position >= Self.inProgressThreshold, duration > position else {
            return nil
        }
        return "\(TimeText.clock(duration - position)) left"
    }
}

extension PageText {
    /// Adds the title of an episode as a heading, with a mark if it was played.
    mutating func heading(_ element: String, _ title: String, isPlayed: Bool) {
        add("<\(element) dir=\"auto\">")
        text(title)
        if isPlayed { add(" <span class=\"mark\" aria-hidden=\"true\">✓</span><span class=\"hidden\"> played</span>") }
        add("</\(element)>")
    }

    /// Adds the label `downloaded` or `not downloaded`.
    mutating func state(isComplete: Bool) {
        add(
            isComplete
                ? "<span class=\"cached\" title=\"The whole file is on this computer\">downloaded</span>"
                : "<span class=\"remote\" title=\"The file is fetched when it is played\">not downloaded</span>")
    }

    /// Adds a bar with the playback position of an episode in progress; adds nothing for other episodes.
    mutating func addListening(_ position: Double?, of duration: Double?, isPlayed: Bool) {
        guard !isPlayed, let position, let duration, position >= ShelfEpisode.inProgressThreshold, duration > 0,
            position.isFinite, duration.isFinite
        else { return }
        let part = Int(min(100, position / duration * 100))
        let text = "\(TimeText.clock(position)) of \(TimeText.clock(duration)) played"
        add("<progress max=\"100\" value=\"\(part)\" aria-label=\"\(text)\" title=\"\(text)\"></progress>")
    }
}
