internal import Fuse
internal import PodcastLibrary
internal import PodcastPages
internal import PodcastProtocol
internal import Synchronization
internal import Transfers

/// A view: a folder in the root, such as `Latest`, with links to episodes. The library stores which episodes these
/// are. The folder also has a playlist and an HTML page of them, a feed of them if a web server shares the mount, and
/// an empty `.nomedia`, so that media scanners do not find each episode twice.
struct ViewFolderNode: NodeBehaviour {
    let place: NodePlace

    static let playlist = "playlist.m3u8"
    static let noMedia = ".nomedia"

    /// The files that every view has beside its links.
    private static let files: [(name: String, kind: NodeNumber.Kind)] = [
        (playlist, .viewPlaylist), (noMedia, .viewNoMedia), (Shelf.viewFile, .viewPage),
    ]

    static func number(_ view: ViewID) -> NodeNumber { NodeNumber(kind: .view, row: view) }

    static func facts(of view: ViewFolder, _ mount: PodcastFilesystem) -> NodeFacts {
        let changed = view.changed > 0 ? view.changed : mount.started
        return NodeFacts(folder: number(view.id), modified: changed, changed: changed)
    }

    var form: NodeForm { .folder }

    func facts(open: OpenFile?) throws -> NodeFacts? {
        try mount.library.viewFolder(id: node.view).map { Self.facts(of: $0, mount) }
    }

    func find(_ name: String) throws -> Entry? {
        if let file = Self.files.first(where: { $0.name == name }) {
            return try mount.entry(of: NodeNumber(kind: file.kind, row: node.view))
        }
        if let entry = mount.entry(named: name, among: try mount.links(of: node.view)) { return entry }
        guard name == ShowFeedFile.name else { return nil }
        return try mount.entry(of: NodeNumber(kind: .viewFeed, row: node.view))
    }

    func items() throws -> [FolderSnapshot.Item]? {
        guard try mount.library.viewFolder(id: node.view) != nil else { return nil }
        let files = Self.files + (mount.options.shareBase == nil ? [] : [(ShowFeedFile.name, .viewFeed)])
        return files.map { FolderSnapshot.Item(name: $0.name, bare: NodeNumber(kind: $0.kind, row: node.view)) }
            + (try mount.links(of: node.view)).map { FolderSnapshot.Item(name: $0.name, facts: $0.facts) }
    }
}

extension PodcastFilesystem {
    /// Looks up a link by its name, or by its name as the playlist encodes it. No invalidation is sent for the encoded
    /// name, so the kernel must not cache it.
    func entry(named name: String, among links: [EpisodeLink]) -> Entry? {
        if let link = links.first(where: { $0.name.utf8.elementsEqual(name.utf8) }) { return entry(link.facts) }
        guard let plain = Playlist.fileName(ofEncodedForVLC: name) else { return nil }
        return links.first { $0.name.utf8.elementsEqual(plain.utf8) }.map { entry($0.facts, entryTimeout: 0) }
    }
}

/// A symbolic link in a view's folder, or in a folder of `.find`, which leads to an episode.
struct EpisodeLinkNode: NodeBehaviour {
    let place: NodePlace

    private var isFound: Bool { node.kind == .findLink }

    var form: NodeForm { isFound ? .link.cached(for: 60) : .link }

    func facts(open: OpenFile?) throws -> NodeFacts? { try link()?.facts }

    func target() throws -> String? { try link()?.target }

    /// Returns the link; `nil` if the episode or its show was removed.
    private func link() throws -> EpisodeLink? {
        let found =
            try isFound
            ? mount.library.foundEntries([node.episode], limit: 1).first : mount.library.entry(id: node.episode)
        guard let entry = found, let show = try mount.library.folder(id: entry.podcast) else { return nil }
        let folder = NodeNumber(kind: isFound ? .findTerm : .view, row: Int64(node.generation))
        // The link's name in its folder does not affect its target.
        return EpisodeLink(entry, in: folder, name: entry.name, show: show.name)
    }
}

/// The links of a view as a playlist, in the view's order.
struct ViewPlaylistFile: GeneratedFile {
    let place: NodePlace

    func render() throws -> Rendering? {
        guard let view = try mount.library.viewFolder(id: node.view) else { return nil }
        let playlist = try mount.playlist(view.name, of: mount.links(of: view.id))
        let moment = view.changed > 0 ? view.changed : mount.started
        return Rendering(content: playlist, modified: moment, changed: moment)
    }
}

