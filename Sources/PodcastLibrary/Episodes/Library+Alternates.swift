import GRDB
package import PodcastProtocol

/// A further encoding of an episode, with the facts by which a person chooses it.
package struct Alternate: Sendable, Equatable {
    /// The id of the alternate's row, which has its own renditions.
    package var id: EpisodeID
    /// The episode of which it is an encoding.
    package var episode: EpisodeID
    package var title: String?
    /// Bits per second.
    package var bitRate: Double?
    /// The height of a video in pixels.
    package var height: Int?
    package var language: String?
    package var codecs: String?

    /// The folder in a show's folder that contains a folder for each episode with alternates.
    package static let folder = ".alternates"

    /// The maximum number of alternates of all episodes of a show. Further ones are omitted, because a feed must not
    /// decide how large the library becomes. `Medium.maxMedia` bounds the alternates of one episode.
    package static let maxInShow = 50_000

    /// Returns an alternate's path below the show's folder.
    static func path(_ fileName: String, of episode: String) -> String {
        "\(folder)/\(FileName.stem(ofFile: episode))/\(fileName)"
    }
}

extension Library {
    /// Returns the alternates of an episode, in the feed's order; their `name` is the path below the show's folder.
    package func alternates(of episode: EpisodeID) throws -> [EpisodeEntry] {
        try all(joining: AlternateSQL.joined, where: "\(AlternateSQL.isOffered) ORDER BY a.position", [episode])
    }

    /// Returns the alternate of an episode with this file name.
    package func alternate(of episode: EpisodeID, named name: String) throws -> EpisodeEntry? {
        try first(joining: AlternateSQL.joined, where: "\(AlternateSQL.isOffered) AND a.name = ?", [episode, name])
    }

    /// Returns the alternate of a show with this path below the show's folder.
    package func alternate(of podcast: ShowID, path: String) throws -> EpisodeID? {
        try value(
            "SELECT id FROM episode WHERE podcast = ? AND buried = \(EpisodeSQL.alternate) AND name = ?",
            [podcast, path])
    }

    /// Returns the alternate with this id; `nil` for an episode's main file.
    package func alternate(id: EpisodeID) throws -> Alternate? {
        try row(
            "SELECT medium, episode, title, bit_rate, height, language, codecs FROM alternate WHERE medium = ?", [id]
        ) {
            Alternate(
                id: $0[0], episode: $0[1], title: $0[2], bitRate: $0[3], height: $0[4], language: $0[5], codecs: $0[6])
        }
    }

    /// Returns the episode of which a file is an encoding, which is `file` itself for a main file. The playback state
    /// belongs to that episode, whichever file was played.
    package func mainEpisode(of file: EpisodeID) throws -> EpisodeID {
        try value("SELECT episode FROM alternate WHERE medium = ?", [file]) ?? file
    }

    /// Returns all episodes and alternates of a show, also those that are no longer listed or offered.
    package func files(of podcast: ShowID) throws -> [EpisodeID] {
        try values("SELECT id FROM episode WHERE podcast = ?", [podcast])
    }

    /// Returns these episodes and their alternates, also the alternates that the feed no longer offers.
    package func files(of episodes: [EpisodeID]) throws -> [EpisodeID] {
        try query { db in try episodes.flatMap { try Self.files(of: $0, db) } }
    }

    static func files(of episode: EpisodeID, _ db: Database) throws -> [EpisodeID] {
        try [episode] + EpisodeID.fetchAll(db, "SELECT medium FROM alternate WHERE episode = ?", [episode])
    }
}

extension EpisodeEntry {
    /// The name in the folder that contains the file.
    package var fileName: String { FileName.last(ofPath: name) }
}

extension Episode {
    /// Whether this is the file of an alternate, whose `name` begins with `.alternates`. No episode's name begins with
    /// a dot.
    package var isAlternate: Bool { name.utf8.first == UInt8(ascii: ".") }

    /// The name in the folder that contains the file.
    package var fileName: String { FileName.last(ofPath: name) }
}

extension FileName {
    /// Returns the last component of a path.
    static func last(ofPath path: String) -> String {
        // By bytes: a combining mark after the slash forms one `Character` with it.
        path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[path.utf8.index(after: $0)...]) } ?? path
    }
}

/// SQL about alternates.
enum AlternateSQL {
    static let joined = "alternate a CROSS JOIN "
    static let table = "\(joined)episode e ON e.id = a.medium"
    /// The condition of the alternates that the feed offers for an episode.
    static let isOffered = "e.id = a.medium AND a.episode = ? AND e.buried = \(EpisodeSQL.alternate)"

    /// The SQL condition on a row of `episode`: it is neither a tombstone (the row of a removed episode) nor an
    /// alternate of one.
    static let isPresent = """
        buried <> 1 AND NOT EXISTS (SELECT 1 FROM alternate a JOIN episode m ON m.id = a.episode \
        WHERE a.medium = episode.id AND m.buried = 1)
        """
}
