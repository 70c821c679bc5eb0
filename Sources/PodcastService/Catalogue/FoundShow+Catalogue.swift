internal import Foundation
internal import Platform
internal import PodcastLibrary
internal import PodcastProtocol
internal import Transfers

// The entries of catalogues, which are podcast directories.
extension FoundShow {
    /// Creates an entry from untrusted input after sanitizing it; `nil` without a feed address that podfs may fetch.
    ///
    /// - Parameter artwork: candidate addresses, best first.
    init?(
        untrustedTitle title: String?, author: String?, url: String?, artwork: [String?], episodes: Int?,
        link: String?
    ) {
        guard let url, let address = try? WebAddress(url), !address.hasUserInfo else { return nil }
        self.init(
            title: title.flatMap(Self.line) ?? address.host, author: author.flatMap(Self.line), url: url,
            artwork: artwork.lazy.compactMap { $0.flatMap(Self.address) }.first,
            episodes: episodes.flatMap { Self.counts.contains($0) ? $0 : nil }, link: link.flatMap(Self.address))
    }

    /// Plausible episode counts; anything else is treated as unknown.
    private static let counts = 0...10_000_000
    /// Maximum length of a title or name in bytes: about six lines of a terminal.
    private static let longestLine = 512

    private static func address(_ text: String) -> String? {
        guard let address = try? WebAddress(text), !address.hasUserInfo else { return nil }
        return text
    }

    /// Returns the text as one line of at most `longestLine` bytes; `nil` if nothing remains.
    static func line(_ text: String) -> String? {
        // Do not scan a megabyte of text: only the beginning is displayed.
        let line = PlainText.collapsed(text.unicodeScalars.prefix(longestLine * 4))
        return line.isEmpty ? nil : FileName.cut(line, to: longestLine).trimmingCharacters(in: .whitespaces)
    }

    /// Merges the results of several catalogues without duplicates: the first list in its order, then the entries that
    /// each further list adds. A field that an earlier entry lacks, such as artwork, is copied from a later entry of
    /// the same feed.
    static func merged(_ lists: [[FoundShow]], limit: Int = CatalogueAnswer.limit) -> [FoundShow] {
        var result: [FoundShow] = []
        var indices: [String: Int] = [:]
        for entry in lists.joined() {
            let key = WebAddress.key(entry.url)
            if let index = indices[key] {
                result[index].complete(from: entry)
            } else if result.count < limit {
                indices[key] = result.count
                result.append(entry)
            }
        }
        return result
    }

    private mutating func complete(from other: FoundShow) {
        author = author ?? other.author
        artwork = artwork ?? other.artwork
        episodes = episodes ?? other.episodes
        link = link ?? other.link
        space = space.flatMap { own in other.space.map { min(own, $0) } } ?? space ?? other.space
    }
}
