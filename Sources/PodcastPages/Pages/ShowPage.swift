internal import Platform
package import PodcastFeed
package import PodcastLibrary
internal import PodcastProtocol

/// The page of a show, `index.html` in its folder: art, description, and for each episode a player, chapters and notes.
///
/// Works from `file:` and from any server, since its links to files are relative. Nothing from the feed can run, load
/// or send anything, and no media is loaded before it is played.
package struct ShowPage: Sendable {
    /// The maximum number of episodes, newest first, with a row in the document. The document has only data for the
    /// other episodes, a tenth of the size of their rows, from which the page's script creates the rows. A browser
    /// would take seconds for 10,000 rows.
    static let rowLimit = 500
    /// The maximum size in bytes of all rows, and of the rows of few episodes on average.
    private static let rowBytes = (all: 1 << 20, each: 12 << 10)
    /// The size in bytes that suffices for everything before the rows, and for the first row.
    private static let headBytes = 96 << 10
    /// The size in bytes that suffices for the data of an episode, except for its name and title.
    private static let dataBytes = 80
    /// The maximum number of episodes, newest first, with a player in the document. A browser uses some 60 kB for each.
    static let playerLimit = 200

    /// The number of episodes above which the page has a field that filters them.
    private static let filterLimit = 12
    /// The maximum number of bytes of a show's description.
    private static let descriptionLimit = 16 << 10

    let show: Podcast
    private var page: Markup
    /// The number of added episodes.
    private var count = 0
    /// The season that the last heading announced.
    private var season: Int?
    /// The data of the episodes without a row.
    private var older: [OrderedJSON] = []
    /// The size in bytes that the document has at most after its last row.
    private let rowsEnd: Int

    /// Returns the size in bytes in which the page of a show fits: episodes whose rows would exceed it have only data
    /// in the document.
    package static func size(of show: ShowTotals) -> Int {
        headBytes + min(rowBytes.all, show.episodes * rowBytes.each) + sizeAfterRows(of: show)
    }

    /// Returns the size that suffices for everything after the rows, if all episodes are there.
    private static func sizeAfterRows(of show: ShowTotals) -> Int {
        PageStyle.script.utf8.count + 1_024 + show.episodes * dataBytes + show.bytes
    }

    /// - Parameters:
    ///   - newest: The publication time of the newest episode, in seconds since 1970.
    ///   - details: Further facts from the feed.
    ///   - notice: What to say about a feed that may never return.
    ///   - totals: The totals of all episodes that will be added; `nil` for a page of any size.
    ///   - views: The names of the views' folders.
    package init(
        _ show: Podcast, newest: Int64?, details: ShowDetails? = nil, notice: TroubleNotice? = nil,
        totals: ShowTotals? = nil, views: [String] = []
    ) {
        self.show = show
        rowsEnd = totals.map { Self.size(of: $0) - Self.sizeAfterRows(of: $0) } ?? Self.headBytes + Self.rowBytes.all
        page = Markup.beginning(title: show.title, kind: "show")
        page += Markup.navigation(current: nil, views: views, root: [".."])
        let author = show.author.flatMap { $0.isEmpty ? nil : "<p class=\"by\" dir=\"auto\">\($0)</p>" as Markup }
        let downloaded: Markup? =
            show.cached > 0 ? "<span>\(WholeNumber.text(show.cached)) downloaded</span>" : nil
        page += """
            <header class="head">\(Markup.art(of: show, in: []))<div><div class="name">\
            <h1 dir="auto"\(raw: show.languageAttribute)>\(show.title)</h1>\(author)</div>\(description)\
            <p class="facts line"><span>\(show.episodes.counted("episode"))</span>\(downloaded)\
            \(newest.map { "<span>newest \(day: $0)</span>" })\(link(show.link, text: "Website"))\
            <a href="playlist.m3u8">Playlist</a><a href=".feed.xml.txt">Feed document</a></p>\
            <label class="facts">Subscribe in another program\
            <input class="address" readonly value="\(show.visibleURL)"></label>\(details.map(facts))\
            \(show.problem.map { "<p class=\"facts line bad\">\($0)</p>" })\
            \(notice.map { "<p class=\"facts line bad\">\($0.text)</p>" })</div></header>
            <main>
            <div class="bar"><h2>Episodes</h2>\(show.episodes > Self.filterLimit ? Markup.filter : nil)</div>
            <ol class="episodes">

            """
    }

    /// Adds an episode; call in the order of the page.
    package mutating func add(_ episode: EpisodeSummary) {
        count += 1
        if older.isEmpty, count <= Self.rowLimit {
            let row = row(of: episode)
            if page.bytes.count + row.bytes.count <= rowsEnd { return page += row }
        }
        older.append(data(of: episode))
    }

    /// Returns the row of an episode, with a heading before it where a season begins.
    private mutating func row(of episode: EpisodeSummary) -> Markup {
        var heading: Markup?
        if let number = episode.season, number != season {
            season = number
            let name = episode.details?.seasonName.map { ": \($0)" as Markup }
            heading = "<li class=\"season\"><h2>Season \(number)\(name)</h2></li>\n"
        }
        let base = episode.link ?? show.link ?? WebAddress.redacted(show.url)
        let notes = episode.notes.map { SanitizedHTML.text(of: $0, base: base, headings: 4) } ?? ""
        // The script makes the times in the notes that are before the end lead there.
        let seconds = episode.duration.map { " data-seconds=\"\(WholeNumber.of($0))\"" as Markup }
        let notesPart: Markup = """
            <div class="notes" dir="auto"\(raw: show.languageAttribute)\(seconds)>\(raw: notes)</div>

            """
        let player = playerPart(of: episode)
        // The first row is open, to show what the others contain.
        return """
            \(heading)<li id="e\(episode.id)"\(raw: episode.played ? " class=\"played\"" : "")>\
            <details\(count == 1 ? " open" : "")><summary>\(Markup.heading(episode))\
            <span class="facts"><span>\(day: episode.published, offset: episode.publishedOffset)</span>\
            <span>\(episode.duration.map(TimeText.clock) ?? "")</span>\
            <span>\(Self.text(of: EpisodeSize(bytes: episode.size, source: episode.sizeSource)))</span>\
            \(Markup.state(isComplete: episode.complete))</span>\
            \(Markup.listening(episode))</summary>\
            <div class="inside">
            \(art(of: episode))\(player)\(Self.chapters(of: episode))\(notes.isEmpty ? nil : notesPart)\(episode.details.map(facts))\
            \(alternates(of: episode))\(links(of: episode))</div></details></li>

            """
    }

    /// Returns the complete page.
    package consuming func finish() -> [UInt8] {
        page += "</ol>\n"
        if !older.isEmpty {
            page += """
                <noscript><p class="none">\(older.count.counted("older episode")) are in the playlist and the folder.\
                </p></noscript>
                <button type="button" class="more" hidden>Show older episodes</button>

                """
            page += Markup.data(.array(older), id: "older")
        }
        if count == 0 { page += "<p class=\"none\">No episodes.</p>\n" }
        page += "</main>\n\(Markup.end)"
        return page.bytes
    }

    // MARK: Old episodes

    /// Returns the data of an episode for the script: id, file name, title (0 if the file name contains it), day,
    /// duration, size, and flags (1 cached, 2 played, 4 video, 8 no player, 16 notes, 32 art). If the episode is not
    /// played and its playback position is at least a second, the position follows.
    private func data(of episode: EpisodeSummary) -> OrderedJSON {
        let day = episode.published.flatMap { GregorianDay(seconds: $0, offset: episode.publishedOffset) }
        let stem = FileName.stem(ofFile: episode.name)
        let hasTitle = day.map { stem == "\($0) \(episode.title)" } ?? false
        let player = episode.player
        let facts: [(Bool, flag: Int64)] = [
            (episode.complete, 1), (episode.played, 2), (player == "video", 4), (player == nil, 8),
            (episode.sidecars.contains(.notes), 16), (episode.sidecars.contains(.art), 32),
        ]
        let flags = facts.reduce(0) { $1.0 ? $0 | $1.flag : $0 }
        var values: [OrderedJSON] = [
            .int(episode.id.rawValue), .string(episode.name), hasTitle ? .int(0) : .string(episode.title),
            .string(day?.inWords ?? ""), .string(episode.duration.map(TimeText.clock) ?? ""),
            .string(Self.text(of: EpisodeSize(bytes: episode.size, source: episode.sizeSource))), .int(flags),
        ]
        if let position = episode.position, position >= 1, !episode.played {
            values.append(.int(WholeNumber.of(position)))
        }
        return .array(values)
    }

    // MARK: Parts

    private var description: Markup? {
        guard let description = show.description, !description.isEmpty else { return nil }
        let text = SanitizedHTML.text(
            of: FileName.cut(description, to: Self.descriptionLimit), base: show.link ?? WebAddress.redacted(show.url))
        let language = show.languageAttribute
        return "<div class=\"about\" dir=\"auto\"\(raw: language)>\(raw: text)</div>"
    }

    /// Returns a size for people, with a tilde if it is estimated; empty if it is unknown.
    static func text(of size: EpisodeSize) -> String {
        switch size.source {
        case .server, .feed: ByteText.size(size.bytes)
        case .estimate: "~\(ByteText.size(size.bytes))"
        case .unknown: ""
        }
    }

    private func playerPart(of episode: EpisodeSummary) -> Markup? {
        guard let element = episode.player else { return nil }
        if count > Self.playerLimit { return Markup.player(element, path: [episode.name], of: episode) }
        let transcript: Markup = """
            <track kind="captions" label="Transcript" src="\(path: Self.sidecar(of: episode, "vtt"))">
            """
        // The browser's player shows 0:00 until the media is loaded.
        let length = episode.duration.map { "<span class=\"length\">\(TimeText.clock($0))</span>" as Markup }
        return """
            <div class="player"><\(element) controls preload="none" src="\(path: episode.name)"\(Markup.start(of: episode)) \
            aria-label="\(episode.title)">\(episode.sidecars.isDisjoint(with: .anyVTT) ? nil : transcript)\
            </\(element)>\(length)</div>

            """
    }

    /// Returns the episode's own art, which a browser loads when the row is opened.
    private func art(of episode: EpisodeSummary) -> Markup? {
        if !episode.sidecars.contains(.art) { return nil }
        return """
            <img class="own" src="\(path: Self.sidecar(of: episode, "jpg"))" alt="" width="192" height="192" \
            loading="lazy" decoding="async">

            """
    }

    private static func chapters(of episode: EpisodeSummary) -> Markup? {
        if episode.chapters.isEmpty { return nil }
        let buttons = episode.chapters.filter { $0.start.isFinite && $0.start >= 0 }.map {
            button(at: $0.start, text: $0.title ?? "")
        }
        return "<ol class=\"chapters\">\(buttons)</ol>\n"
    }

    /// Returns a button that plays the episode from this position.
    static func button(at start: Double, text: String) -> Markup {
        """
        <li><button type="button" data-start="\(start)"><span>\(TimeText.clock(start))</span>\
        <span dir="auto">\(text)</span></button></li>
        """
    }

    private func links(of episode: EpisodeSummary) -> Markup {
        let hasNotes = episode.notes == nil && episode.sidecars.contains(.notes)
        let hasChapters = episode.chapters.isEmpty && episode.sidecars.contains(.chapters)
        let files: [(isThere: Bool, path: [String], name: String)] = [
            (hasNotes, [".notes", Self.sidecar(of: episode, "html")], "Notes"),
            (hasChapters, [".chapters", Self.sidecar(of: episode, "json")], "Chapters"),
            (!episode.sidecars.isDisjoint(with: .anyVTT), [Self.sidecar(of: episode, "vtt")], "Transcript"),
            (true, [episode.name], "File"),
        ]
        return """
            <p class="facts line">\(files.filter(\.isThere).map { "<a href=\"\(path: $0.path)\">\($0.name)</a>" })\
            \(link(episode.link, text: "Web page"))</p>

            """
    }

    private static func sidecar(of episode: EpisodeSummary, _ fileExtension: String) -> String {
        "\(FileName.stem(ofFile: episode.name)).\(fileExtension)"
    }

    /// Returns a link to an address, from which secrets are removed; `nil` if `SanitizedHTML` does not allow it.
    func link(_ link: String?, text: String) -> Markup? {
        link.flatMap(SanitizedHTML.allowedAddress).map {
            "<a href=\"\(show.visible($0))\" rel=\"noopener noreferrer nofollow\">\(text)</a>"
        }
    }
}

extension Podcast {
    /// A sentence for the page that says why the list of episodes may be outdated; `nil` if the last refresh succeeded.
    var problem: String? {
        switch state {
        case Podcast.gone: "The show has ended: its feed is gone."
        case Podcast.failed: "The feed could not be fetched: \(error ?? "no reason is known")."
        default: nil
        }
    }
}