/// A view's episodes as a page for a browser, in the view's order. The page shows the first `ViewPage.limit` of them.
struct ViewPageFile: GeneratedFile {
    let place: NodePlace

    var form: NodeForm { .changing }

    func render() throws -> Rendering? {
        guard let view = try mount.library.viewFolder(id: node.view) else { return nil }
        let shows = try mount.library.podcasts().map { ($0.id, $0) }
        let page = ViewPage.bytes(
            folder: view.name, try mount.library.shelf(of: view.id, limit: ViewPage.loadLimit),
            shows: Dictionary(shows, uniquingKeysWith: { first, _ in first }),
            views: try mount.library.viewFolders().map(\.name))
        return Rendering(content: GeneratedContent(page), modified: mount.now, changed: mount.now)
    }
}

/// An empty file that keeps media scanners out of a folder of links.
struct NoMediaFile: GeneratedFile {
    let place: NodePlace

    func render() throws -> Rendering? {
        if node.kind == .viewNoMedia, try mount.library.viewFolder(id: node.view) == nil { return nil }
        return Rendering(content: GeneratedContent([]), modified: mount.started, changed: mount.started)
    }
}

/// A symbolic link to an episode, with the episode's times.
struct EpisodeLink: Sendable {
    let name: String
    /// The target. It is relative, so it is valid under whatever path a program sees the mount.
    let target: String
    let facts: NodeFacts

    /// - Parameter folder: The view, or the folder in `.find`, that has the link.
    init(_ entry: EpisodeEntry, in folder: NodeNumber, name: String, show: String) {
        self.name = name
        target = (folder.kind == .findTerm ? "../../" : "../") + "\(show)/\(entry.name)"
        let kind: NodeNumber.Kind = folder.kind == .findTerm ? .findLink : .viewLink
        facts = NodeFacts(
            NodeNumber(kind: kind, generation: Int(folder.row), row: entry.id), to: target, modified: entry.modified,
            changed: entry.changed)
    }
}

extension PodcastFilesystem {
    /// Lists a view, and sends the invalidations for its changes since the last listing.
    func links(of view: ViewID) throws -> [EpisodeLink] {
        // The revision is read before the rows, so that a change after this point leads to another listing.
        let revision = try library.viewFolder(id: view)?.revision ?? 0
        let entries = try library.entries(of: view)
        let links = try links(to: entries, in: ViewFolderNode.number(view))
        send(state.withLock { $0.kernel.views.listed(view, links, revision: revision) })
        return links
    }

    /// Returns links to `entries` with unique names: `EPISODE - SHOW.ext`.
    ///
    /// If several names would be equal, the oldest row gets the name itself, and the others get it with a number. So
    /// adding newer episodes does not change the names of older ones.
    func links(to entries: [EpisodeEntry], in folder: NodeNumber) throws -> [EpisodeLink] {
        let shows = try library.folderNames(of: Set(entries.map(\.podcast)))
        var unique = UniqueNames(taken: [])
        var names: [EpisodeID: String] = [:]
        for entry in entries.sorted(by: { $0.id < $1.id }) {
            guard let show = shows[entry.podcast] else { continue }
            // `FileName.stem` cuts the name at a character boundary, to leave space for the extension.
            let stem = unique.claim(FileName.stem("\(FileName.stem(ofFile: entry.name)) - \(show)"))
            let fileExtension = FileName.fileExtension(of: entry.name)
            names[entry.id] = fileExtension.isEmpty ? stem : "\(stem).\(fileExtension)"
        }
        return entries.compactMap { entry in
            guard let name = names[entry.id], let show = shows[entry.podcast] else { return nil }
            return EpisodeLink(entry, in: folder, name: name, show: show)
        }
    }

    /// Returns the playlist of `links`, in their order.
    func playlist(_ title: String, of links: [EpisodeLink]) throws -> GeneratedContent {
        let episodes = try library.tracks(of: links.map(\.facts.number.episode))
        let tracks = links.compactMap { link in
            var track = episodes[link.facts.number.episode]
            track?.name = link.name
            return track
        }
        return GeneratedContent(Playlist.bytes(title: title, tracks: tracks, isSerial: false))
    }

    /// Lists again each view that the kernel has cached and that has changed.
    func refreshViews() {
        for (view, revision) in state.withLock({ $0.kernel.views.revisions }) {
            guard let current = try? library.viewFolder(id: view) else {
                send(state.withLock { $0.kernel.views.remove(view) })
                continue
            }
            if current.revision != revision { _ = try? links(of: view) }
        }
    }
}
