internal import Foundation
package import PodcastFeed

/// A list of chapters as a file in the format JSON chapters 1.2
/// (https://github.com/Podcastindex-org/podcast-namespace/blob/main/chapters/jsonChapters.md).
package struct ChapterList: Sendable {
    private let chapters: [Chapter]
    private let title: String

    /// - Parameters:
    ///   - title: The episode's title.
    ///   - duration: The episode's duration in seconds, if known. Chapters that start at or after it are omitted,
    ///     unless they are more than half of all chapters: the duration is then probably wrong.
    package init(_ chapters: [Chapter], title: String, duration: Double? = nil) {
        self.chapters = chapters.playable(until: duration)
        self.title = title
    }

    /// The file's content, sorted by start time as the format requires.
    package var bytes: [UInt8] {
        let values = chapters.map { chapter in
            var members: [(String, OrderedJSON)] = [("startTime", .double(chapter.start))]
            if let title = chapter.title { members.append(("title", .string(title))) }
            if let image = chapter.image { members.append(("img", .string(image))) }
            if let link = chapter.link { members.append(("url", .string(link))) }
            return OrderedJSON.object(members)
        }
        let document = OrderedJSON.object([
            ("version", .string("1.2.0")), ("title", .string(title)), ("chapters", .array(values)),
        ])
        return document.encoded() + [UInt8(ascii: "\n")]
    }

    // MARK: Reading

    private struct Document: Decodable {
        struct Entry: Decodable {
            var startTime: Double?
            var title: String?
            /// `false` for an entry outside the table of contents.
            var toc: Bool?

            enum CodingKeys: CodingKey { case startTime, title, toc }

            init(from decoder: any Decoder) throws {
                // An element that is not an object is omitted like one without a start.
                guard let values = try? decoder.container(keyedBy: CodingKeys.self) else { return }
                // Some writers put the number into quotes.
                startTime =
                    (try? values.decode(Double.self, forKey: .startTime))
                    ?? (try? values.decode(String.self, forKey: .startTime)).flatMap(Double.init)
                title = try? values.decode(String.self, forKey: .title)
                toc = try? values.decode(Bool.self, forKey: .toc)
            }
        }

        var chapters: [Entry]
    }

    /// The greatest accepted start in seconds, about thirty years. Chapters in a feed have the same limit.
    private static let longestStart = 1e9

    /// Returns the chapters of a file in this format, at most `limit`; none if the file is malformed.
    package static func chapters(of bytes: [UInt8], limit: Int) -> [Chapter] {
        guard let document = try? JSONDecoder().decode(Document.self, from: Data(TextDecoder.text(of: bytes))) else {
            return []
        }
        let chapters = document.chapters.lazy.compactMap { entry -> Chapter? in
            guard let start = entry.startTime, (0...longestStart).contains(start), entry.toc != false else {
                return nil
            }
            return Chapter(start: start, title: entry.title)
        }
        return chapters.prefix(limit).playable(until: nil)
    }
}
