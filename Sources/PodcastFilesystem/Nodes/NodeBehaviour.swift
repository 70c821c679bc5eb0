internal import Fuse
internal import PodcastLibrary
internal import PodcastProtocol
internal import Synchronization
internal import SystemPackage

/// The behavior of one node. Every kind of node has an implementation. The defaults in the extension below are those
/// of a regular file without extended attributes, except those of `opening`, which rejects the open of a folder or
/// link, and of `facts`, which are those of a folder without a time of its own.
///
/// A function returns `nil` if the node, name or attribute does not exist (any more). A thrown error is sent to the
/// kernel as the reply.
protocol NodeBehaviour {
    var place: NodePlace { get }
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

/// A node, and the file system to which it belongs.
struct NodePlace {
    let node: NodeNumber
    let mount: PodcastFilesystem
}

extension NodeBehaviour {
    var node: NodeNumber { place.node }
    var mount: PodcastFilesystem { place.mount }

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
        let place = NodePlace(node: node, mount: self)
        return switch node.kind {
        case .fixed: if node == .root { RootFolder(place: place) } else { RootFile(place: place) }
        case .show: ShowFolder(place: place)
        case .episode: EpisodeFile(place: place)
        case .view: ViewFolderNode(place: place)
        case .viewLink, .findLink: EpisodeLinkNode(place: place)
        case .viewPlaylist: ViewPlaylistFile(place: place)
        case .viewNoMedia, .findNoMedia: NoMediaFile(place: place)
        case .viewPage: ViewPageFile(place: place)
        case .tags: TagsFolder(place: place)
        case .tag: TagFolder(place: place)
        case .tagLink: TagLinkNode(place: place)
        case .playlist: PlaylistFile(place: place)
        case .page: PageFile(place: place)
        case .feedJSON: FeedJSONFile(place: place)
        case .feedXML: FeedXMLFile(place: place)
        case .notesFolder, .chaptersFolder, .alternates: SidecarFolder(place: place)
        case .episodeAlternates: AlternatesFolder(place: place)
        case .notes: NotesFile(place: place)
        case .chapters: ChaptersFile(place: place)
        case .cover, .art, .vtt, .srt: AssetFile(place: place)
        case .folderIcon: FolderIconFile(place: place)
        case .showFeed: ShowFeedFile(place: place)
        case .viewFeed: ViewFeedFile(place: place)
        case .tagged: TaggedFolder(place: place)
        case .taggedShow: TaggedShow(place: place)
        case .taggedEpisode: TaggedEpisode(place: place)
        case .find: TermsFolder(place: place, terms: \.findTerms, termKind: .findTerm)
        case .findTerm: FindTermFolder(place: place)
        case .findPlaylist: FindPlaylistFile(place: place)
        case .search: TermsFolder(place: place, terms: \.terms, termKind: .term)
        case .term: TermFolder(place: place)
        case .foundShow: FoundShowFolder(place: place)
        }
    }

    /// Returns the reply to a lookup of a node; `nil` if the node does not exist.
    func entry(of node: NodeNumber) throws -> Entry? { try behaviour(of: node).facts(open: nil).map { entry($0) } }
}

/// The attributes of a node, except those that all nodes of its kind share.
struct NodeFacts: Sendable {
    var number: NodeNumber
    /// The size in bytes.
    var size: Int64
    /// The allocated size in units of 512 bytes.
    var blocks: Int64
    /// The atime. `accessed`, `modified` and `changed` are in seconds of Unix time.
    var accessed: Int64
    var modified: Int64
    var changed: Int64

    init(_ number: NodeNumber, size: Int64, modified: Int64, changed: Int64) {
        self.number = number
        self.size = size
        blocks = (size + 511) / 512
        accessed = modified
        self.modified = modified
        self.changed = changed
    }

    /// Creates the attributes of a symbolic link.
    init(_ link: NodeNumber, to target: String, modified: Int64, changed: Int64) {
        self.init(link, size: Int64(target.utf8.count), modified: modified, changed: changed)
        blocks = 0
    }

    /// Creates the attributes of a folder for which no time is recorded. All its times are the start of the mount.
    init(fixed folder: NodeNumber, of mount: PodcastFilesystem) {
        self.init(folder: folder, modified: mount.started, changed: mount.started)
    }

    init(folder number: NodeNumber, modified: Int64, changed: Int64) {
        self.init(number, size: 4096, modified: modified, changed: changed)
        accessed = changed
    }

    /// Creates the attributes of a show's folder or of a subfolder of it. The modification time is that of the newest
    /// episode, if there is one.
    init(folder number: NodeNumber, of show: FolderEntry) {
        self.init(folder: number, modified: show.newest ?? show.changed, changed: show.changed)
    }
}

/// The attributes that all nodes of a kind share, and how long the kernel may cache them.
struct NodeForm: Sendable {
    var kind: FileKind
    var permissions: UInt16
    var links: UInt32 = 1
    /// The preferred size of a read, in bytes.
    var blockSize: Int32 = 4096
    /// The time in seconds for which the kernel may cache attributes.
    var attributeTimeout = longest
    /// The time in seconds for which the kernel may cache the name.
    var entryTimeout = longest
    /// Whether the size of the opened content is pushed to the kernel, so that fstat(2) after an open returns it.
    var pushesSize = true

    /// The timeout of names and attributes that podfs invalidates in the kernel when they change: a day.
    static let longest: Double = 86_400

    static let file = NodeForm(kind: .regular, permissions: 0o444)
    static let folder = NodeForm(kind: .directory, permissions: 0o555, links: 2)
    static let link = NodeForm(kind: .symlink, permissions: 0o777)
    /// The form of files that change without an event. The kernel must not cache their attributes.
    static let changing = NodeForm(kind: .regular, permissions: 0o444, attributeTimeout: 0, pushesSize: false)

    /// Returns a copy with another timeout for attributes and names.
    func cached(for seconds: Double) -> NodeForm {
        var form = self
        (form.attributeTimeout, form.entryTimeout) = (seconds, seconds)
        return form
    }
}

extension PodcastFilesystem {
    func attributes(_ facts: NodeFacts, _ form: NodeForm) -> Attributes {
        Attributes(
            inode: facts.number.inode, kind: form.kind, permissions: form.permissions, links: form.links,
            size: facts.size, blocks: facts.blocks, blockSize: form.blockSize, uid: options.owner.uid,
            gid: options.owner.gid, accessed: facts.accessed, modified: facts.modified, changed: facts.changed)
    }

    /// Returns the reply to a lookup.
    ///
    /// - Parameter entryTimeout: 0 if the kernel must not cache the name; `nil` for the timeout of the node's form.
    func entry(_ facts: NodeFacts, entryTimeout: Double? = nil) -> Entry {
        let form = behaviour(of: facts.number).form
        let (attributes, timeout) = attributesAndTimeout(facts, form)
        return Entry(
            node: facts.number.node, attributes: attributes, attributeTimeout: timeout,
            entryTimeout: entryTimeout ?? form.entryTimeout)
    }

    /// Returns the attributes for a reply, and the time in seconds for which the kernel may cache them.
    func attributesAndTimeout(_ facts: NodeFacts, _ form: NodeForm) -> (attributes: Attributes, timeout: Double) {
        guard form.kind == .regular else { return (attributes(facts, form), form.attributeTimeout) }
        let (sent, isCached) = state.withLock { $0.kernel.prepareReply(facts) }
        return (attributes(sent, form), isCached ? form.attributeTimeout : 0)
    }
}
