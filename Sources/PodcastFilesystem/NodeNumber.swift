package import Fuse
package import TransferCore

/// What a node id means: a kind, a row of the library, and for episodes a generation.
///
/// Computed, never stored: the same after a restart. `kind (6 bits) | generation (18) | row (40)`; the inode number that
/// programs see is the same with generation 0, so that a new rendition is a new node to the kernel and the same file to
/// the user.
package struct NodeNumber: Sendable, Hashable {
    package enum Kind: UInt8, Sendable, CaseIterable {
        /// The root and what is made in it; the row is a `FixedFile`, and 1 the root itself (FUSE_ROOT_ID).
        case fixed = 0
        case show = 1
        case episode = 2
        /// A folder of links to episodes; the row is a `Gathering`.
        case gathering = 4
        /// Links to episodes; the row is the episode's.
        case latestLink = 5
        case downloadedLink = 6
        /// Files and folders that are made in a show's folder; the row is the show's.
        case playlist = 7
        case feedJSON = 8
        case feedXML = 9
        case notesFolder = 10
        case chaptersFolder = 11
        /// The files in the last two; the row is the episode's.
        case notes = 12
        case chapters = 13
        /// The show's art; the row is the show's.
        case cover = 14
        /// An episode's art and transcripts; the row is the episode's.
        case art = 15
        case vtt = 19
        case srt = 20
        /// The folder `.search`.
        case search = 16
        /// A folder in it; the row is a number of `SearchTerms`.
        case term = 17
        /// A show in one of those. The row is the show's, and the generation the number of the term: the kernel allows a
        /// folder one parent only, and a show may be found by several terms and be subscribed as well. Its inode number
        /// is the same in all of them.
        case foundShow = 18
        /// The show as a page; the row is the show's.
        case page = 21
    }

    package var kind: Kind
    package var generation: Int
    package var row: Int64

    private static let rowBits: UInt64 = 40
    private static let generationBits: UInt64 = 18

    package init(kind: Kind, generation: Int = 0, row: Int64) {
        self.kind = kind
        self.generation = generation
        self.row = row
    }

    package init(kind: Kind, generation: Int = 0, row: some Identifier) {
        self.init(kind: kind, generation: generation, row: row.rawValue)
    }

    /// The row, of a node that belongs to an episode.
    package var episode: EpisodeID { EpisodeID(row) }

    /// The row, of a node that belongs to a show.
    package var show: ShowID { ShowID(row) }

    package static let root = NodeNumber(kind: .fixed, row: 1)
    package static let search = NodeNumber(kind: .search, row: 1)

    package init?(_ node: NodeID) {
        guard let kind = Kind(rawValue: UInt8(node.rawValue >> (Self.rowBits + Self.generationBits))) else {
            return nil
        }
        self.kind = kind
        generation = Int(node.rawValue >> Self.rowBits & (1 << Self.generationBits - 1))
        row = Int64(node.rawValue & (1 << Self.rowBits - 1))
    }

    /// Generations beyond 18 bits begin again: a kernel that has not looked at an episode for 262,143 renditions does not
    /// remember the first.
    package var node: NodeID {
        let number = UInt64(truncatingIfNeeded: generation) & (1 << Self.generationBits - 1)
        return NodeID(
            rawValue: UInt64(kind.rawValue) << (Self.rowBits + Self.generationBits) | number << Self.rowBits
                | UInt64(truncatingIfNeeded: row) & (1 << Self.rowBits - 1))
    }

    /// The folder that a folder lies in.
    var parent: NodeNumber {
        switch kind {
        case .fixed, .show, .episode, .gathering, .search: .root
        case .latestLink: Gathering.latest.number
        case .downloadedLink: Gathering.downloaded.number
        case .playlist, .page, .feedJSON, .feedXML, .notesFolder, .chaptersFolder: NodeNumber(kind: .show, row: row)
        // Files, whose folder is not told by their number.
        case .notes, .chapters, .cover, .art, .vtt, .srt: .root
        case .term: .search
        case .foundShow: NodeNumber(kind: .term, row: Int64(generation))
        }
    }

    package var inode: UInt64 { NodeNumber(kind: kind, row: row).node.rawValue }
}

/// The files that are made in the root.
enum FixedFile: Int64, CaseIterable, Sendable {
    case status = 2
    case statusJSON = 3
    case noMedia = 4
    case trackerIgnore = 5
    case subscriptions = 6
    case statusPage = 7
    case shelf = 8

    var name: String {
        switch self {
        case .status: ".status"
        case .statusJSON: ".status.json"
        case .noMedia: ".nomedia"
        case .trackerIgnore: ".trackerignore"
        case .subscriptions: ".subscriptions.opml"
        case .statusPage: ".status.html"
        case .shelf: "index.html"
        }
    }

    init?(name: String) {
        guard let file = Self.allCases.first(where: { $0.name.utf8.elementsEqual(name.utf8) }) else { return nil }
        self = file
    }

    var number: NodeNumber { NodeNumber(kind: .fixed, row: rawValue) }
}
