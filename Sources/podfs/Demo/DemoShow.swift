import FlyingFox
import FlyingSocks
import Foundation
import Platform
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
            xmlns:podcast="https://podcastindex.org/namespace/1.0">
              <channel>
                <title>\(escaped(title))</title>
                <link>\(base)/\(path)/</link>
                <description>\(escaped(description))</description>
                <itunes:author>\(escaped(author))</itunes:author>
                <itunes:type>\(isSerial ? "serial" : "episodic")</itunes:type>

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

    /// Formats a time below a minute as `HH:MM:SS.mmm` (WebVTT §4.1).
    private func time(_ seconds: Int) -> String { "00:00:\(seconds < 10 ? "0" : "")\(seconds).000" }

    /// Returns the chapters, one for each tone, in version 1.2 of the podcast namespace's JSON format.
    func chapters(_ episode: Episode) -> String {
        let chapters = episode.audio.tones.map { #"{"startTime": \#($0.start), "title": "\#($0.frequency) hertz"}"# }
        return #"{"version": "1.2.0", "chapters": [\#(chapters.joined(separator: ", "))]}"# + "\n"
    }
}

extension DemoShow {
    /// The files of the show: path in the URL, content, and media type.
    func files(base: String) -> [(path: String, bytes: [UInt8], type: String)] {
        [(feedPath, Array(feed(base: base).utf8), "application/rss+xml; charset=utf-8")]
            + episodes.flatMap { episode in
                [
                    (transcriptPath(episode), Array(transcript(episode).utf8), "text/vtt"),
                    (chaptersPath(episode), Array(chapters(episode).utf8), "application/json+chapters"),
                    (audioPath(episode), episode.audio.render(), DemoAudio.contentType),
                ]
            }
    }
}

/// The web server of the demonstration: feeds, media, transcripts and chapters as files on a loopback port.
struct DemoServer {
    /// The URL without a slash at its end, `http://127.0.0.1:PORT`.
    let base: String
    private let server: HTTPServer
    private let task: Task<Void, any Error>

    /// The maximum time until the server listens, in seconds; only an overloaded machine needs more than a moment.
    private static let startDeadline = 60.0

    /// Writes the files of the shows into a folder, and serves them on a port that the kernel chooses.
    init(folder: String) async throws {
        let server = HTTPServer(address: try .inet(ip4: "127.0.0.1", port: 0), logger: .disabled)
        task = Task(executorPreference: WorkerPool.shared) { try await server.run() }
        try await server.waitUntilListening(timeout: Self.startDeadline)
        guard case .ip4(let address, let port) = await server.listeningAddress else {
            throw SocketError.unsupportedAddress
        }
        base = "http://\(address):\(port)"
        self.server = server
        for (path, bytes, type) in DemoShow.all.flatMap({ [base] in $0.files(base: base) }) {
            let file = URL(fileURLWithPath: folder + path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(bytes).write(to: file)
            await server.appendRoute(path, for: [.GET, .HEAD], to: FileHTTPHandler(path: file, contentType: type))
        }
    }

    /// Stops listening and aborts the responses being sent.
    func stop() async {
        await server.stop(timeout: 0)
        task.cancel()
        // `run` throws when the server is stopped; the error means nothing.
        _ = await task.result
    }
}

extension DemoShow {
    /// A show of independent episodes.
    static let tidewater = DemoShow(
        path: "tidewater-sketches", title: "Tidewater Sketches", author: "Mara Ellwood",
        description: "Two tones an episode, once a fortnight. No talking.",
        isSerial: false,
        episodes: [
            Episode(
                title: "Rain on the Chain Ferry", published: "Fri, 18 Sep 2026 07:30:00 +0200", number: 1,
                description: "<p>A fourth: <b>D</b> and <b>G</b>.</p>",
                audio: DemoAudio(low: 294, high: 392, seconds: 38)),
            Episode(
                title: "What the Lighthouse Keeper Hummed", published: "Fri, 02 Oct 2026 07:30:00 +0200",
                number: 2, description: "<p>A fifth: <b>G</b> and <b>D</b>.</p>",
                audio: DemoAudio(low: 196, high: 294, seconds: 45)),
            Episode(
                title: "Prélude for an Empty Café", published: "Fri, 16 Oct 2026 07:30:00 +0200", number: 3,
                description: "<p>A minor third: <b>A</b> and <b>C</b>.</p>",
                audio: DemoAudio(low: 220, high: 262, seconds: 43)),
            Episode(
                title: "Gulls, Arguing", published: "Fri, 30 Oct 2026 07:30:00 +0100", number: 4,
                description: "<p>A tritone: <b>F</b> and <b>B</b>.</p>",
                audio: DemoAudio(low: 349, high: 494, seconds: 37)),
            Episode(
                title: "Low Water, First Light", published: "Fri, 13 Nov 2026 07:30:00 +0100", number: 5,
                description: "<p>An octave of <b>E flat</b>.</p>",
                audio: DemoAudio(low: 156, high: 311, seconds: 54)),
        ])

