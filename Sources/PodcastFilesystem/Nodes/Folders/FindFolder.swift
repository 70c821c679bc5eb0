internal import Fuse
internal import PodcastLibrary
internal import PodcastProtocol
internal import Synchronization
internal import SystemPackage
internal import Transfers

// `.find/TERM/`: links to the episodes whose titles, notes or cached transcripts match the term, the best first.
// `.find` lists no entries, and a lookup of any name in it succeeds. Opening a term's folder, or looking up a name in
// it, searches the index in the cache, without the network and without the daemon.

/// The folder `.find` or `.search`.
struct TermsFolder<Result: Sendable>: NodeBehaviour {
    let place: NodePlace
    /// The names that were looked up, and the kind of their folders.
    let terms: WritableKeyPath<KernelCache, SearchTerms<Result>>
    let termKind: NodeNumber.Kind

    var form: NodeForm { .folder }

    func facts(open: OpenFile?) -> NodeFacts? { node.row == 1 ? NodeFacts(fixed: node, of: mount) : nil }

    /// Looks up a name. Every name exists, except those that start with a dot: programs look up `.hidden`, `.git` and
    /// others in any folder. Throws ENFILE if the kernel knows too many names.
    func find(_ name: String) throws -> Entry? {
        guard node.row == 1, !name.isEmpty, name.utf8.first != UInt8(ascii: ".") else { return nil }
        let (number, dropped) = mount.state.withLock { $0.kernel[keyPath: terms].lookUp(name) }
        mount.send(dropped.map { .entry(parent: node, name: $0) })
        guard let number else { throw Errno.tooManyOpenFilesInSystem }
        return try mount.entry(of: NodeNumber(kind: termKind, row: Int64(number)))
    }

    func items() -> [FolderSnapshot.Item]? { node.row == 1 ? [] : nil }
}

/// A folder in `.find`: links to the episodes that match the folder's name.
struct FindTermFolder: NodeBehaviour {
    let place: NodePlace

    /// The maximum number of links, as in a view without a limit of its own.
    private static let limit = 200

    /// The files beside the links.
    private static let files: [(name: String, kind: NodeNumber.Kind)] = [
        (ViewFolderNode.playlist, .findPlaylist), (ViewFolderNode.noMedia, .findNoMedia),
    ]

    /// The kernel caches the names and attributes of the folder and its links for only a minute, since no event reports
    /// that other episodes match.
    var form: NodeForm { .folder.cached(for: 60) }

    var parent: NodeNumber { .find }

    func facts(open: OpenFile?) -> NodeFacts? { name == nil ? nil : NodeFacts(fixed: node, of: mount) }

    var name: String? { mount.state.withLock { $0.kernel.findTerms.name(of: Int(node.row)) } }

    func find(_ name: String) throws -> Entry? {
        if let file = Self.files.first(where: { $0.name == name }) {
            return try mount.entry(of: NodeNumber(kind: file.kind, row: node.row))
        }
        return mount.entry(named: name, among: try links(isListing: false))
    }

    func items() throws -> [FolderSnapshot.Item]? {
        guard name != nil else { return nil }
        let links = try links(isListing: true).enumerated()
        return Self.files.map { FolderSnapshot.Item(name: $0.name, bare: NodeNumber(kind: $0.kind, row: node.row)) }
            + links.map { FolderSnapshot.Item(name: $1.name, facts: $1.facts, rank: $0) }
    }

    /// Returns the links, the best match first.
    ///
    /// - Parameter isListing: Whether to search again. Otherwise the results of the last search are used, if there are
    ///   any, so that the listed names can be looked up.
    func links(isListing: Bool) throws -> [EpisodeLink] {
        guard let name else { return [] }
        let known = isListing ? nil : mount.state.withLock { $0.kernel.findTerms.found(by: Int(node.row)) }
        let ids = try known ?? FindTerm(name).map { try mount.findIndex.episodes(matching: $0) } ?? []
        let entries = try mount.library.foundEntries(ids, limit: Self.limit)
        if known == nil {
            mount.state.withLock { $0.kernel.findTerms.set(found: entries.map(\.id), by: Int(node.row)) }
        }
        return try mount.links(to: entries, in: node)
    }
}

/// The links of a term's folder as a playlist, the best match first.
struct FindPlaylistFile: GeneratedFile {
    let place: NodePlace

    var form: NodeForm { .changing }

    func render() throws -> Rendering? {
        let folder = FindTermFolder(place: NodePlace(node: NodeNumber(kind: .findTerm, row: node.row), mount: mount))
        guard let name = folder.name else { return nil }
        let playlist = try mount.playlist(name, of: folder.links(isListing: false))
        return Rendering(content: playlist, modified: mount.now, changed: mount.now)
    }
}
