internal import Platform

/// A show's page in a podcast directory, as people copy it from a browser. Does no IO.
///
/// Such a page is not a feed, but its address contains the number under which the directory lists the show. The
/// directory's interface returns the feed's address for that number.
enum CataloguePage: Sendable, Equatable {
    /// A page of Apple Podcasts: `https://podcasts.apple.com/us/podcast/NAME/id123`.
    case apple(id: Int64)
    /// A page of the Podcast Index: `https://podcastindex.org/podcast/123`.
    case podcastIndex(id: Int64)

    private static let appleHosts: Set = ["podcasts.apple.com", "itunes.apple.com", "geo.itunes.apple.com"]
    private static let indexHosts: Set = ["podcastindex.org", "www.podcastindex.org"]

    /// Parses the address of a page; `nil` for any other address.
    init?(_ text: String) {
        guard let address = try? WebAddress(text) else { return nil }
        let parts = address.path.split(separator: "/")
        if Self.appleHosts.contains(address.host) {
            // Use the last match: a show may be called "id1".
            guard let id = parts.last(where: { Self.number($0, after: "id") != nil }) else { return nil }
            self = .apple(id: Self.number(id, after: "id") ?? 0)
        } else if Self.indexHosts.contains(address.host), parts.first == "podcast",
            let id = parts.dropFirst().first.flatMap({ Self.number($0, after: "") })
        {
            self = .podcastIndex(id: id)
        } else {
            return nil
        }
    }

    private static func number(_ text: Substring, after prefix: String) -> Int64? {
        guard text.hasPrefix(prefix) else { return nil }
        let digits = text.dropFirst(prefix.count)
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int64(digits)
    }

    /// The directory's name, used in messages.
    var directory: String {
        switch self {
        case .apple: "Apple Podcasts"
        case .podcastIndex: "the Podcast Index"
        }
    }

    /// The sites of players that publish no feed addresses, so that only a search by name finds the feed.
    private static let closedHosts: Set = [
        "open.spotify.com", "music.amazon.com", "www.audible.com", "www.deezer.com", "pca.st", "play.pocketcasts.com",
        "castbox.fm", "overcast.fm",
    ]

    /// The hosts of YouTube, whose feeds have no files.
    private static let videoHosts: Set = [
        "www.youtube.com", "youtube.com", "m.youtube.com", "music.youtube.com", "youtu.be",
    ]

    /// Returns advice on an address at one of these hosts; `nil` for any other.
    static func advice(on text: String) -> String? {
        guard let host = (try? WebAddress(text))?.host else { return nil }
        if videoHosts.contains(host) {
            return "\(host) plays its videos itself, and has no podcast feeds: if the show has a feed elsewhere, "
                + "podfs search NAME finds it"
        }
        guard closedHosts.contains(host) else { return nil }
        return "\(host) has pages of shows, not their feeds: find the feed with podfs search NAME"
    }
}
