internal import Platform
internal import PodcastLibrary
package import Transfers

/// A show as described by a catalogue, which is a podcast directory. Texts are single lines without control characters;
/// addresses are http or https.
package struct CatalogueEntry: Sendable, Equatable {
    package var title: String
    package var author: String?
    package var feedURL: String
    /// The address of the largest artwork offered.
    package var artwork: String?
    /// The number of episodes.
    package var episodes: Int?
    /// The show's web page, on the catalogue's site or its own.
    package var link: String?
    /// The address space of the catalogue's server: the internet, a local network or this computer. The addresses that
    /// the catalogue supplies may not be in a more private one.
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

    /// Creates an entry from untrusted input after sanitizing it; `nil` without a feed address that podfs may fetch.
    ///
    /// - Parameter artwork: candidate addresses, best first.
    init?(
        untrustedTitle title: String?, author: String?, feedURL: String?, artwork: [String?], episodes: Int?,
        link: String?
    ) {
        guard let feedURL, let address = try? WebAddress(feedURL), !address.hasUserInfo else { return nil }
        self.feedURL = feedURL
        self.title = title.flatMap(Self.line) ?? address.host
        self.author = author.flatMap(Self.line)
        self.artwork = artwork.lazy.compactMap { $0.flatMap(Self.address) }.first
        self.link = link.flatMap(Self.address)
        self.episodes = episodes.flatMap { Self.counts.contains($0) ? $0 : nil }
    }

    /// Plausible episode counts; anything else is treated as unknown.
    private static let counts = 0...10_000_000
    /// Maximum length of a title or name in bytes: about six lines of a terminal.
    private static let longestLine = 512

    private static func address(_ text: String) -> String? {
        guard let address = try? WebAddress(text), !address.hasUserInfo else { return nil }
        return text
    }

    /// Returns the text as one line of at most `longestLine` bytes. A run of white space, control characters and format
    /// characters (such as bidirectional controls, but not the joiners) becomes one space. `nil` if nothing remains.
    static func line(_ text: String) -> String? {
        var result = ""
        var pending = false
        // Do not scan a megabyte of text: only the beginning is displayed.
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
        // The only format characters that text needs are the joiners (emoji, Arabic, Indic scripts).
        case .format: scalar.value != 0x200C && scalar.value != 0x200D
        default: false
        }
    }
}

extension CatalogueEntry {
    /// Merges the results of several catalogues without duplicates: the first list in its order, then the entries that
    /// each further list adds. A field that an earlier entry lacks, such as artwork, is copied from a later entry of
    /// the same feed.
    package static func merged(_ lists: [[CatalogueEntry]], limit: Int = CatalogueAnswer.limit) -> [CatalogueEntry] {
        var result: [CatalogueEntry] = []
        var indices: [String: Int] = [:]
        for entry in lists.joined() {
            let key = WebAddress.key(entry.feedURL)
            if let index = indices[key] {
                result[index].complete(from: entry)
            } else if result.count < limit {
                indices[key] = result.count
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
