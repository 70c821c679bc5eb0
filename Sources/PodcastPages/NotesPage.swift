package import PodcastLibrary

/// An episode's show notes as a complete HTML document.
///
/// The notes are sanitized. In addition, the document's Content Security Policy forbids the browser to run scripts,
/// load resources or submit forms.
package struct NotesPage: Sendable {
    private let episode: Episode
    private let notes: String
    private let show: Podcast

    /// - Parameter notes: The notes as in the feed, not sanitized.
    package init(_ episode: Episode, notes: String, show: Podcast) {
        self.episode = episode
        self.notes = notes
        self.show = show
    }

    /// The Content Security Policy. `base-uri` and `form-action` are set separately because `default-src` does not
    /// cover them (CSP Level 3, 6.3).
    private static let policy =
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

    private static let style =
        "body{font:1rem/1.5 sans-serif;max-width:42rem;margin:2rem auto;padding:0 1rem;overflow-wrap:break-word}"
        + "table{border-collapse:collapse}td,th{border:1px solid;padding:.2em .5em}pre{white-space:pre-wrap}"

    package var bytes: [UInt8] {
        let title = SanitizedHTML.escaped(PlainText.oneLine(episode.title))
        var facts = [SanitizedHTML.escaped(PlainText.oneLine(show.title))]
        if let published = episode.published { facts.append(String(TimeText.iso8601(published).prefix(10))) }
        if let duration = episode.duration { facts.append(TimeText.duration(duration)) }
        let language = LanguageTag.attribute(show.language)
        var lines = ["<!DOCTYPE html>", "<html\(language)>", "<head>", "<meta charset=\"utf-8\">"]
        lines.append("<meta http-equiv=\"Content-Security-Policy\" content=\"\(Self.policy)\">")
        lines.append("<meta name=\"referrer\" content=\"no-referrer\">")
        lines.append("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">")
        lines += ["<title>\(title)</title>", "<style>\(Self.style)</style>", "</head>", "<body>"]
        lines += ["<h1>\(title)</h1>", "<p>\(facts.joined(separator: " · "))</p>"]
        lines += [
            "<div>", SanitizedHTML.text(of: notes, base: episode.link ?? show.link ?? RedactedURL.text(show.url)),
            "</div>",
        ]
        if let link = episode.link.flatMap(SanitizedHTML.allowedAddress) {
            let address = SanitizedHTML.escaped(RedactedURL.text(link))
            lines.append("<p><a href=\"\(address)\" rel=\"noopener noreferrer nofollow\">\(address)</a></p>")
        }
        lines += ["</body>", "</html>", ""]
        return Array(lines.joined(separator: "\n").utf8)
    }
}
