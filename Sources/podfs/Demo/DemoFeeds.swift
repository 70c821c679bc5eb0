/// A made-up show of the demonstration.
struct DemoShow: Sendable {
    struct Episode: Sendable {
        let title: String
        /// RFC 822.
        let published: String
        let season: Int?
        let number: Int
        let description: String
        let piece: DemoPiece

        var audio: DemoAudio { DemoAudio(piece: piece) }
    }

    /// The first component of its paths.
    let path: String
    let title: String
    let author: String
    let description: String
    let category: String
    let isSerial: Bool
    /// Oldest first.
    let episodes: [Episode]

    /// Two shows of different kinds.
    static let all = [tidewater, harmony]
}

extension DemoShow {
    var feedPath: String { "/\(path)/feed.xml" }

    func audioPath(_ episode: Episode) -> String { "/\(path)/audio/\(stem(episode)).wav" }

    func transcriptPath(_ episode: Episode) -> String { "/\(path)/chords/\(stem(episode)).vtt" }

    func chaptersPath(_ episode: Episode) -> String { "/\(path)/chapters/\(stem(episode)).json" }

    private func stem(_ episode: Episode) -> String { "\(episode.season ?? 1)-\(episode.number)" }

    /// The feed, RSS 2.0, newest first. `base` is where the server is, without a slash at the end.
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
                  <itunes:duration>\(episode.piece.seconds)</itunes:duration>\(season)
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
        text.reduce(into: "") { escaped, character in
            switch character {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            default: escaped.append(character)
            }
        }
    }

    // MARK: Beside the audio

    /// The chords as they go by, as WebVTT: what there is to read in music without words.
    func transcript(_ episode: Episode) -> String {
        let piece = episode.piece
        let barLength = Double(DemoPiece.beatsPerBar) * piece.secondsPerBeat
        var text = "WEBVTT\n"
        for bar in 0..<piece.bars {
            let end = bar == piece.bars - 1 ? Double(piece.seconds) : Double(bar + 1) * barLength
            text += "\n\(time(Double(bar) * barLength)) --> \(time(end))\n♪ \(piece.chordName(ofBar: bar))\n"
        }
        return text
    }

    /// `HH:MM:SS.mmm` (WebVTT §4.1).
    private func time(_ seconds: Double) -> String {
        func padded(_ value: Int, _ width: Int) -> String {
            let digits = String(value)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        let milliseconds = Int((seconds * 1_000).rounded())
        let (total, rest) = milliseconds.quotientAndRemainder(dividingBy: 1_000)
        return "\(padded(total / 3_600, 2)):\(padded(total / 60 % 60, 2)):\(padded(total % 60, 2)).\(padded(rest, 3))"
    }

    /// JSON chapters 1.2: one for each time that the progression comes round.
    func chapters(_ episode: Episode) -> String {
        let piece = episode.piece
        let names = ["The theme", "Once more", "Further out", "Turning back", "Nearly there", "Coming home"]
        let round = Double(piece.progression.count * DemoPiece.beatsPerBar) * piece.secondsPerBeat
        let count = (piece.bars + piece.progression.count - 1) / piece.progression.count
        let chapters = (0..<count).map { index in
            let title = index == count - 1 ? "Coming home" : names[index % names.count]
            return #"{"startTime": \#(time(inSeconds: Double(index) * round)), "title": "\#(title)"}"#
        }
        return #"{"version": "1.2.0", "chapters": [\#(chapters.joined(separator: ", "))]}"# + "\n"
    }

    private func time(inSeconds seconds: Double) -> Double { (seconds * 1_000).rounded() / 1_000 }
}
