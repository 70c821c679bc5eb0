internal import Platform
package import PodcastFeed
package import PodcastLibrary
internal import PodcastProtocol
internal import Transfers

/// The page of a show, `index.html` in its folder: art, description, and for each episode a player, chapters and notes.
///
/// Works from `file:` and from any server, since its links to files are relative. Nothing from the feed can run, load
/// or send anything, and no media is loaded before it is played.
package struct ShowPage: Sendable {
    /// The limits of the data that the library returns for the page. Notes beyond the limits are replaced by links,
    /// since all notes of 10,000 episodes would be 30 MB.
    package static let limits = SummaryLimits(
        notes: 32 << 10, notesInAll: 256 << 10, chapters: 200, chaptersInAll: 3_000,
        alternates: 20, alternatesInAll: 3_000)

    /// The maximum number of episodes, newest first, with a row in the document. The document has only data for the
    /// other episodes, a tenth of the size of their rows, from which the page's script creates the rows. A browser
    /// would take seconds for 10,000 rows.
    static let rowLimit = 500
    /// The maximum size in bytes of all rows, and of the rows of few episodes on average.
    private static let rowBytes = (all: 1 << 20, each: 12 << 10)
    /// The size in bytes that suffices for everything before the rows, and for the first row.
    private static let headBytes = 96 << 10
    /// The size in bytes that suffices for the data of an episode, except for its name and title.
    private static let dataBytes = 112
    /// The maximum number of episodes, newest first, with a player in the document. A browser uses some 60 kB for each.
    static let playerLimit = 200

    /// The maximum number of entries in `players`, since a feed may contain any number of media types.
    private static let playerCacheLimit = 100
    /// The number of episodes above which the page has a field that filters them.
    private static let filterLimit = 12
    /// The maximum number of bytes of a show's description.
    private static let descriptionLimit = 16 << 10

    private let show: Podcast
    var page = PageText()
    /// The number of added episodes.
    private var count = 0
    /// The name of the HTML element that plays each kind of media found so far; `nil` for media without a player.
    private var players: [Media: String?] = [:]
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
    ///   - totals: The totals of all episodes that will be added; `nil` for a page of any size.
    package init(_ show: Podcast, newest: Int64?, details: ShowDetails? = nil, totals: ShowTotals? = nil) {
        self.show = show
        rowsEnd = totals.map { Self.size(of: $0) - Self.sizeAfterRows(of: $0) } ?? Self.headBytes + Self.rowBytes.all
        page.begin(title: show.title, kind: "show")
        page.navigation(current: nil, root: "../")
        page.add("<header class=\"head\">")
        page.art(of: show, address: ["cover.jpg"])
        page.add("<div><div class=\"name\"><h1 dir=\"auto\"\(LanguageTag.attribute(show.language))>")
        page.text(show.title)
        page.add("</h1>")
        if let author = show.author, !author.isEmpty {
            page.add("<p class=\"by\" dir=\"auto\">")
            page.text(author)
            page.add("</p>")
        }
        page.add("</div>")
        addDescription()
        page.add("<p class=\"facts line\"><span>\(page.counted(show.episodes, "episode"))</span>")
        if show.cached > 0 { page.add("<span>\(WholeNumber.text(show.cached)) downloaded</span>") }
        if let newest {
            page.add("<span>newest ")
            page.day(newest)
            page.add("</span>")
        }
        addLink(show.link, text: "Website")
        page.add("<a href=\"playlist.m3u8\">Playlist</a><a href=\".feed.xml.txt\">Feed document</a></p>")
        addAddress()
        if let details { addDetails(details) }
        if let problem = show.problem {
            page.add("<p class=\"facts line bad\">")
            page.text(problem)
            page.add("</p>")
        }
        page.add("</div></header>\n<main>\n<div class=\"bar\"><h2>Episodes</h2>")
        if show.episodes > Self.filterLimit {
            page.add(
                "<p class=\"filter\" hidden><input type=\"search\" placeholder=\"Filter episodes\" "
                    + "aria-label=\"Filter episodes\"></p>")
        }
        page.add("</div>\n<ol class=\"episodes\">\n")
    }

    /// Adds an episode; call in the order of the page.
    package mutating func add(_ episode: EpisodeSummary) {
        count += 1
        let start = page.bytes.count
        if older.isEmpty, count <= Self.rowLimit { addRow(of: episode) }
        if page.bytes.count > rowsEnd { page.remove(from: start) }
        if page.bytes.count == start { older.append(data(of: episode)) }
    }

    private mutating func addRow(of episode: EpisodeSummary) {
        addSeason(of: episode)
        // The first row is open, to show what the others contain.
        page.add("<li id=\"e\(episode.id)\"\(episode.played ? " class=\"played\"" : "")>")
        page.add("<details\(count == 1 ? " open" : "")><summary>")
        page.heading("h3", episode.title, isPlayed: episode.played)
        page.add("<span class=\"facts\"><span>")
        if let published = episode.published { page.day(published, offset: episode.publishedOffset) }
        page.add("</span><span>")
        if let duration = episode.duration { page.add(TimeText.clock(duration)) }
        page.add("</span><span>")
        page.add(Self.text(of: EpisodeSize(bytes: episode.size, source: episode.sizeSource)))
        page.add("</span>")
        page.state(isComplete: episode.complete)
        page.add("</span>")
        page.addListening(episode.position, of: episode.duration, isPlayed: episode.played)
        page.add("</summary><div class=\"inside\">\n")
        addPlayer(of: episode)
        addChapters(of: episode)
        if let notes = episode.notes {
            let text = SanitizedHTML.text(of: notes, base: episode.link ?? show.link ?? WebAddress.redacted(show.url))
            if !text.isEmpty {
                page.add("<div class=\"notes\" dir=\"auto\"\(LanguageTag.attribute(show.language))>")
                page.add("\(SanitizedHTML.headings(text, level: 4))</div>\n")
            }
        }
        if let details = episode.details { addDetails(details) }
        addAlternates(of: episode)
        addLinks(of: episode)
        page.add("</div></details></li>\n")
    }

    /// Returns the complete page.
    package consuming func finish() -> [UInt8] {
        page.add("</ol>\n")
        if !older.isEmpty {
            let more = "Show older episodes"
            page.add("<noscript><p class=\"none\">\(page.counted(older.count, "older episode")) are in the playlist ")
            page.add("and the folder.</p></noscript>\n<button type=\"button\" class=\"more\" hidden>\(more)</button>\n")
            page.data(.array(older), id: "older")
        }
        if count == 0 { page.add("<p class=\"none\">No episodes.</p>\n") }
        page.add("</main>\n")
        page.finish()
        return page.bytes
    }

    // MARK: Old episodes

    /// Returns the data of an episode for the script: id, file name, title (0 if the file name contains it), day,
    /// duration, size, and flags (1 cached, 2 played, 4 video, 8 no player, 16 notes). If the episode is not played and
    /// its playback position is at least a second, the position follows.
    private mutating func data(of episode: EpisodeSummary) -> OrderedJSON {
        let day = episode.published.flatMap { GregorianDay(seconds: $0, offset: episode.publishedOffset) }
        let stem = FileName.stem(ofFile: episode.name)
        let hasTitle = day.map { stem == "\($0) \(episode.title)" } ?? false
        var flags: Int64 = 0
        if episode.complete { flags |= 1 }
        if episode.played { flags |= 2 }
        switch player(for: episode) {
        case "video": flags |= 4
        case nil: flags |= 8
        default: break
        }
        if episode.sidecars.contains(.notes) { flags |= 16 }
        var values: [OrderedJSON] = [
            .int(episode.id.rawValue), .string(episode.name), hasTitle ? .int(0) : .string(episode.title),
            .string(day.map(DayText.text) ?? ""), .string(episode.duration.map(TimeText.clock) ?? ""),
            .string(Self.text(of: EpisodeSize(bytes: episode.size, source: episode.sizeSource))), .int(flags),
        ]
        if let position = episode.position, position >= 1, !episode.played {
            values.append(.int(WholeNumber.of(position)))
        }
        return .array(values)
    }

    // MARK: Parts

    private mutating func addDescription() {
        guard let description = show.description, !description.isEmpty else { return }
        let text = SanitizedHTML.text(
            of: FileName.cut(description, to: Self.descriptionLimit), base: show.link ?? WebAddress.redacted(show.url))
        page.add("<div class=\"about\" dir=\"auto\"\(LanguageTag.attribute(show.language))>\(text)</div>")
    }

    /// Returns a size for people, with a tilde if it is estimated; empty if it is unknown.
    static func text(of size: EpisodeSize) -> String {
        switch size.source {
        case .server, .feed: ByteText.size(size.bytes)
        case .estimate: "~\(ByteText.size(size.bytes))"
        case .unknown: ""
        }
    }

    private mutating func addPlayer(of episode: EpisodeSummary) {
        guard let element = player(for: episode) else { return }
        let length = episode.duration.map(TimeText.clock)
        let position = episode.position.flatMap { $0 >= 1 && !episode.played ? WholeNumber.of($0) : nil }
        let at = position.map { " data-at=\"\($0)\"" } ?? ""
        if count > Self.playerLimit {
            page.add("<p><a data-player=\"\(element)\"\(at)\(length.map { " data-length=\"\($0)\"" } ?? "") href=\"")
            page.path(episode.name)
            page.add("\" aria-label=\"")
            page.text(episode.title)
            page.add("\">Play</a></p>\n")
            return
        }
        page.add("<div class=\"player\"><\(element) controls preload=\"none\" src=\"")
        page.path(episode.name)
        page.add("\"\(at) aria-label=\"")
        page.text(episode.title)
        page.add("\">")
        if !episode.sidecars.isDisjoint(with: .anyVTT) {
            page.add("<track kind=\"captions\" label=\"Transcript\" src=\"")
            page.path(Self.sidecar(of: episode, "vtt"))
            page.add("\">")
        }
        page.add("</\(element)>")
        // The browser's player shows 0:00 until the media is loaded.
        if let length { page.add("<span class=\"length\">\(length)</span>") }
        page.add("</div>\n")
    }

    /// Adds a heading where a season begins.
    private mutating func addSeason(of episode: EpisodeSummary) {
        guard let number = episode.season, number != season else { return }
        season = number
        page.add("<li class=\"season\"><h2>Season \(number)")
        if let name = episode.details?.seasonName {
            page.add(": ")
            page.text(name)
        }
        page.add("</h2></li>\n")
    }

    /// Adds the address with which other programs subscribe to the show.
    private mutating func addAddress() {
        page.add("<label class=\"facts\">Subscribe in another program<input class=\"address\" readonly value=\"")
        page.text(show.visibleURL)
        page.add("\"></label>")
    }

    /// The media type in the feed and the file's extension.
    private struct Media: Hashable {
        var type: String?
        var fileExtension: String
    }

    /// Returns the player element, `audio` or `video`; `nil` for other media, such as a book or a picture.
    private mutating func player(for episode: EpisodeSummary) -> String? {
        let media = Media(type: episode.type, fileExtension: FileName.fileExtension(of: episode.name))
        // A show usually has one or two types.
        if let known = players[media] { return known }
        let isOther = MediaType(type: media.type, url: "file.\(media.fileExtension)").major == .other
        let isVideo = MediaType.isVideo(type: media.type, fileExtension: media.fileExtension)
        let element = isOther ? nil : isVideo ? "video" : "audio"
        if players.count < Self.playerCacheLimit { players[media] = .some(element) }
        return element
    }

    private mutating func addChapters(of episode: EpisodeSummary) {
        guard !episode.chapters.isEmpty else { return }
        page.add("<ol class=\"chapters\">")
        for chapter in episode.chapters where chapter.start.isFinite && chapter.start >= 0 {
            page.add("<li><button type=\"button\" data-start=\"\(chapter.start)\">")
            page.add("<span>\(TimeText.clock(chapter.start))</span><span dir=\"auto\">")
            page.text(chapter.title ?? "")
            page.add("</span></button></li>")
        }
        page.add("</ol>\n")
    }

    private mutating func addLinks(of episode: EpisodeSummary) {
        page.add("<p class=\"facts line\">")
        if episode.notes == nil, episode.sidecars.contains(.notes) {
            addFile(".notes", Self.sidecar(of: episode, "html"), text: "Notes")
        }
        if episode.chapters.isEmpty, episode.sidecars.contains(.chapters) {
            addFile(".chapters", Self.sidecar(of: episode, "json"), text: "Chapters")
        }
        if !episode.sidecars.isDisjoint(with: .anyVTT) {
            addFile(nil, Self.sidecar(of: episode, "vtt"), text: "Transcript")
        }
        addFile(nil, episode.name, text: "File")
        addLink(episode.link, text: "Web page")
        page.add("</p>\n")
    }

    private static func sidecar(of episode: EpisodeSummary, _ fileExtension: String) -> String {
        "\(FileName.stem(ofFile: episode.name)).\(fileExtension)"
    }

    private mutating func addFile(_ folder: String?, _ name: String, text: String) {
        page.add("<a href=\"")
        if let folder { page.path(folder, name) } else { page.path(name) }
        page.add("\">\(text)</a>")
    }

    /// Adds a link to an address, from which secrets are removed. Adds nothing if `SanitizedHTML` does not allow it.
    mutating func addLink(_ link: String?, text: String) {
        guard let address = link.flatMap(SanitizedHTML.allowedAddress) else { return }
        page.add("<a href=\"")
        page.text(show.visible(address))
        page.add("\" rel=\"noopener noreferrer nofollow\">")
        page.text(text)
        page.add("</a>")
    }
}

extension PageText {
    /// Adds the show's art over the initial of its title. The initial is visible until the art is loaded, or always if
    /// the show has no art. The initial's background is one of twelve colors, which depends on the title.
    mutating func art(of show: Podcast, address: [String]) {
        let tint = show.title.unicodeScalars.reduce(UInt32(7)) { ($0 &* 31) &+ $1.value } % 12
        add("<span class=\"art tint t\(tint)\"><span aria-hidden=\"true\">")
        text(show.title.first { $0.isLetter || $0.isNumber }.map { String($0).uppercased() } ?? "")
        add("</span>")
        if show.image != nil {
            add("<img src=\"")
            path(address)
            add("\" alt=\"\" width=\"192\" height=\"192\" loading=\"lazy\" decoding=\"async\">")
        }
        add("</span>")
    }

    /// Returns a number with its noun: `1 episode`, `1,209 episodes`.
    func counted(_ count: Int, _ noun: String) -> String {
        count == 1 ? "1 \(noun)" : "\(WholeNumber.text(count)) \(noun)s"
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
