import TestSupport

/// An item of a feed in a model run, as the publisher has it at one moment. A model run does random operations with
/// podfs and with a model of it, and compares the results.
struct ModelItem: Sendable, Equatable {
    /// A number that is unique in the run.
    var number: Int
    var title: String
    /// The file name derived from the title, without date and extension.
    var stem: String
    /// The day of 2026, from 1; `nil` for an item without a date.
    var day: Int?
    /// The number of media files that the publisher has had for the item so far, each in place of the one before.
    var version = 1
    /// The size of the file in bytes.
    var size: Int
    /// The length stated in the feed.
    var length: Int?
    /// The duration in seconds.
    var duration: Int?
    var kind = Kind.audio
    var season: Int?
    var episode: Int?
    var notes: String?
    var chapters: [String] = []
    var hasTranscript = false
    var hasArt = false
    /// The status that the server sends instead of the file.
    var refusal: Int?
    /// Whether the feed lists it.
    var isListed = true

    enum Kind: Sendable, CaseIterable {
        case audio
        case book
        case video

        var type: String {
            switch self {
            case .audio: "audio/mpeg"
            case .book: "audio/mp4"
            case .video: "video/mp4"
            }
        }

        var fileExtension: String {
            switch self {
            case .audio: "mp3"
            case .book: "m4a"
            case .video: "mp4"
            }
        }

        /// The bytes per second from which a size is estimated if only the duration is known: podfs-semantics(7).
        var rate: Int { self == .video ? 125_000 : 16_000 }
    }

    var guid: String { "item-\(number)" }
    var path: String { "/media/\(number)-\(version).\(kind.fileExtension)" }
    var content: TestContent { TestContent(seed: UInt64(number * 1_000 + version), size: size) }

    var transcriptPath: String { "/transcripts/\(number).vtt" }
    var transcript: [UInt8] { Array("WEBVTT\n\n00:00.000 --> 00:09.000\nItem \(number)\n".utf8) }
    var artPath: String { "/art/\(number).jpg" }
    var art: [UInt8] { Self.image(seed: number, size: 3_000 + number * 37) }

    /// Returns bytes with the signature of a JPEG.
    static func image(seed: Int, size: Int) -> [UInt8] {
        [0xFF, 0xD8, 0xFF, 0xE0] + TestContent(seed: UInt64(seed), size: size).bytes
    }

    /// The publication time in seconds since 1970: 08:00 UTC of `day`.
    var published: Int64? { day.map { 1_767_254_400 + Int64($0 - 1) * 86_400 } }

    /// The day of publication, as in `2026-01-05`.
    var date: String? {
        day.map { day in
            let text = FeedBuilder.date(day: day).split(separator: " ")
            let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
            let month = (months.firstIndex(of: String(text[1])) ?? 0) + 1
            return "2026-\(month < 10 ? "0" : "")\(month)-\(text[0])"
        }
    }

    /// The expected size before a server has confirmed one, and its source.
    var claim: (size: Int, source: String) {
        let isPlausible =
            length.map { length in
                length >= 10_000 && (duration.map { length / $0 >= 1_000 && length / $0 <= 10_000_000 } ?? true)
            } ?? false
        if isPlausible, let length { return (length, "feed") }
        if let duration { return (duration * kind.rate, "estimate") }
        return (0, "unknown")
    }
}

/// A show of a model run, as the publisher has it at one moment.
struct ModelFeed: Sendable {
    var number: Int
    var title: String
    var language: String?
    var description: String?
    var isSerial: Bool
    var hasCover: Bool
    /// The items in the order of the document: the last added one first, regardless of the dates.
    var items: [ModelItem]
    /// The status that the server sends instead of the document.
    var refusal: Int?

    var path: String { "/feeds/\(number).xml" }
    var coverPath: String { "/covers/\(number)" }
    var cover: [UInt8] { ModelItem.image(seed: 77_000 + number, size: 20_000 + number) }

    /// Returns the document. `url` returns the URL of a path on the server.
    func text(url: (String) -> String) -> String {
        var builder = FeedBuilder(
            title: title, description: description, language: language,
            image: hasCover ? url(coverPath) : nil, showType: isSerial ? "serial" : nil)
        builder.items = items.filter(\.isListed).map { item in
            var raw = ""
            if !item.chapters.isEmpty {
                raw += "<psc:chapters xmlns:psc=\"http://podlove.org/simple-chapters\">"
                for (index, title) in item.chapters.enumerated() {
                    raw += "<psc:chapter start=\"00:0\(index):00\" title=\"\(title)\"/>"
                }
                raw += "</psc:chapters>\n"
            }
            if item.hasTranscript {
                raw += "<podcast:transcript url=\"\(url(item.transcriptPath))\" type=\"text/vtt\"/>\n"
            }
            if item.hasArt { raw += "<itunes:image href=\"\(url(item.artPath))\"/>\n" }
            return FeedBuilder.Item(
                title: item.title, guid: item.guid, url: url(item.path), length: item.length, type: item.kind.type,
                published: item.day.map(FeedBuilder.date(day:)), duration: item.duration.map(String.init),
                season: item.season, episode: item.episode, description: item.notes, raw: raw)
        }
        return builder.text
    }
}

/// The publishers of a model run, and their web server.
struct ModelPublication: Sendable {
    let server: HTTPTestServer
    private(set) var feeds: [ModelFeed] = []
    private var lastItem = 0

