package import PodcastFeed

/// Chapters as a file of the form JSON chapters 1.2
/// (https://github.com/Podcastindex-org/podcast-namespace/blob/main/chapters/jsonChapters.md).
package struct ChapterList: Sendable {
    private let chapters: [Chapter]
    private let title: String

    /// - Parameter title: the episode's.
    package init(_ chapters: [Chapter], title: String) {
        self.chapters = chapters
        self.title = title
    }

    /// In the order of their beginnings, as the form demands.
    package var bytes: [UInt8] {
        let sorted = chapters.enumerated().sorted { ($0.element.start, $0.offset) < ($1.element.start, $1.offset) }
        let values = sorted.map { _, chapter in
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
}
