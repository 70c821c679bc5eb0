internal import Platform
package import PodcastLibrary

/// An episode's show notes as a complete HTML document.
///
/// The notes are sanitized. In addition, the document's Content Security Policy forbids the browser to run their
/// scripts, to load resources from the web or to submit forms.
package enum NotesPage {
    /// - Parameters:
    ///   - notes: The notes as in the feed, not sanitized.
    ///   - linksBack: Whether there is a page of the show, as there is not in an archive.
    package static func bytes(
        of episode: Episode, notes: String, show: Podcast, linksBack: Bool = true
    ) -> [UInt8] {
        let language = show.languageAttribute
        let base = episode.link ?? show.link ?? WebAddress.redacted(show.url)
        let text = SanitizedHTML.text(of: notes, base: base, headings: 2)
        let day = episode.published.map { "<span>\(day: $0, offset: episode.publishedOffset)</span>" as Markup }
        let duration = episode.duration.map { "<span>\(TimeText.duration($0))</span>" as Markup }
        let link = episode.link.flatMap(SanitizedHTML.allowedAddress).map { link -> Markup in
            let address = show.visible(link)
            return """
                <p class="line"><a href="\(address)" rel="noopener noreferrer nofollow">\(address)</a></p>

                """
        }
        let beginning = Markup.beginning(
            title: PlainText.oneLine(episode.title), kind: "note",
            language: language.isEmpty ? " lang=\"en\"" : language)
        let back: Markup =
            linksBack
            ? "<a href=\"../index.html#e\(episode.id)\" dir=\"auto\">\(show.title)</a>"
            : "<span dir=\"auto\">\(show.title)</span>"
        let page: Markup = """
            \(beginning)<nav class="back" aria-label="Pages" lang="en">\(back)</nav>
            <main>
            <h1 dir="auto">\(episode.title)</h1><p class="facts line" lang="en">\(day)\(duration)</p>
            <div class="notes whole" dir="auto">
            \(raw: text)
            </div>
            \(link)</main>
            \(Markup.end)
            """
        return page.bytes
    }
}
