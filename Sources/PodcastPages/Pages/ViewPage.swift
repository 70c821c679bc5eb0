package import PodcastLibrary
package import PodcastProtocol

/// The page in the folder of a view: its episodes, each with a player.
package enum ViewPage {
    /// The maximum number of episodes on the page.
    private static let limit = 500
    /// The number of episodes to load. It is one more than `limit`, so that the page can show whether there are more
    /// than it lists.
    package static let loadLimit = limit + 1

    /// - Parameters:
    ///   - episodes: The episodes in the order of the page, up to `loadLimit`.
    ///   - views: The names of the folders of all views.
    package static func bytes(
        folder: String, _ episodes: [EpisodeSummary], shows: [ShowID: Podcast], views: [String] = []
    ) -> [UInt8] {
        let listed = episodes.prefix(limit)
        let count = "\(episodes.count > limit ? "the first " : "")\(listed.count.counted("episode"))"
        let rows = listed.compactMap { episode in shows[episode.podcast].map { row(of: episode, $0) } }
        let list: Markup =
            episodes.isEmpty
            ? """
            <p class="none">No episode matches this view. <code>podfs view list</code> shows its conditions.</p>

            """
            : """
            <div class="bar"><h2>Episodes</h2>\(Markup.filter)</div>
            <ol class="episodes">
            \(rows)</ol>

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

    private static func row(of episode: EpisodeSummary, _ show: Podcast) -> Markup {
        let file = ["..", show.name, episode.name]
        let player = episode.player.map { Markup.player($0, path: file, of: episode) }
        let length = episode.rest ?? episode.duration.map(TimeText.clock) ?? ""
        return """
            <li\(raw: episode.played ? " class=\"played\"" : "")><details><summary>\
            \(Markup.art(of: show, in: ["..", show.name]))\
            \(Markup.heading(episode))\
            <span class="from" dir="auto">\(show.title)</span><span class="facts">\
            <span>\(day: episode.published, offset: episode.publishedOffset)</span><span>\(length)</span>\
            \(Markup.state(isComplete: episode.complete))</span>\
            \(Markup.listening(episode))</summary>\
            <div class="inside">
            \(player)<p class="facts line">\
            <a href="\(path: "..", show.name, "index.html")#e\(episode.id)" dir="auto">\(show.title)</a>\
            <a href="\(path: file)">File</a></p>
            </div></details></li>

            """
    }
}

extension EpisodeSummary {
    /// The element that plays the episode, `audio` or `video`; `nil` for other media, such as a book or a picture.
    var player: String? {
        let fileExtension = FileName.fileExtension(of: name)
        if MediaType(type: type, url: "file.\(fileExtension)").major == .other { return nil }
        return MediaType.isVideo(type: type, fileExtension: fileExtension) ? "video" : "audio"
    }

    /// The remaining time of an episode in progress, such as `12:07 left`; `nil` for other episodes.
    var rest: String? {
        guard !played, let duration, let position, position >= ListeningRules.inProgress, duration > position else {
            return nil
        }
        return "\(TimeText.clock(duration - position)) left"
    }
}
