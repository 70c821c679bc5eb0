package import PodcastFeed
package import PodcastLibrary

/// The page of a show, `index.html` in its folder: art, description, and for each episode a player, chapters and notes.
///
/// Works from `file:` and from any server, since all its links are relative and to files in the folder. Nothing from
/// the feed can run, load or send anything, and no media is loaded before it is played.
package struct ShowPage: Sendable {
    /// The limits of data from the library. Notes beyond them are linked: those of 10,000 episodes are 30 MB.
    package static let limits = SummaryLimits(
        notes: 32 << 10, notesInAll: 256 << 10, chapters: 200, chaptersInAll: 10_000)

    /// The number of episodes, newest first, that have a player from the start. A browser uses some 60 kB for each, and
    /// takes seconds for 10,000: the other episodes get a player when they are opened.
    static let playerLimit = 1_000

    /// The size of the cache of media types; a feed may contain any number of them.
    private static let playerKinds = 100
    /// The number of episodes above which the list has a filter.
    private static let filterLimit = 12
    /// The maximum number of bytes of a show's description.
    private static let descriptionLimit = 16 << 10

    private let show: Podcast
    var page = PageText()
    private var count = 0
    private var players: [Media: String?] = [:]

    /// - Parameters:
    ///   - newest: The publication time of the newest episode, in seconds since 1970.
    ///   - details: Further facts from the feed.
    package init(_ show: Podcast, newest: Int64?, details: ShowDetails? = nil) {
        self.show = show
        page.begin(title: show.title, kind: "show", policy: PageStyle.policyWithPlayers)
        page.add("<nav><a href=\"../index.html\">All shows</a></nav>\n<header class=\"head\">")
        page.art(of: show, address: "cover.jpg")
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
        if show.cached > 0 { page.add("<span>\(show.cached) cached</span>") }
        if let newest {
            page.add("<span>newest ")
            page.day(newest)
            page.add("</span>")
        }
        addLink(show.link, text: "Website")
        page.add("</p>")
        if let details { addDetails(details) }
        if let problem = show.problem {
            page.add("<p class=\"facts line bad\">")
            page.text(problem)
            page.add("</p>")
        }
        page.add("</div></header>\n<main>\n")
        if show.episodes > Self.filterLimit {
            page.add(
                "<p class=\"filter\" hidden><input type=\"search\" placeholder=\"Filter episodes\" "
                    + "aria-label=\"Filter episodes\"></p>\n")
        }
        page.add("<ol class=\"episodes\">\n")
    }

    /// Adds an episode; call in the order of the page.
    package mutating func add(_ episode: EpisodeSummary) {
        count += 1
        // The first one is open, to show what the others contain.
        page.add("<li><details\(count == 1 ? " open" : "")><summary><h2 dir=\"auto\">")
        page.text(episode.title)
        page.add("</h2><span class=\"facts\"><span>")
        if let published = episode.published { page.day(published, offset: episode.publishedOffset) }
        page.add("</span><span>")
        if let duration = episode.duration { page.add(TimeText.clock(duration)) }
        page.add("</span><span>")
        page.add(Self.size(episode))
        page.add("</span>")
        page.add(
            episode.complete
                ? "<span class=\"cached\" title=\"All of it is on this machine\">cached</span>"
                : "<span class=\"remote\" title=\"It is fetched when it is played\">remote</span>")
        page.add("</span></summary><div class=\"inside\">\n")
        addPlayer(of: episode)
        addChapters(of: episode)
        if let notes = episode.notes {
            let text = SanitizedHTML.text(of: notes, base: episode.link ?? show.link ?? RedactedURL.text(show.url))
            if !text.isEmpty {
                page.add("<div class=\"notes\" dir=\"auto\"\(LanguageTag.attribute(show.language))>\(text)</div>\n")
            }
        }
        if let details = episode.details { addDetails(details) }
        addLinks(of: episode)
        page.add("</div></details></li>\n")
    }

    /// Returns the complete page.
    package consuming func finish() -> [UInt8] {
        page.add("</ol>\n")
        if count == 0 { page.add("<p class=\"none\">No episodes.</p>\n") }
        page.add("</main>\n<script>\(PageStyle.retry)</script>\n<script>\(PageStyle.script)</script>\n")
        page.end()
        return page.bytes
    }

    // MARK: Parts

    private mutating func addDescription() {
        guard let description = show.description, !description.isEmpty else { return }
        let text = SanitizedHTML.text(
            of: FileName.cut(description, to: Self.descriptionLimit), base: show.link ?? RedactedURL.text(show.url))
        page.add("<div class=\"about\" dir=\"auto\"\(LanguageTag.attribute(show.language))>\(text)</div>")
    }

    private static func size(_ episode: EpisodeSummary) -> String {
        switch episode.sizeSource {
        case .server, .feed: ByteText.size(episode.size)
        case .estimate: "~\(ByteText.size(episode.size))"
        case .unknown: ""
        }
    }

    private mutating func addPlayer(of episode: EpisodeSummary) {
        guard let element = player(for: episode) else { return }
        if count > Self.playerLimit {
            page.add("<p><a data-player=\"\(element)\" href=\"")
            page.path(episode.name)
            page.add("\">Play</a></p>\n")
            return
        }
        page.add("<\(element) controls preload=\"none\" src=\"")
        page.path(episode.name)
        page.add("\">")
        if !episode.sidecars.isDisjoint(with: .anyVTT) {
            page.add("<track kind=\"captions\" label=\"Transcript\" src=\"")
            page.path(Self.sidecar(of: episode, "vtt"))
            page.add("\">")
        }
        page.add("</\(element)>\n")
    }

    /// The media type in the feed and the file's extension.
    private struct Media: Hashable {
        var type: String?
        var fileExtension: String
    }

    /// Returns the player element; `nil` for a book or a picture.
    private mutating func player(for episode: EpisodeSummary) -> String? {
        let media = Media(type: episode.type, fileExtension: FileName.fileExtension(of: episode.name))
        // A show usually has one or two types.
        if let known = players[media] { return known }
        let isOther = MediaType(type: media.type, url: "file.\(media.fileExtension)").major == .other
        let isVideo = MediaType.isVideo(type: media.type, fileExtension: media.fileExtension)
        let element = isOther ? nil : isVideo ? "video" : "audio"
        if players.count < Self.playerKinds { players[media] = .some(element) }
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

    /// Adds a link to an address without its secrets; nothing if the address is not allowed.
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
    /// Adds the show's art, which covers the first letter of its title; without art the letter is visible.
    mutating func art(of show: Podcast, address: String...) {
        add("<div class=\"art\"><span aria-hidden=\"true\">")
        text(show.title.first { $0.isLetter || $0.isNumber }.map { String($0).uppercased() } ?? "")
        add("</span>")
        if show.image != nil {
            add("<img src=\"")
            switch address.count {
            case 1: path(address[0])
            default: path(address[0], address[1])
            }
            add("\" alt=\"\" width=\"192\" height=\"192\" loading=\"lazy\" decoding=\"async\">")
        }
        add("</div>")
    }

    /// Returns a number with its noun: `1 episode`, `1,209 episodes`.
    func counted(_ count: Int, _ noun: String) -> String {
        count == 1 ? "1 \(noun)" : "\(WholeNumber.text(count)) \(noun)s"
    }
}

extension Podcast {
    /// A readable reason why the show's list may be outdated; `nil` if the last refresh succeeded.
    var problem: String? {
        switch state {
        case Podcast.gone: "The show has ended: its feed is gone."
        case Podcast.failed: "The feed could not be fetched: \(error ?? "no reason is known")."
        default: nil
        }
    }
}
