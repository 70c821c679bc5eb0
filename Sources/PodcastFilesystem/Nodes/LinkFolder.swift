internal import Fuse
internal import PodcastLibrary
internal import Synchronization
internal import SystemPackage
internal import TransferCore

/// A folder in the root with links to episodes of all subscribed shows, read from the library on each lookup and
/// listing.
enum LinkFolder: Int64, CaseIterable, Sendable {
    case latest = 1
    case downloaded = 2

    /// The number of episodes in `Latest`.
    static let latestCount = 50

    var name: String {
        switch self {
        case .latest: "Latest"
        case .downloaded: "Downloaded"
        }
    }

    init?(name: String) {
        guard let folder = Self.allCases.first(where: { $0.name.utf8.elementsEqual(name.utf8) }) else { return nil }
        self = folder
    }

    var number: NodeNumber { NodeNumber(kind: .linkFolder, row: rawValue) }

    /// The kind of its links.
    var linkKind: NodeNumber.Kind {
        switch self {
        case .latest: .latestLink
        case .downloaded: .downloadedLink
        }
    }
}

struct LinkFolderNode: NodeBehaviour {
    let node: NodeNumber
    let mount: PodcastFilesystem

    var form: NodeForm { .folder }

    func facts(open: OpenFile?) -> NodeFacts? {
        LinkFolder(rawValue: node.row).map(mount.facts)
    }

    func find(_ name: String) throws -> Entry? {
        try LinkFolder(rawValue: node.row).flatMap {
            try mount.links(of: $0).first { $0.name.utf8.elementsEqual(name.utf8) }.map { mount.entry($0.facts) }
        }
    }

    func items() throws -> [FolderSnapshot.Item]? {
        try LinkFolder(rawValue: node.row).map {
            try mount.links(of: $0).map { FolderSnapshot.Item(name: $0.name, facts: $0.facts) }
        }
    }
}

struct LinkNode: NodeBehaviour {
    let node: NodeNumber
    let mount: PodcastFilesystem

    var form: NodeForm { .link }

    func facts(open: OpenFile?) throws -> NodeFacts? {
        try link()?.facts
    }

    func target() throws -> String? {
        try link()?.target
    }

    /// Returns `nil` if the episode or its show was removed.
    private func link() throws -> EpisodeLink? {
        guard let folder = LinkFolder.allCases.first(where: { $0.linkKind == node.kind }),
            let entry = try mount.library.entry(id: node.episode),
            let show = try mount.library.folder(id: entry.podcast)
        else { return nil }
        // The link's name in its folder does not affect its target.
        return EpisodeLink(folder, entry, name: entry.name, show: show.name)
    }
}

/// A symbolic link to an episode, with the episode's times.
struct EpisodeLink: Sendable {
    let name: String
    /// The relative target, which is valid wherever the mount is seen.
    let target: String
    let facts: NodeFacts

    init(_ folder: LinkFolder, _ entry: EpisodeEntry, name: String, show: String) {
        self.name = name
        target = "../\(show)/\(entry.name)"
        var facts = NodeFacts(
            NodeNumber(kind: folder.linkKind, row: entry.id), size: Int64(target.utf8.count), modified: entry.modified,
            changed: entry.changed)
        facts.blocks = 0
        self.facts = facts
    }

    /// Returns unique names of links to `entries`, by episode: `EPISODE - SHOW.ext`.
    ///
    /// Of equal names the oldest row gets the plain one, so that a name does not change when newer episodes are added.
    static func names(_ entries: [EpisodeEntry], shows: [ShowID: String]) -> [EpisodeID: String] {
        var unique = UniqueNames(taken: [])
        var names: [EpisodeID: String] = [:]
        for entry in entries.sorted(by: { $0.id < $1.id }) {
            guard let show = shows[entry.podcast] else { continue }
            // Cut at a character boundary to leave space for the extension.
            let stem = unique.claim(FileName.stem("\(FileName.stem(ofFile: entry.name)) - \(show)"))
            let fileExtension = FileName.fileExtension(of: entry.name)
            names[entry.id] = fileExtension.isEmpty ? stem : "\(stem).\(fileExtension)"
        }
        return names
    }
}

extension PodcastFilesystem {
    /// Lists a folder of links, newest first, and invalidates the names that it no longer contains.
    func links(of folder: LinkFolder) throws -> [EpisodeLink] {
        let entries =
            switch folder {
            case .latest: try library.latest(limit: LinkFolder.latestCount)
            case .downloaded: try library.completeEntries()
            }
        let shows = Dictionary(try library.folders().map { ($0.id, $0.name) }, uniquingKeysWith: { first, _ in first })
        let names = EpisodeLink.names(entries, shows: shows)
        let links = entries.compactMap { entry -> EpisodeLink? in
            guard let name = names[entry.id], let show = shows[entry.podcast] else { return nil }
            return EpisodeLink(folder, entry, name: name, show: show)
        }
        let now = now
        send(state.withLock { $0.kernel.listed(folder, links, now: now, started: started) })
        return links
    }

    /// Lists again, after a change of the library, the link folders that have been listed before.
    func refreshLinkFolders() {
        let known = state.withLock { state in LinkFolder.allCases.filter { state.kernel.changed($0) != nil } }
        for folder in known { _ = try? links(of: folder) }
    }

    func facts(of folder: LinkFolder) -> NodeFacts {
        let changed = state.withLock { $0.kernel.changed(folder) } ?? started
        return NodeFacts(folder: folder.number, modified: changed, changed: changed)
    }
}
