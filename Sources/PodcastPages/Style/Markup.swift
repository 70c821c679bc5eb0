internal import Platform
internal import PodcastFeed
internal import PodcastLibrary
internal import PodcastProtocol

/// HTML. A literal is markup, and every interpolated value is text that is escaped, unless it is `Markup` itself.
struct Markup: ExpressibleByStringInterpolation, Sendable {
    private(set) var bytes: [UInt8]

    init(stringLiteral markup: String) { bytes = Array(markup.utf8) }

    init(stringInterpolation: StringInterpolation) { bytes = stringInterpolation.bytes }

    static func += (whole: inout Markup, part: Markup) { whole.bytes += part.bytes }

    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var bytes: [UInt8] = []

        init(literalCapacity: Int, interpolationCount: Int) { bytes.reserveCapacity(2 * literalCapacity) }

        mutating func appendLiteral(_ markup: String) { bytes += markup.utf8 }

        /// Appends untrusted text, for elements and for attributes in double quotes: on one line, without control
        /// characters, and without characters that override the text direction.
        mutating func appendInterpolation(_ text: some CustomStringConvertible) {
            SanitizedHTML.escape(PlainText.spaced(text.description).utf8, into: &bytes)
        }

        mutating func appendInterpolation(_ markup: Markup?) { if let markup { bytes += markup.bytes } }

        mutating func appendInterpolation(_ parts: [Markup]) { for part in parts { bytes += part.bytes } }

        /// Appends markup unchanged: a constant of this program, or sanitized.
        mutating func appendInterpolation(raw markup: String) { bytes += markup.utf8 }

        /// Appends the relative address of a file, for an attribute. Each name is percent-encoded except for the
        /// unreserved characters (RFC 3986, 2.3), which include the dots of `..`.
        mutating func appendInterpolation(path names: String...) { appendInterpolation(path: names) }

