import PodcastFeed

/// An invented show that the server of `podfs demo` publishes.
struct DemoShow: Sendable {
    struct Episode: Sendable {
        let title: String
        /// The publication date in the format of RFC 822.
        let published: String
        var season: Int?
        let number: Int
        let description: String
        let audio: DemoAudio
    }

    /// The first component of the URL paths of the show's files.
    let path: String
    let title: String
    let author: String
    let description: String
    let category: String
    let isSerial: Bool
    /// The episodes, oldest first.
    let episodes: [Episode]

    static let all = [tidewater, harmony]
}

extension DemoShow {
    var feedPath: String { "/\(path)/feed.xml" }

    func audioPath(_ episode: Episode) -> String { "/\(path)/audio/\(stem(episode)).wav" }

    func transcriptPath(_ episode: Episode) -> String { "/\(path)/transcripts/\(stem(episode)).vtt" }

    func chaptersPath(_ episode: Episode) -> String { "/\(path)/chapters/\(stem(episode)).json" }

    private func stem(_ episode: Episode) -> String { "\(episode.season ?? 1)-\(episode.number)" }

    /// Returns the feed as RSS 2.0, newest episode first. `base` is the server's URL without a slash at the end.
    func feed(base: String) -> String {
        var text = """
            <?xml version="1.0" encoding="UTF-8"?>
            <rss version="2.0" xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd" \
            xmlns:podcast="https://podcastindex.org/namespace/1.0" xmlns:atom="http://www.w3.org/2005/Atom">
              <channel>
                <title>\(escaped(title))</title>
                <link>\(base)/\(path)/</link>
                <atom:link href="\(base)\(feedPath)" rel="self" type="application/rss+xml"/>
                <description>\(escaped(description))</description>
                <language>en</language>
                <generator>podfs demo</generator>
                <itunes:author>\(escaped(author))</itunes:author>
                <itunes:type>\(isSerial ? "serial" : "episodic")</itunes:type>
                <itunes:category text="\(escaped(category))"/>
                <itunes:explicit>false</itunes:explicit>

            """
        for episode in episodes.reversed() { text += item(episode, base: base) }
        return text + "  </channel>\n</rss>\n"
    }

    private func item(_ episode: Episode, base: String) -> String {
        let season = episode.season.map { "\n      <itunes:season>\($0)</itunes:season>" } ?? ""
        return """
                <item>
                  <title>\(escaped(episode.title))</title>
                  <guid isPermaLink="false">podfs-demo/\(path)/\(stem(episode))</guid>
                  <pubDate>\(episode.published)</pubDate>
                  <enclosure url="\(base)\(audioPath(episode))" length="\(episode.audio.size)" \
            type="\(DemoAudio.contentType)"/>
                  <itunes:duration>\(episode.audio.seconds)</itunes:duration>\(season)
                  <itunes:episode>\(episode.number)</itunes:episode>
                  <itunes:episodeType>full</itunes:episodeType>
                  <itunes:explicit>false</itunes:explicit>
                  <description>\(escaped(episode.description))</description>
                  <podcast:transcript url="\(base)\(transcriptPath(episode))" type="text/vtt"/>
                  <podcast:chapters url="\(base)\(chaptersPath(episode))" type="application/json+chapters"/>
                </item>

            """
    }

    private func escaped(_ text: String) -> String {
        var writer = XMLText()
        writer.escape(text)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    // MARK: Transcripts and chapters

    /// Returns a WebVTT transcript with one cue for each tone of the episode's audio, which states the tone's
    /// frequency.
    func transcript(_ episode: Episode) -> String {
        episode.audio.tones.reduce(into: "WEBVTT\n") { text, tone in
            let end = min(tone.start + DemoAudio.toneDuration, episode.audio.seconds)
            text += "\n\(time(tone.start)) --> \(time(end))\n♪ \(tone.frequency) Hz\n"
        }
    }

    /// Formats a time as `HH:MM:SS.mmm` (WebVTT §4.1).
    private func time(_ seconds: Int) -> String {
        func padded(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
        return "\(padded(seconds / 3_600)):\(padded(seconds / 60 % 60)):\(padded(seconds % 60)).000"
    }

    /// Returns the chapters, one for each tone, in version 1.2 of the podcast namespace's JSON format.
    func chapters(_ episode: Episode) -> String {
        let chapters = episode.audio.tones.map { #"{"startTime": \#($0.start), "title": "\#($0.frequency) hertz"}"# }
        return #"{"version": "1.2.0", "chapters": [\#(chapters.joined(separator: ", "))]}"# + "\n"
    }
}
