package import PodcastFeed

/// A list of chapters as a file in the format JSON chapters 1.2
/// (https://github.com/Podcastindex-org/podcast-namespace/blob/main/chapters/jsonChapters.md).
package enum ChapterList {
    /// Returns the file's content, sorted by start time as the format requires.
    ///
    /// - Parameters:
    ///   - title: The episode's title.
    ///   - duration: The episode's duration in seconds, if known. Chapters that start at or after it are omitted,
    ///     unless they are more than half of all chapters: the duration is then probably wrong.
    package static func bytes(_ chapters: [Chapter], title: String, duration: Double? = nil) -> [UInt8] {
        let values = chapters.playable(until: duration).map { chapter in
            let texts = [("title", chapter.title), ("img", chapter.image), ("url", chapter.link)]
            let members = texts.compactMap { name, text in text.map { (name, OrderedJSON.string($0)) } }
            return OrderedJSON.object([("startTime", .double(chapter.start))] + members)
        }
        let document = OrderedJSON.object([
            ("version", .string("1.2.0")), ("title", .string(title)), ("chapters", .array(values)),
        ])
        return document.encoded() + [UInt8(ascii: "\n")]
    }

    /// The greatest accepted start in seconds, about thirty years. Chapters in a feed have the same limit.
    private static let longestStart = 1e9

    /// Returns the chapters of a file in this format, at most `limit`, without those outside the table of contents
    /// (`toc`); none if the file is malformed.
    package static func chapters(of bytes: [UInt8], limit: Int) -> [Chapter] {
        var scanner = JSONScanner(TextDecoder.text(of: bytes))
        guard let document = try? scanner.value(), scanner.peek() == nil else { return [] }
        let chapters = (document["chapters"]?.elements ?? []).lazy.compactMap { entry -> Chapter? in
            // Some writers put the number into quotes.
            guard let start = entry["startTime"]?.number, (0...longestStart).contains(start) else { return nil }
            if case .bool(false) = entry["toc"] { return nil }
            return Chapter(start: start, title: entry["title"]?.string)
        }
        return chapters.prefix(limit).playable(until: nil)
    }
}