    /// A serial show, to be played from the first episode on.
    static let harmony = DemoShow(
        path: "harmony-in-a-minute", title: "Harmony in a Minute", author: "Teodor Quill",
        description: "A course in intervals. Start with the first lesson.",
        isSerial: true,
        episodes: [
            Episode(
                title: "Four Chords That Get Along", published: "Mon, 05 Oct 2026 18:00:00 +0000", season: 1,
                number: 1, description: "<p>The major third:</p><ul><li>C</li><li>E</li></ul>",
                audio: DemoAudio(low: 262, high: 330, seconds: 32)),
            Episode(
                title: "The Long Way Home: Two, Five, One", published: "Mon, 19 Oct 2026 18:00:00 +0000", season: 1,
                number: 2, description: "<p>The fourth, from C to F.</p>",
                audio: DemoAudio(low: 262, high: 349, seconds: 33)),
            Episode(
                title: "Is It Sad, or Is It Minor?", published: "Mon, 02 Nov 2026 18:00:00 +0000", season: 1, number: 3,
                description: "<p>The minor third, from E to G.</p>",
                audio: DemoAudio(low: 330, high: 392, seconds: 38)),
            Episode(
                title: "The Circle, All the Way Round", published: "Mon, 16 Nov 2026 18:00:00 +0000", season: 1,
                number: 4, description: "<p>The fifth, from D to A.</p>",
                audio: DemoAudio(low: 294, high: 440, seconds: 47)),
        ])
}

/// The sound of a demo episode: two alternating tones, as a WAV file (PCM, 16 bits, mono).
///
/// The size is known without rendering, and rendering is deterministic.
struct DemoAudio: Sendable, Hashable {
    /// The two frequencies, in hertz.
    let low: Int
    let high: Int
    /// The duration of the file in seconds; a whole number, so that a feed can state it exactly.
    let seconds: Int

    static let sampleRate = 22_050
    static let contentType = "audio/wav"
    /// The duration of one tone in seconds.
    static let toneDuration = 10

    private static let headerSize = 44
    private static let bytesPerSample = 2

    private var sampleCount: Int { seconds * Self.sampleRate }

    /// The size of the file in bytes.
    var size: Int { Self.headerSize + sampleCount * Self.bytesPerSample }

    /// The start of each tone in seconds, and its frequency.
    var tones: [(start: Int, frequency: Int)] {
        stride(from: 0, to: seconds, by: Self.toneDuration).map { ($0, $0 / Self.toneDuration % 2 == 0 ? low : high) }
    }

    /// Renders the file.
    func render() -> [UInt8] {
        var bytes = header()
        bytes.reserveCapacity(size)
        let rate = Double(Self.sampleRate)
        for (start, frequency) in tones {
            let length = min(Self.toneDuration, seconds - start) * Self.sampleRate
            for index in 0..<length {
                // Fading for half a second at both ends avoids clicks.
                let edge = min(1, Double(min(index, length - 1 - index)) / (0.5 * rate))
                let level = 0.5 * edge * sin(2 * .pi * Double(frequency) * Double(index) / rate)
                let sample = UInt16(bitPattern: Int16(level * Double(Int16.max)))
                bytes.append(UInt8(truncatingIfNeeded: sample))
                bytes.append(UInt8(truncatingIfNeeded: sample >> 8))
            }
        }
        return bytes
    }

    /// Returns the RIFF header, the format chunk, and the header of the data chunk (Multimedia Programming Interface
    /// and Data Specifications 1.0, IBM and Microsoft, 1991).
    private func header() -> [UInt8] {
        func number(_ value: Int, bytes: Int) -> [UInt8] {
            (0..<bytes).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
        }
        let dataSize = size - Self.headerSize
        var header = Array("RIFF".utf8) + number(size - 8, bytes: 4) + Array("WAVEfmt ".utf8)
        header += number(16, bytes: 4)  // the size of the format chunk
        header += number(1, bytes: 2)  // PCM
        header += number(1, bytes: 2)  // channels
        header += number(Self.sampleRate, bytes: 4)
        header += number(Self.sampleRate * Self.bytesPerSample, bytes: 4)
        header += number(Self.bytesPerSample, bytes: 2)
        header += number(8 * Self.bytesPerSample, bytes: 2)
        return header + Array("data".utf8) + number(dataSize, bytes: 4)
    }
}
