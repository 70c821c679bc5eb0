package import PodcastFeed
package import PodcastLibrary

extension ID3Tag {
    /// Creates the tag of an episode from what the library knows.
    ///
    /// - Parameter chapters: Sorted by start.
    package init(_ episode: Episode, of show: Podcast, chapters: [Chapter]) {
        self.init()
        let maker = show.author ?? show.title
        add("TIT2", episode.title)
        add("TALB", show.title)
        add("TPE1", episode.author ?? maker)
        // The album's artist. It is the same for all episodes, so that players group them as one album.
        add("TPE2", maker)
        if let published = episode.published {
            // `2026-11-20T10:00:00` without the `Z`, because the format of ID3v2.4 has no zone.
            add("TDRC", String(TimeText.iso8601(published).prefix(19)))
        }
        add("TRCK", episode.episode.flatMap { Int(exactly: $0) }.map(String.init))
        add("TPOS", episode.season.map(String.init))
        add("TCON", "Podcast")
        addComment(episode.notes.map { NotesLines.lines(of: $0, limit: 64 << 10).joined(separator: "\n") })
        add(chapters, duration: episode.duration)
    }
}
