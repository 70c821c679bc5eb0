internal import Platform
package import PodcastLibrary

/// An episode's show notes as a complete HTML document.
///
/// The notes are sanitized. In addition, the document's Content Security Policy forbids the browser to run their
/// scripts, to load resources from the web or to submit forms.
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

    package var bytes: [UInt8] {
        let language = LanguageTag.attribute(show.language)
        var page = PageText()
        page.begin(
            title: PlainText.oneLine(episode.title), kind: "note",
            language: language.isEmpty ? " lang=\"en\"" : language)
        page.add("<nav class=\"back\" aria-label=\"Pages\" lang=\"en\">")
        page.add("<a href=\"../index.html#e\(episode.id)\" dir=\"auto\">")
        page.text(show.title)
        page.add("</a></nav>\n<main>\n<h1 dir=\"auto\">")
        page.text(episode.title)
        page.add("</h1><p class=\"facts line\" lang=\"en\">")
        if let published = episode.published {
            page.add("<span>")
            page.day(published, offset: episode.publishedOffset)
            page.add("</span>")
        }
        if let duration = episode.duration { page.add("<span>\(TimeText.duration(duration))</span>") }
        page.add("</p>\n<div class=\"notes whole\" dir=\"auto\">\n")
        let base = episode.link ?? show.link ?? WebAddress.redacted(show.url)
        page.add(SanitizedHTML.headings(SanitizedHTML.text(of: notes, base: base), level: 2))
        page.add("\n</div>\n")
        if let link = episode.link.flatMap(SanitizedHTML.allowedAddress) {
            let address = SanitizedHTML.escaped(show.visible(link))
            page.add(
                "<p class=\"line\"><a href=\"\(address)\" rel=\"noopener noreferrer nofollow\">\(address)</a></p>\n")
        }
        page.add("</main>\n")
        page.finish()
        return page.bytes
    }
}
