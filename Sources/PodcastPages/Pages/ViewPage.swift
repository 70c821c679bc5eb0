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
        let count = "\(isCut ? "the first " : "")\(episodes.count.counted("episode"))"
        let list: Markup =
            episodes.isEmpty
            ? """
            <p class="none">\(emptyText)</p>

            """
            : """
            <div class="bar"><h2>Episodes</h2>\(Markup.filter)</div>
            <ol class="episodes">
            \(episodes.compactMap(row))</ol>

            """
        let page: Markup = """
            \(Markup.beginning(title: "\(title) – podfs", kind: "view"))\
            \(Markup.navigation(current: file, root: root.map { $0 + "/" }.joined()))\
            <header><h1 dir="auto">\(title)</h1><p class="facts line"><span>\(count)</span></p></header>
            <main>
            \(list)</main>
            \(Markup.end)
            """
        return page.bytes
    }

    private func row(of episode: ShelfEpisode) -> Markup? {
        guard let show = shows[episode.show] else { return nil }
        let fileExtension = FileName.fileExtension(of: episode.name)
        let isVideo = MediaType.isVideo(type: episode.type, fileExtension: fileExtension)
        let isPlayable = MediaType(type: episode.type, url: "file.\(fileExtension)").major != .other
        let file = root + [show.name, episode.name]
        let player = Markup.player(
            isVideo ? "video" : "audio", path: file, title: episode.title, duration: episode.duration,
            position: episode.position, isPlayed: episode.played)
        let length = episode.rest ?? episode.duration.map(TimeText.clock) ?? ""
        return """
            <li\(raw: episode.played ? " class=\"played\"" : "")><details><summary>\
            \(Markup.art(of: show, address: root + [show.name, "cover.jpg"]))\
            \(Markup.heading(episode.title, isPlayed: episode.played))\
            <span class="from" dir="auto">\(show.title)</span><span class="facts">\
            <span>\(day: episode.published, offset: episode.publishedOffset)</span><span>\(length)</span>\
            \(Markup.state(isComplete: episode.complete))</span>\
            \(Markup.listening(episode.position, of: episode.duration, isPlayed: episode.played))</summary>\
            <div class="inside">
            \(isPlayable ? player : nil)<p class="facts line">\
            <a href="\(path: root + [show.name, "index.html"])#e\(episode.id)" dir="auto">\(show.title)</a>\
            <a href="\(path: file)">File</a></p>
            </div></details></li>

            """
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
