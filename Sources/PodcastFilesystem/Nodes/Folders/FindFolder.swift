internal import Fuse
internal import PodcastLibrary
internal import PodcastPages
internal import PodcastProtocol
internal import Synchronization
internal import SystemPackage
internal import Transfers

// `.find/TERM/`: links to the episodes whose titles, notes or cached transcripts match the term, the best first.
// `.find` lists no entries, and a lookup of any name in it succeeds. Opening a term's folder, or looking up a name in
// it, searches the index in the cache, without the network and without the daemon.

/// The folder `.find`.
struct FindFolder: NodeBehaviour {
    let node: NodeNumber
    let mount: PodcastFilesystem

    static let name = ".find"

    var form: NodeForm { .folder }

    func facts(open: OpenFile?) -> NodeFacts? { node == .find ? NodeFacts(fixed: node, of: mount) : nil }

    /// Looks up a name, as in `.search`.
    func find(_ name: String) throws -> Entry? {
        guard node == .find, !name.isEmpty, name.utf8.first != UInt8(ascii: ".") else { return nil }
        let (number, dropped) = mount.state.withLock { $0.kernel.findTerms.lookUp(name) }
        mount.send(dropped.map { .entry(parent: .find, name: $0) })
        guard let number else { throw Errno.tooManyOpenFilesInSystem }
        return try mount.entry(of: NodeNumber(kind: .findTerm, row: Int64(number)))
    }

    func items() -> [FolderSnapshot.Item]? { node == .find ? [] : nil }
}

/// A folder in `.find`: links to the episodes that match the folder's name.
struct FindTermFolder: NodeBehaviour {
    let node: NodeNumber
    let mount: PodcastFilesystem

    /// The maximum number of links, as in a view without a limit of its own.
    private static let limit = 200

    /// The forms of the folder and its links. The kernel caches their names and attributes for only a minute, since no
    /// event reports that other episodes match.
    static let form = NodeForm.folder.cached(for: 60)
    static let linkForm = NodeForm.link.cached(for: 60)

    var form: NodeForm { Self.form }

    var parent: NodeNumber { .find }

    func facts(open: OpenFile?) -> NodeFacts? { name == nil ? nil : NodeFacts(fixed: node, of: mount) }

    var name: String? { mount.state.withLock { $0.kernel.findTerms.name(of: Int(node.row)) } }

    func find(_ name: String) throws -> Entry? {
        switch name {
        case ViewFolderNode.playlist: return try mount.entry(of: NodeNumber(kind: .findPlaylist, row: node.row))
        case ViewFolderNode.noMedia: return try mount.entry(of: NodeNumber(kind: .findNoMedia, row: node.row))
        default: break
        }
        return mount.entry(named: name, among: try links(isListing: false))
    }

    func items() throws -> [FolderSnapshot.Item]? {
        guard name != nil else { return nil }
        let files = [(ViewFolderNode.playlist, NodeNumber.Kind.findPlaylist), (ViewFolderNode.noMedia, .findNoMedia)]
            .map {
                FolderSnapshot.Item(name: $0, bare: NodeNumber(kind: $1, row: node.row))
            }
        return files
            + (try links(isListing: true)).enumerated().map {
                FolderSnapshot.Item(name: $1.name, facts: $1.facts, rank: $0)
            }
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
        let shows = try mount.library.folderNames(of: Set(entries.map(\.podcast)))
        let names = EpisodeLink.names(entries, shows: shows)
        return entries.compactMap { entry in
            guard let name = names[entry.id], let show = shows[entry.podcast] else { return nil }
            return FindLinkNode.link(entry, name: name, show: show, term: Int(node.row))
        }
    }
}

/// A symbolic link in a term's folder, which leads to an episode.
struct FindLinkNode: NodeBehaviour {
    let node: NodeNumber
    let mount: PodcastFilesystem

    static func link(_ entry: EpisodeEntry, name: String, show: String, term: Int) -> EpisodeLink {
        EpisodeLink(
            NodeNumber(kind: .findLink, generation: term, row: entry.id), entry, name: name,
            target: "../../\(show)/\(entry.name)")
    }

    var form: NodeForm { FindTermFolder.linkForm }

    func facts(open: OpenFile?) throws -> NodeFacts? { try link()?.facts }

    func target() throws -> String? { try link()?.target }

    /// Returns the link; `nil` if the episode or its show was removed.
    private func link() throws -> EpisodeLink? {
        guard let entry = try mount.library.foundEntries([node.episode], limit: 1).first,
            let show = try mount.library.folder(id: entry.podcast)
        else { return nil }
        // The link's name in its folder does not affect its target.
        return Self.link(entry, name: entry.name, show: show.name, term: node.generation)
    }
}

/// The links of a term's folder as a playlist, the best match first.
struct FindPlaylistFile: GeneratedFile {
    let node: NodeNumber
    let mount: PodcastFilesystem

    var form: NodeForm { .changing }

    func render() throws -> Rendering? {
        let folder = FindTermFolder(node: NodeNumber(kind: .findTerm, row: node.row), mount: mount)
        guard let name = folder.name else { return nil }
        let tracks = try folder.links(isListing: false).compactMap { link -> Track? in
            guard let episode = try mount.library.episode(id: link.facts.number.episode) else { return nil }
            return Track(name: link.name, title: episode.title, duration: episode.duration)
        }
        let playlist = Playlist(title: name, tracks: tracks, isSerial: false)
        return Rendering(GeneratedContent(playlist.bytes), modified: mount.now, changed: mount.now)
    }
}

/// An empty file that keeps media scanners out of a term's folder.
struct FindNoMediaFile: GeneratedFile {
    let node: NodeNumber
    let mount: PodcastFilesystem

    func render() -> Rendering? {
        Rendering(GeneratedContent([]), modified: mount.started, changed: mount.started)
    }
}
