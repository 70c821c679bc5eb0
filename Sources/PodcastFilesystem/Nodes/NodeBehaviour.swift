internal import Fuse
internal import PodcastProtocol
internal import SystemPackage

/// The behavior of one node. Every kind of node has an implementation. The defaults in the extension below are those
/// of a regular file without extended attributes, except those of `opening`, which rejects the open of a folder or
/// link, and of `facts`, which are those of a folder without a time of its own.
///
/// A function returns `nil` if the node, name or attribute does not exist (any more). A thrown error is sent to the
/// kernel as the reply.
protocol NodeBehaviour {
    var node: NodeNumber { get }
    var mount: PodcastFilesystem { get }
    var form: NodeForm { get }

    /// Returns the attributes for stat(2).
    ///
    /// - Parameter open: The open file of an fstat(2); `nil` for stat(2).
    func facts(open: OpenFile?) throws -> NodeFacts?

    // MARK: Folders

    /// The parent of a folder.
    var parent: NodeNumber { get }

    /// Looks up a name in a folder.
    func find(_ name: String) throws -> Entry?

    /// Returns the entries of a folder, without `.` and `..`.
    func items() throws -> [FolderSnapshot.Item]?

    /// Whether the kernel may cache the folder's names. This is so only for the folder of a subscribed show and for its
    /// direct subfolders.
    var isListingCacheable: Bool { get }

    /// Returns the command to send to the daemon before the folder is listed; `nil` if none is needed.
    func commandBeforeListing() throws -> Command?

    // MARK: Files and links

    /// Returns the next step of an open of a file; `flags` are those of open(2).
    func opening(by caller: Caller, flags: Int32) throws -> Opening

    /// Returns the target of a symbolic link.
    func target() throws -> String?

    // MARK: Extended attributes

    /// Returns the names and values of all extended attributes, in the order of listing.
    func extendedAttributes() throws -> [(String, String)]

    /// Returns the command to send to the daemon when an attribute is set; `nil` if the attribute or value is invalid.
    func command(setting attribute: ControlAttribute, to value: String) throws -> Command?
}

extension NodeBehaviour {
    var form: NodeForm { .file }

    func facts(open: OpenFile?) throws -> NodeFacts? { NodeFacts(fixed: node, of: mount) }

    var parent: NodeNumber { .root }

    func find(_ name: String) throws -> Entry? { nil }

    func items() throws -> [FolderSnapshot.Item]? { nil }

    var isListingCacheable: Bool { false }

    func commandBeforeListing() throws -> Command? { nil }

    func opening(by caller: Caller, flags: Int32) throws -> Opening {
        throw form.kind == .symlink ? Errno.tooManySymbolicLinkLevels : Errno.isDirectory
    }

    func target() throws -> String? { throw Errno.invalidArgument }

    func extendedAttributes() throws -> [(String, String)] { [] }

    func command(setting attribute: ControlAttribute, to value: String) throws -> Command? { nil }
}

extension PodcastFilesystem {
    func behaviour(of node: NodeNumber) -> any NodeBehaviour {
        switch node.kind {
        case .fixed: if node == .root { RootFolder(node: node, mount: self) } else { RootFile(node: node, mount: self) }
        case .show: ShowFolder(node: node, mount: self)
        case .episode: EpisodeFile(node: node, mount: self)
        case .view: ViewFolderNode(node: node, mount: self)
        case .viewLink, .findLink: EpisodeLinkNode(node: node, mount: self)
        case .viewPlaylist: ViewPlaylistFile(node: node, mount: self)
        case .viewNoMedia, .findNoMedia: NoMediaFile(node: node, mount: self)
        case .viewPage: ViewPageFile(node: node, mount: self)
        case .tags: TagsFolder(node: node, mount: self)
        case .tag: TagFolder(node: node, mount: self)
        case .tagLink: TagLinkNode(node: node, mount: self)
        case .playlist: PlaylistFile(node: node, mount: self)
        case .page: PageFile(node: node, mount: self)
        case .feedJSON: FeedJSONFile(node: node, mount: self)
        case .feedXML: FeedXMLFile(node: node, mount: self)
        case .notesFolder, .chaptersFolder, .alternates: SidecarFolder(node: node, mount: self)
        case .episodeAlternates: AlternatesFolder(node: node, mount: self)
        case .notes: NotesFile(node: node, mount: self)
        case .chapters: ChaptersFile(node: node, mount: self)
        case .cover, .art, .vtt, .srt: AssetFile(node: node, mount: self)
        case .folderIcon: FolderIconFile(node: node, mount: self)
        case .showFeed: ShowFeedFile(node: node, mount: self)
        case .viewFeed: ViewFeedFile(node: node, mount: self)
        case .tagged: TaggedFolder(node: node, mount: self)
        case .taggedShow: TaggedShow(node: node, mount: self)
        case .taggedEpisode: TaggedEpisode(node: node, mount: self)
        case .find: TermsFolder(node: node, mount: self, terms: \.findTerms, termKind: .findTerm)
        case .findTerm: FindTermFolder(node: node, mount: self)
        case .findPlaylist: FindPlaylistFile(node: node, mount: self)
        case .search: TermsFolder(node: node, mount: self, terms: \.terms, termKind: .term)
        case .term: TermFolder(node: node, mount: self)
        case .foundShow: FoundShowFolder(node: node, mount: self)
        }
    }

    /// Returns the reply to a lookup of a node; `nil` if the node does not exist.
    func entry(of node: NodeNumber) throws -> Entry? { try behaviour(of: node).facts(open: nil).map { entry($0) } }
}
