internal import Fuse
internal import PodcastLibrary
internal import PodcastProtocol
internal import Synchronization
internal import SystemPackage

// `.search/TERM/SHOW/EPISODE`: podcast directories on the web as folders. `.search` lists no entries, and a lookup of
// any name in it succeeds locally, so walking the tree sends no search. Opening a term's folder, or a show's folder
// below it, sends a command to the daemon, which uses the network. Meanwhile the process that opens the folder waits
// and can be interrupted, but no thread of the mount waits.

/// A folder in `.search`: the shows found by a search for the folder's name.
struct TermFolder: NodeBehaviour {
    let place: NodePlace

    /// The kernel caches the names and attributes of the folders below `.search` for only a minute, since search
    /// results disappear without an event.
    var form: NodeForm { .folder.cached(for: 60) }

    var parent: NodeNumber { .search }

    func facts(open: OpenFile?) -> NodeFacts? { name == nil ? nil : NodeFacts(fixed: node, of: mount) }

    private var name: String? { mount.state.withLock { $0.kernel.terms.name(of: Int(node.row)) } }

    /// The results; `nil` if the folder was not opened yet, or if `SearchTerms` has dropped them for newer names.
    private var found: [FoundFolder]? { mount.state.withLock { $0.kernel.terms.found(by: Int(node.row)) } }

    /// Looks up a show among the term's results. If the mount has no results of the term, returns any show in the
    /// library that has this name, preferably one that a search found, so that a path stays valid after a restart. The
    /// kernel does not cache such a name.
    func find(_ name: String) throws -> Entry? {
        guard let found else {
            guard self.name != nil else { return nil }
            return try mount.library.foundFolder(named: name).map {
                mount.entry(FoundShowFolder.facts(of: $0, in: node), entryTimeout: 0)
            }
        }
        guard let show = found.first(where: { $0.name.utf8.elementsEqual(name.utf8) }) else { return nil }
        return try mount.library.folder(id: show.podcast).map {
            mount.entry(FoundShowFolder.facts(of: $0, in: node))
        }
    }

    func items() throws -> [FolderSnapshot.Item]? {
        try found?.compactMap { found in
            try mount.library.folder(id: found.podcast).map {
                FolderSnapshot.Item(name: found.name, facts: FoundShowFolder.facts(of: $0, in: node))
            }
        }
    }

    /// Returns the command that searches for the term.
    func commandBeforeListing() throws -> Command? {
        guard let name else { throw Errno.staleNFSFileHandle }
        return .searchFolder(term: name)
    }
}

/// The folder of a show that a search for the term found; contains only the show's episodes.
struct FoundShowFolder: NodeBehaviour {
    let place: NodePlace

    /// The maximum age of a found show's feed when its folder is opened, in seconds; the same as in the daemon.
    private static let freshness: Int64 = 3_600

    static func facts(of show: FolderEntry, in term: NodeNumber) -> NodeFacts {
        NodeFacts(folder: NodeNumber(kind: .foundShow, generation: Int(term.row), row: show.id), of: show)
    }

    var form: NodeForm { .folder.cached(for: 60) }

    var parent: NodeNumber { NodeNumber(kind: .term, row: Int64(node.generation)) }

    func facts(open: OpenFile?) throws -> NodeFacts? {
        try mount.library.folder(id: node.show).map { NodeFacts(folder: node, of: $0) }
    }

    func find(_ name: String) throws -> Entry? { try mount.findEpisode(name, of: node.show) }

    func items() throws -> [FolderSnapshot.Item]? {
        guard let show = try mount.library.folder(id: node.show) else { return nil }
        return try mount.library.entries(of: show.id).map {
            FolderSnapshot.Item(name: $0.name, facts: mount.facts(of: $0))
        }
    }

    /// Returns the command that fetches the feed; `nil` if the feed is fresh, or the show is subscribed.
    func commandBeforeListing() throws -> Command? {
        guard let show = try mount.library.podcast(id: node.show) else { throw Errno.staleNFSFileHandle }
        let age = mount.now - (show.lastRefresh ?? 0)
        return !show.ephemeral || age >= 0 && age < Self.freshness ? nil : .fetchShow(podcast: show.id)
    }

    func extendedAttributes() throws -> [(String, String)] {
        try ShowFolder(place: place).extendedAttributes()
    }

    func command(setting attribute: ControlAttribute, to value: String) throws -> Command? {
        if attribute == .task, value == "refresh" { return .fetchShow(podcast: node.show) }
        return try ShowFolder(place: place).command(setting: attribute, to: value)
    }
}
