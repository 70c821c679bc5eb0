internal import Platform
package import PodcastLibrary
package import PodcastProtocol
internal import Transfers

/// The page in the folder of a view: its episodes, each with a player.
package struct ViewPage: Sendable {
    private let folder: String
    private let episodes: ArraySlice<EpisodeSummary>
    /// Whether there are more episodes than the page lists.
    private let isCut: Bool
    private let shows: [ShowID: Podcast]
    private let views: [String]

    /// The maximum number of episodes on the page.
    private static let limit = 500
    /// The number of episodes to load. It is one more than `limit`, so that the page can show whether there are more
    /// than it lists.
    package static let loadLimit = limit + 1

    /// - Parameters:
    ///   - episodes: The episodes in the order of the page, up to `loadLimit`.
    ///   - views: The names of the folders of all views.
    package init(folder: String, _ episodes: [EpisodeSummary], shows: [ShowID: Podcast], views: [String] = []) {
        self.folder = folder
        self.episodes = episodes.prefix(Self.limit)
        isCut = episodes.count > Self.limit
        self.shows = shows
        self.views = views
    }

    package var bytes: [UInt8] {
        let count = "\(isCut ? "the first " : "")\(episodes.count.counted("episode"))"
        let list: Markup =
            episodes.isEmpty
            ? """
            <p class="none">No episode matches this view. <code>podfs view list</code> shows its conditions.</p>

            """
            : """
            <div class="bar"><h2>Episodes</h2>\(Markup.filter)</div>
            <ol class="episodes">
            \(episodes.compactMap(row))</ol>

            """
        let page: Markup = """
            \(Markup.beginning(title: "\(folder) – podfs", kind: "view"))\
            \(Markup.navigation(current: [folder, Shelf.viewFile], views: views, root: [".."]))\
            <header><h1 dir="auto">\(folder)</h1><p class="facts line"><span>\(count)</span></p></header>
            <main>
            \(list)</main>
            \(Markup.end)
            """
        return page.bytes
    }

    private func row(of episode: EpisodeSummary) -> Markup? {
        guard let show = shows[episode.podcast] else { return nil }
        let fileExtension = FileName.fileExtension(of: episode.name)
        let isVideo = MediaType.isVideo(type: episode.type, fileExtension: fileExtension)
        let isPlayable = MediaType(type: episode.type, url: "file.\(fileExtension)").major != .other
        let file = ["..", show.name, episode.name]
        let player = Markup.player(
            isVideo ? "video" : "audio", path: file, title: episode.title, duration: episode.duration,
            position: episode.position, isPlayed: episode.played)
        let length = episode.rest ?? episode.duration.map(TimeText.clock) ?? ""
        return """
            <li\(raw: episode.played ? " class=\"played\"" : "")><details><summary>\
            \(Markup.art(of: show, in: ["..", show.name]))\
            \(Markup.heading(episode.title, isPlayed: episode.played))\
            <span class="from" dir="auto">\(show.title)</span><span class="facts">\
            <span>\(day: episode.published, offset: episode.publishedOffset)</span><span>\(length)</span>\
            \(Markup.state(isComplete: episode.complete))</span>\
            \(Markup.listening(episode.position, of: episode.duration, isPlayed: episode.played))</summary>\
            <div class="inside">
            \(isPlayable ? player : nil)<p class="facts line">\
            <a href="\(path: "..", show.name, "index.html")#e\(episode.id)" dir="auto">\(show.title)</a>\
            <a href="\(path: file)">File</a></p>
            </div></details></li>

            """
    }
}

extension EpisodeSummary {
    /// The remaining time of an episode in progress, such as `12:07 left`; `nil` for other episodes.
    var rest: String? {
        guard !played, let duration, let position, position >= ListeningRules.inProgress, duration > position else {
            return nil
        }
        return "\(TimeText.clock(duration - position)) left"
    }
}