        mutating func appendInterpolation(path names: [String]) {
            for (index, name) in names.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: "/")) }
                name.appendPercentEncoded(to: &bytes)
            }
        }

        /// Appends a `<time>` with the day in the feed's time zone; nothing without a time, or for one outside the
        /// calendar's range.
        mutating func appendInterpolation(day seconds: Int64?, offset: Int = 0) {
            guard let day = seconds.flatMap({ GregorianDay(seconds: $0, offset: offset) }) else { return }
            appendInterpolation("<time datetime=\"\(day)\">\(day.inWords)</time>" as Markup)
        }
    }

    // MARK: The document

    /// Returns everything up to the opening tag of `body`.
    ///
    /// - Parameters:
    ///   - kind: The class of the body.
    ///   - language: The `lang` attribute of the document, preceded by a space; empty for none.
    static func beginning(title: String, kind: String, language: String = " lang=\"en\"") -> Markup {
        """
        <!DOCTYPE html>
        <html\(raw: language)>
        <head>
        <meta charset="utf-8">
        <meta http-equiv="Content-Security-Policy" content="\(raw: PageStyle.policy)">
        <meta name="referrer" content="no-referrer">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>\(title)</title>
        <style>\(raw: PageStyle.sheet)</style>
        </head>
        <body class="\(kind)">

        """
    }

    /// The script and the end of the document.
    static var end: Markup { "<script>\(raw: PageStyle.script)</script>\n</body>\n</html>\n" }

    /// Returns data for the script, in an element that the browser does not run because of its type.
    static func data(_ value: OrderedJSON, id: String) -> Markup {
        // In JSON, `<` and controls occur only inside strings, so replacing them leaves the document valid.
        let text = PlainText.spaced(String(decoding: value.encoded(pretty: false), as: UTF8.self))
        return """
            <script type="application/json" id="\(id)">\(raw: text.replacingScalars("<", with: "\\u003c"))</script>

            """
    }

    /// The maximum number of views in the navigation of a page outside the root.
    private static let viewLimit = 30

    /// Returns the links to the page of all shows, to the pages of the views, and to the page of the transfers.
    ///
    /// - Parameters:
    ///   - current: The path of this page below the mount's root; `nil` if there is no link to it.
    ///   - views: The names of the views' folders. The page of all shows links all of them.
    ///   - root: The path from the page's folder to the root.
    static func navigation(current: [String]?, views: [String], root: [String] = []) -> Markup {
        let views = views.prefix(root.isEmpty ? .max : viewLimit).map { ([$0, Shelf.viewFile], $0) }
        let pages = [(["index.html"], "Shows")] + views + [([".status.html"], "Transfers")]
        let links = pages.map { path, title -> Markup in
            let mark = path == current ? " aria-current=\"page\"" : ""
            return "<a dir=\"auto\" href=\"\(path: root + path)\"\(raw: mark)>\(title)</a>"
        }
        return "<nav aria-label=\"Pages\">\(links)</nav>\n"
    }

    // MARK: Parts

    /// Returns the show's cover over the initial of its title. A cover that is not in the cache is left out, because a
    /// browser reads the images of a page one after another, and all would wait for its server. The script reloads the
    /// page until the covers that are about to be fetched are there. The initial's background is one of twelve colors,
    /// which depends on the title.
    ///
    /// - Parameter folder: The relative address of the show's folder.
    static func art(of show: Podcast, in folder: [String]) -> Markup {
        let tint = show.title.unicodeScalars.reduce(UInt32(7)) { ($0 &* 31) &+ $1.value } % 12
        let initial = show.title.first { $0.isLetter || $0.isNumber }.map { String($0).uppercased() } ?? ""
        let image = show.cover.flatMap { _ in show.coverName }.map { name -> Markup in
            """
            <img src="\(path: folder + [name])" alt="" width="192" height="192" loading="lazy" decoding="async">
            """
        }
        let isDue = show.isCoverDue(at: WallTime.now.seconds)
        return """
            <span class="art tint t\(tint)"\(raw: isDue ? " data-due" : "")>\
            <span aria-hidden="true">\(initial)</span>\(image)</span>
            """
    }

    /// Returns the title of an episode as a heading, with a mark if it was played.
    static func heading(_ episode: EpisodeSummary) -> Markup {
        let mark: Markup = " <span class=\"mark\" aria-hidden=\"true\">✓</span><span class=\"hidden\"> played</span>"
        return "<h3 dir=\"auto\">\(episode.title)\(episode.played ? mark : nil)</h3>"
    }

    /// Returns the label `downloaded` or `not downloaded`.
    static func state(isComplete: Bool) -> Markup {
        isComplete
            ? "<span class=\"cached\" title=\"The whole file is on this computer\">downloaded</span>"
            : "<span class=\"remote\" title=\"The file is fetched when it is played\">not downloaded</span>"
    }

    /// Returns a bar with the playback position of an episode in progress; `nil` for other episodes.
    static func listening(_ episode: EpisodeSummary) -> Markup? {
        guard !episode.played, let position = episode.position, let duration = episode.duration,
            position >= ListeningRules.inProgress, duration > 0, position.isFinite, duration.isFinite
        else { return nil }
        let part = Int(min(100, position / duration * 100))
        let text = "\(TimeText.clock(position)) of \(TimeText.clock(duration)) played"
        return "<progress max=\"100\" value=\"\(part)\" aria-label=\"\(text)\" title=\"\(text)\"></progress>"
    }

    /// Returns a link that the script replaces by a player.
    static func player(_ element: String, path: [String], of episode: EpisodeSummary) -> Markup {
        let length = episode.duration.map { " data-length=\"\(TimeText.clock($0))\"" as Markup }
        return """
            <p><a data-player="\(element)"\(length)\(start(of: episode)) href="\(path: path)" \
            aria-label="\(episode.title)">Play</a></p>

            """
    }

    /// Returns the attribute with the position at which a player starts; `nil` for the beginning.
    static func start(of episode: EpisodeSummary) -> Markup? {
        guard let position = episode.position, position >= 1, !episode.played else { return nil }
        return " data-at=\"\(WholeNumber.of(position))\""
    }

    /// The field that filters a list of episodes.
    static let filter: Markup = """
        <p class="filter" hidden><input type="search" placeholder="Filter episodes" aria-label="Filter episodes"></p>
        """
}

extension Int {
    /// Returns the number with a noun: `1 episode`, `1,209 episodes`.
    func counted(_ noun: String) -> String { self == 1 ? "1 \(noun)" : "\(WholeNumber.text(self)) \(noun)s" }
}

extension GregorianDay {
    /// The day in English: `20 Nov 2026`.
    var inWords: String {
        let (year, month, dayOfMonth) = components
        return "\(dayOfMonth) \(Self.monthNames[month - 1]) \(Self.padded(year, 4))"
    }
}

extension Podcast {
    /// ` lang="de"` if the feed's language has only letters, digits and hyphens, as RFC 5646 requires, and at most 35
    /// of them; otherwise an empty string.
    var languageAttribute: String {
        guard let language, language.wholeMatch(of: /[A-Za-z0-9\-]{1,35}/) != nil else { return "" }
        return " lang=\"\(language)\""
    }
}
