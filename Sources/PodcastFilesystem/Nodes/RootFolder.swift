internal import Fuse
internal import PodcastLibrary
internal import PodcastProtocol
internal import TransferCore

/// The root folder: files about all shows, folders of links, `.search`, and the shows.
struct RootFolder: NodeBehaviour {
    let node: NodeNumber
    let mount: PodcastFilesystem

    var form: NodeForm { .folder }

    func facts(open: OpenFile?) -> NodeFacts? {
        NodeFacts(folder: node, modified: mount.started, changed: mount.started)
    }

    func find(_ name: String) throws -> Entry? {
        if let file = FixedFile(name: name) { return try mount.find(file.number) }
        if name == SearchFolder.name { return try mount.find(.search) }
        if let links = LinkFolder(name: name) { return try mount.find(links.number) }
        return try mount.library.folder(named: name).map { mount.entry(ShowFolder.facts(of: $0)) }
    }

    func items() throws -> [FolderSnapshot.Item]? {
        let shows = try mount.library.folders().map {
            FolderSnapshot.Item(name: $0.name, facts: ShowFolder.facts(of: $0))
        }
        return FixedFile.allCases.map { FolderSnapshot.Item(name: $0.name, bare: $0.number) }
            + [
                FolderSnapshot.Item(
                    name: SearchFolder.name,
                    facts: NodeFacts(folder: .search, modified: mount.started, changed: mount.started))
            ]
            + LinkFolder.allCases.map { FolderSnapshot.Item(name: $0.name, facts: mount.facts(of: $0)) } + shows
    }

    func command(setting attribute: ControlAttribute, to value: String) throws -> Command? {
        guard attribute == .task else { return nil }
        if value == "refresh" { return .refresh(podcasts: []) }
        return try ControlAttribute.action(value).map {
            .act($0, episodes: try mount.library.episodes(of: nil, for: $0))
        }
    }
}
