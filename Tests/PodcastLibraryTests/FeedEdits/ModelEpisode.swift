import Foundation
import PodcastFeed

/// The data that a feed states about one episode, and the episode's true identity, which real feeds do not contain.
struct Said: Sendable {
    enum Media: String, Sendable {
        case mp3 = "mp3"
        case m4a = "m4a"
        case mp4 = "mp4"

        var type: String {
            switch self {
            case .mp3: "audio/mpeg"
            case .m4a: "audio/x-m4a"
            case .mp4: "video/mp4"
            }
        }
    }

    let identity: Int
    var guid: String?
    var title: String?
    /// The words of the title, independent of its spelling.
    var words: String?
    var published: PublicationDate?
    var duration: Double?
    let url: String
    /// The URL without its scheme.
    let address: String
    /// The URL without scheme and query.
    let place: String
    var media: Media
    var length: Int64?
    /// The notes. They contain the identity, so that a test can determine the episode of a row in the library. The
    /// library ignores show notes when it matches a feed's items to its rows.
    var notes: String

    init(_ episode: ModelEpisode, guid: String?, scheme: String, address: String) {
        identity = episode.identity
        self.guid = guid
        title = episode.title
        words = episode.words
        published = episode.published
        duration = episode.duration
        url = scheme + address
        self.address = address
        place = String(address.prefix { $0 != "?" })
        media = episode.media
        length = episode.length
        notes = Self.notes(identity: episode.identity, revision: episode.revision)
    }

    private static func notes(identity: Int, revision: Int) -> String {
        "<p>Grüße &amp; notes, revision \(revision), of identity \(identity).</p>"
    }

    /// Returns the identity in the notes of a row.
    static func identity(inNotes notes: String?) -> Int? {
        guard let notes, let word = notes.split(separator: "identity ").last else { return nil }
        return Int(word.prefix { $0.isNumber })
    }

    /// The text after the last slash of `place`.
    var fileName: Substring { place.split(separator: "/").last ?? "" }
    var day: Int64? {
        published.map { date in
            let local = date.seconds + Int64(date.offset)
            return (local - (local % 86_400 + 86_400) % 86_400) / 86_400
        }
    }
    /// Whether the guid is the media URL, as some generators write it.
    var guidIsURL: Bool { guid == url }

    /// Whether both have the same data, including what a user does not see.
    func isSame(as other: Said) -> Bool { looksSame(as: other) && url == other.url }

    /// Whether a user sees no difference. The query of the URL is not compared, because users do not see it.
    func looksSame(as other: Said) -> Bool {
        // Titles are compared by bytes: `==` treats composed and decomposed ones as equal, but `ls` does not.
        (title.map { Array($0.utf8) }) == (other.title.map { Array($0.utf8) }) && guid == other.guid
            && published == other.published && duration == other.duration && media == other.media
            && length == other.length && notes == other.notes
            && url.prefix { $0 != "?" } == other.url.prefix { $0 != "?" }
    }

    var item: Item {
        var item = makeItem(
            title, guid: guid, url: url, published: published?.seconds, offset: published?.offset ?? 0,
            duration: duration, length: length, type: media.type)
        item.description = notes
        return item
    }

    var summary: String {
        let date = published.map { "\($0.seconds)\($0.offset < 0 ? "-" : "+")\($0.offset.magnitude)" } ?? "none"
        return "guid \(guid ?? "none"), “\(title ?? "none")”, date \(date), \(url), "
            + "\(duration ?? -1) s, \(length ?? -1) bytes"
    }
}

/// An episode in the publisher's database.
struct ModelEpisode: Sendable {
    enum GUID: Sendable {
        case none
        case fixed(String)
        /// The current media URL.
        case url
    }

    let identity: Int
    var guid = GUID.none
    var words: String?
    /// The number of the title's spelling; see `title`. All spellings have the same words.
    var typesetting = 0
    var published: PublicationDate?
    var duration: Double?
    var media = Said.Media.mp3
    var length: Int64?
    /// The name of the media file at its host, unique among the episodes.
    var file: String
    /// The value of `edit` in the query of the media URL; `nil` if the query has no such parameter.
    var token: Int?
    var revision = 1
    var isRemoved = false

    /// The title in the current spelling, which varies in case, punctuation and normalization.
    var title: String? {
        guard let words else { return nil }
        switch typesetting {
        case 1: return words.uppercased()
        case 2: return words.replacing(" ", with: " – ", maxReplacements: 1)
        case 3: return "“" + words + "”!"
        case 4: return words.decomposedStringWithCanonicalMapping
        default: return words
        }
    }
}
