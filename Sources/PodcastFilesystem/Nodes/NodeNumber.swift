package import Fuse
internal import PodcastLibrary
package import PodcastProtocol
package import Transfers

/// The meaning of a node id: a kind, a row of the library and, for some kinds, a generation. The generation is the
/// number of an episode's rendition (version of the media file) or of a tagged file's version, or of the view, tag or
/// search term that contains the node.
///
/// A node id is computed from these values and never stored, so it is the same after a restart of the mount. Its layout
/// is `kind (6 bits) | generation (18) | row (40)`. The inode number that programs see is the same value with
/// generation 0, so that a new rendition is a new node to the kernel and the same file to the user.
package struct NodeNumber: Sendable, Hashable {
    /// The kinds of nodes; a number is never used for another kind.
    package enum Kind: UInt8, Sendable, CaseIterable {
        /// The root and the generated files in it; the row is a `FixedFile`, or 1 (FUSE_ROOT_ID) for the root.
        case fixed = 0
        case show = 1
        case episode = 2
        /// A folder of links to episodes; the row is the view's.
        case view = 4
        /// A link to an episode. The row is the episode's, and the generation is the view's row. The number 6 belonged
        /// to a former kind.
        case viewLink = 5
        /// The files in a view's folder; the row is the view's.
        case viewPlaylist = 22
        case viewNoMedia = 23
        case viewPage = 34
        /// The folder of all tags; the row is 1.
        case tags = 24
        /// The folder of one tag; the row is the tag's.
        case tag = 25
        /// A link to a show's folder. The row is the show's, and the generation is the tag's row.
        case tagLink = 26
        /// Generated files and folders in a show's folder; the row is the show's.
        case playlist = 7
        case feedJSON = 8
        case feedXML = 9
        case notesFolder = 10
        case chaptersFolder = 11
        /// The files in the notes and chapters folders; the row is the episode's.
        case notes = 12
        case chapters = 13
        /// The show's art; the row is the show's.
        case cover = 14
        /// The file that names the cover as the folder's icon; the row is the show's.
        case folderIcon = 40
        /// An episode's art and transcripts; the row is the episode's.
        case art = 15
        case vtt = 19
        case srt = 20
        /// The folder `.search`.
        case search = 16
        /// The folder of a search term in `.search`; the row is the term's number in `SearchTerms`.
        case term = 17
        /// A show in a term's folder. The row is the show's, and the generation is the number of the term: the kernel
        /// allows a folder only one parent, and a show may be found by several terms and be subscribed as well. Its
        /// inode number is the same in the folders of all terms.
        case foundShow = 18
        /// The folder `.find`.
        case find = 35
        /// The folder of a term in `.find`, and its playlist and `.nomedia`; the row is the term's number in
        /// `SearchTerms`.
        case findTerm = 36
        case findPlaylist = 37
        case findNoMedia = 38
        /// A link to an episode. The row is the episode's, and the generation is the number of the term.
        case findLink = 39
        /// The show as a page; the row is the show's.
        case page = 21
        /// The folder `.alternates`; the row is the show's.
        case alternates = 30
        /// An episode's folder in `.alternates`; the row is the episode's. The files in it are of the kind `episode`.
        case episodeAlternates = 31
        /// The folder of tagged files (episodes with a tag that podfs generates), the folder of a show in it, and a
        /// file. Their rows are a constant, the show's and the episode's. A file's generation is that of its
        /// `TaggedFile`.
        case tagged = 27
        case taggedShow = 28
        case taggedEpisode = 29
        /// The feeds of a show and of a view for other people's podcast clients; the row is the show's or the view's.
        case showFeed = 32
        case viewFeed = 33

        /// Whether any change in a show may change the attributes of its node of this kind.
        var coversShow: Bool { self == .playlist || self == .page }

        /// Whether a folder contains one node of this kind at most.
        var isUniqueInFolder: Bool {
            switch self {
            case .find, .findPlaylist, .findNoMedia, .viewPlaylist, .viewNoMedia, .viewPage, .viewFeed, .tags, .tagged,
                .search, .playlist, .page,
                .feedJSON, .feedXML, .notesFolder, .chaptersFolder, .alternates, .cover, .folderIcon, .showFeed:
                true
            default: false
            }
        }
    }

    package let node: NodeID

    private static let rowBits: UInt64 = 40
    private static let generationBits: UInt64 = 18

    /// Creates a number. Generations wrap around after 18 bits. No node is mistaken for another, since the kernel has
    /// forgotten a node that it has not looked up for 262,143 renditions.
    package init(kind: Kind, generation: Int = 0, row: Int64) {
        let number = UInt64(truncatingIfNeeded: generation) & (1 << Self.generationBits - 1)
        node = NodeID(
            rawValue: UInt64(kind.rawValue) << (Self.rowBits + Self.generationBits) | number << Self.rowBits
                | UInt64(truncatingIfNeeded: row) & (1 << Self.rowBits - 1))
    }

    package static let root = NodeNumber(kind: .fixed, row: 1)
    package static let search = NodeNumber(kind: .search, row: 1)
    package static let find = NodeNumber(kind: .find, row: 1)
    package static let tags = NodeNumber(kind: .tags, row: 1)
    /// Differs from the root and from shows in the lower 32 bits of the inode number; see `inode`.
    package static let tagged = NodeNumber(kind: .tagged, row: 1 << 31 | 2)

    /// Interprets a node id; `nil` for one of an unknown kind.
    package init?(_ node: NodeID) {
        guard Self.kind(node) != nil else { return nil }
        self.node = node
    }

    private static func kind(_ node: NodeID) -> Kind? {
        Kind(rawValue: UInt8(node.rawValue >> (rowBits + generationBits)))
    }

    /// The kind of node; the initializers ensure that it is valid.
    package var kind: Kind { Self.kind(node) ?? .fixed }

    package var generation: Int { Int(node.rawValue >> Self.rowBits & (1 << Self.generationBits - 1)) }

    package var row: Int64 { Int64(node.rawValue & (1 << Self.rowBits - 1)) }

    /// The inode number that programs see.
    ///
    /// The root's differs from its node id in bit 31: to find loops, mpd compares the lower 32 bits of a folder's inode
    /// number with those of the folders above it, and would skip the show of row 1.
    package var inode: UInt64 {
        self == .root ? node.rawValue | 1 << 31 : NodeNumber(kind: kind, row: row).node.rawValue
    }
}

extension NodeNumber {
    package init(kind: Kind, generation: Int = 0, row: some Identifier) {
        self.init(kind: kind, generation: generation, row: row.rawValue)
    }

    /// Creates the number of an episode's current rendition.
    init(_ entry: EpisodeEntry) { self.init(kind: .episode, generation: entry.generation, row: entry.id) }

    /// The row as an episode's, for nodes that belong to one.
    package var episode: EpisodeID { EpisodeID(row) }

    /// The row as a show's, for nodes that belong to one.
    package var show: ShowID { ShowID(row) }

    /// The row as a view's, for nodes that belong to one.
    var view: ViewID { ViewID(row) }

    /// The row as a tag's, for nodes that belong to one.
    var tag: TagID { TagID(row) }
}
