internal import PodcastLibrary
package import TransferCore

/// A show as a catalogue describes it. Texts are single lines without control characters; addresses are http or https.
package struct CatalogueEntry: Sendable, Equatable {
    package var title: String
    package var author: String?
    package var feedURL: String
    /// The largest art that the catalogue offers.
    package var artwork: String?
    package var episodes: Int?
    /// The show's page, at the catalogue or its own.
    package var link: String?
    /// Of the catalogue: what it names is in no more private one.
    package var space: AddressSpace?

    package init(
        title: String, author: String? = nil, feedURL: String, artwork: String? = nil, episodes: Int? = nil,
        link: String? = nil
    ) {
        self.title = title
        self.author = author
        self.feedURL = feedURL
        self.artwork = artwork
        self.episodes = episodes
        self.link = link
    }

    /// An entry of what a stranger wrote: made harmless, or `nil` without a feed that podfs could ask.
    ///
    /// - Parameter artwork: candidates, the best first.
    init?(
        untrustedTitle title: String?, author: String?, feedURL: String?, artwork: [String?], episodes: Int?,
        link: String?
    ) {
        guard let feedURL, let address = FeedAddress(feedURL), !address.hasUserInfo else { return nil }
        self.feedURL = feedURL
        self.title = title.flatMap(Self.line) ?? address.host
        self.author = author.flatMap(Self.line)
        self.artwork = artwork.lazy.compactMap { $0.flatMap(Self.address) }.first
        self.link = link.flatMap(Self.address)
        self.episodes = episodes.flatMap { Self.counts.contains($0) ? $0 : nil }
    }

    /// What is beyond is no count of episodes but a mistake.
    private static let counts = 0...10_000_000
    /// Bytes of a title or a name: four lines of a terminal.
    private static let longestLine = 512

    private static func address(_ text: String) -> String? {
        guard let address = FeedAddress(text), !address.hasUserInfo else { return nil }
        return text
    }

    /// The text as one line: a run of white space, control characters and characters that turn the reading direction
    /// becomes one space. `nil` when nothing is left.
    static func line(_ text: String) -> String? {
        var result = ""
        var pending = false
        // Beyond this nothing can be seen of it any more; a megabyte is not worked through.
        for scalar in text.unicodeScalars.prefix(longestLine * 4) {
            if isSpace(scalar) {
                pending = !result.isEmpty
                continue
            }
            if pending { result.unicodeScalars.append(" ") }
            pending = false
            result.unicodeScalars.append(scalar)
        }
        var line = FileName.cut(result, to: longestLine)
        while line.last == " " { line.removeLast() }
        return line.isEmpty ? nil : line
    }

    private static func isSpace(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .spaceSeparator: true
        // Of the format characters only joiners are letters' business (emoji, Arabic, Indic scripts).
        case .format: scalar.value != 0x200C && scalar.value != 0x200D
        default: false
        }
    }
}

extension CatalogueEntry {
    /// The answers of several catalogues as one list without doubles: first all of the first, in its order, then what
    /// the next one adds. What an earlier entry lacks, such as art, it takes from a later one of the same feed.
    package static func merged(_ lists: [[CatalogueEntry]], limit: Int = CatalogueAnswer.limit) -> [CatalogueEntry] {
        var result: [CatalogueEntry] = []
        var places: [String: Int] = [:]
        for entry in lists.joined() {
            let key = FeedAddress(entry.feedURL)?.key ?? entry.feedURL
            if let place = places[key] {
                result[place].complete(from: entry)
            } else if result.count < limit {
                places[key] = result.count
                result.append(entry)
            }
        }
        return result
    }

    private mutating func complete(from other: CatalogueEntry) {
        author = author ?? other.author
        artwork = artwork ?? other.artwork
        episodes = episodes ?? other.episodes
        link = link ?? other.link
        space = space.flatMap { own in other.space.map { min(own, $0) } } ?? space ?? other.space
    }
}
