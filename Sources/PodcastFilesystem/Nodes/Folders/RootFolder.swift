internal import Fuse
internal import PodcastLibrary
internal import PodcastProtocol

/// The root folder of a mount: files about all shows, `.find`, `.search`, the folder of tags, `Tagged` if enabled,
/// views and shows.
struct RootFolder: NodeBehaviour {
    let node: NodeNumber
    let mount: PodcastFilesystem

    var form: NodeForm { .folder }

    func find(_ name: String) throws -> Entry? {
        if let file = FixedFile.allCases.first(where: { $0.name.utf8.elementsEqual(name.utf8) }) {
            return try mount.entry(of: file.number)
        }
        if let show = try mount.library.folder(named: name) { return mount.entry(ShowFolder.facts(of: show)) }
        if let view = try mount.library.viewFolder(named: name) {
            return mount.entry(ViewFolderNode.facts(of: view, mount))
        }
        return try folders().first { $0.name.utf8.elementsEqual(name.utf8) }.map { mount.entry($0.facts) }
    }

    func items() throws -> [FolderSnapshot.Item]? {
        let shows = try mount.library.folders().map {
            FolderSnapshot.Item(name: $0.name, facts: ShowFolder.facts(of: $0))
        }
        let views = try mount.library.viewFolders().map {
            FolderSnapshot.Item(name: $0.name, facts: ViewFolderNode.facts(of: $0, mount))
        }
        let files = FixedFile.allCases.map { FolderSnapshot.Item(name: $0.name, bare: $0.number) }
        return files + (try folders()) + views + shows
    }

    /// Returns the folders other than views and shows.
    private func folders() throws -> [FolderSnapshot.Item] {
        var folders = [
            (".find", NodeNumber.find), (".search", .search), (try mount.library.tagsFolder(), .tags),
        ]
        if mount.options.hasTagged { folders.append((try mount.library.taggedFolder(), .tagged)) }
        return folders.map {
            FolderSnapshot.Item(name: $0, facts: NodeFacts(fixed: $1, of: mount))
        }
    }

    func command(setting attribute: ControlAttribute, to value: String) throws -> Command? {
        guard attribute == .task else { return nil }
        if value == "refresh" { return .refresh(podcasts: []) }
        return try ControlAttribute.action(value).map {
            .act($0, episodes: try mount.library.episodes(of: nil, for: $0))
        }
    }
}