    /// Titles and the file names derived from them.
    private static let titles: [(title: String, stem: String)] = [
        ("Plain talk", "Plain talk"), ("A/B: the test", "A-B: the test"), ("50% off? #1 of", "50% off? #1 of"),
        ("Cafe\u{301} nai\u{308}ve", "Caf\u{E9} na\u{EF}ve"), ("Tom & Jerry's \"talk\"", "Tom & Jerry's \"talk\""),
        ("\u{1F399}\u{FE0F} on air", "\u{1F399}\u{FE0F} on air"),
        ("\u{65E5}\u{672C}\u{8A9E}", "\u{65E5}\u{672C}\u{8A9E}"),
        ("100%25 real", "100%25 real"), ("-rf *", "-rf *"), ("a\\b|c", "a\\b|c"),
    ]

    init(server: HTTPTestServer) { self.server = server }

    mutating func addFeed(items count: Int, using generator: inout some RandomNumberGenerator) -> ModelFeed {
        let number = feeds.count + 1
        let titles = ["Zebra", "apple pie", "Caf\u{E9} & bar", "Monday: the show", "\u{C4}pfel"]
        var feed = ModelFeed(
            number: number, title: "\(titles[(number - 1) % titles.count]) \(number)",
            language: number.isMultiple(of: 2) ? "en" : nil,
            description: number.isMultiple(of: 3) ? nil : "About \(number)", isSerial: number.isMultiple(of: 2),
            hasCover: !number.isMultiple(of: 3), items: [])
        for _ in 0..<count { feed.items.insert(newItem(using: &generator), at: 0) }
        feeds.append(feed)
        publish(number)
        return feed
    }

    mutating func newItem(using generator: inout some RandomNumberGenerator) -> ModelItem {
        lastItem += 1
        let number = lastItem
        var (title, stem) = Self.titles[Int.random(in: 0..<Self.titles.count, using: &generator)]
        title += " \(number)"
        stem += " \(number)"
        let hasDate = Int.random(in: 0..<10, using: &generator) > 0
        // The days are in no order, and several items may have the same day.
        let day = hasDate ? Int.random(in: 1...250, using: &generator) : nil
        if number.isMultiple(of: 13) {
            // The title has 300 bytes. The date and the stem together are cut to at most 235 bytes.
            title = String(repeating: "\u{E4}", count: 150)
            stem = String(repeating: "\u{E4}", count: hasDate ? 112 : 117)
        }
        if number.isMultiple(of: 17) { (title, stem) = ("The same", "The same") }
        let sizes = [20_000...90_000, 90_000...400_000, 100...9_000, 1_000_000...1_500_000]
        let size = Int.random(in: sizes[Int.random(in: 0..<6, using: &generator) % 4], using: &generator)
        var item = ModelItem(number: number, title: title, stem: stem, day: day, size: size)
        item.kind = number.isMultiple(of: 7) ? .video : number.isMultiple(of: 5) ? .book : .audio
        switch Int.random(in: 0..<5, using: &generator) {
        case 0: item.length = nil
        case 1: item.length = size + Int.random(in: 1...50_000, using: &generator)
        case 2: item.length = Int.random(in: 0...9_000, using: &generator)
        default: item.length = size
        }
        if Bool.random(using: &generator) { item.duration = Int.random(in: 2...20, using: &generator) }
        if Bool.random(using: &generator) { item.notes = "Notes of \(number) with <b>bold</b> words" }
        if number.isMultiple(of: 4) { item.chapters = ["One \(number)", "Two"] }
        item.hasTranscript = number % 3 == 1
        item.hasArt = number % 6 == 2
        if number.isMultiple(of: 2) { item.season = number % 4 + 1 }
        if number.isMultiple(of: 3) { item.episode = number }
        if number.isMultiple(of: 11) { item.refusal = number.isMultiple(of: 2) ? 403 : 404 }
        return item
    }

    subscript(feed number: Int) -> ModelFeed { feeds[number - 1] }

    /// Changes a feed and serves the new document.
    mutating func edit(_ number: Int, _ change: (inout ModelFeed) -> Void) {
        change(&feeds[number - 1])
        publish(number)
    }

    func url(_ path: String) -> String { server.url(path) }

    private func publish(_ number: Int) {
        let feed = feeds[number - 1]
        let text = feed.text(url: url)
        // The entity tag is a hash of the text: for an unchanged feed, the response to a conditional request is 304.
        let tag = text.utf8.reduce(UInt64(14_695_981_039_346_656_037)) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 }
        let resource = Resource(text: text, contentType: "application/rss+xml", etag: "\"\(tag)\"")
        if let refusal = feed.refusal {
            server.serve(feed.path) { _ in .status(refusal) }
        } else {
            server.serve(feed.path, resource)
        }
        server.serve(feed.coverPath, Resource(bytes: feed.cover, contentType: "image/jpeg", etag: "\"c\""))
        for item in feed.items {
            if let refusal = item.refusal {
                server.serve(item.path) { _ in .status(refusal) }
            } else {
                server.serve(
                    item.path,
                    Resource(item.content, contentType: item.kind.type, etag: "\"\(item.number)-\(item.version)\""))
            }
            server.serve(item.transcriptPath, Resource(bytes: item.transcript, contentType: "text/vtt", etag: "\"t\""))
            server.serve(item.artPath, Resource(bytes: item.art, contentType: "image/jpeg", etag: "\"a\""))
        }
    }
}
