internal import Fuse
internal import PodcastLibrary
internal import Transfers

/// A kind of file or folder that belongs to an episode, in the show's folder or a subfolder of it.
struct Sidecar: Sendable {
    let kind: NodeNumber.Kind
    /// An episode with any of these flags in the library has a sidecar of this kind.
    let offered: Sidecars
    /// The file's extension. Empty for a folder, whose name is the episode's name without extension.
    let fileExtension: String
    /// The kind of the folder that contains the sidecars.
    var folder = NodeNumber.Kind.show
    /// The name of that folder; `nil` for the show's own.
    var folderName: String?
    /// Whether the folder exists only if an episode of the show has something in it.
    var isOptional = false

    static let all: [Sidecar] = [
        Sidecar(kind: .art, offered: .art, fileExtension: "jpg"),
        Sidecar(kind: .vtt, offered: .anyVTT, fileExtension: "vtt"),
        Sidecar(kind: .srt, offered: .srt, fileExtension: "srt"),
        Sidecar(kind: .notes, offered: .notes, fileExtension: "html", folder: .notesFolder, folderName: ".notes"),
        Sidecar(
            kind: .chapters, offered: .chapters, fileExtension: "json", folder: .chaptersFolder,
            folderName: ".chapters"),
        Sidecar(
            kind: .episodeAlternates, offered: .alternates, fileExtension: "", folder: .alternates,
            folderName: Alternate.folder, isOptional: true),
    ]

    /// The form of sidecar files. The kernel caches their attributes for only a minute, because a refresh may change
    /// the sidecars of many episodes, and the daemon then reports only that the show has changed. Opening a sidecar
    /// updates its attributes.
    static let form = NodeForm(kind: .regular, permissions: 0o444, attributeTimeout: 60)
    /// The form of a folder that belongs to one episode, such as the folder of its alternates.
    static let folderForm = NodeForm(kind: .directory, permissions: 0o555, links: 2, attributeTimeout: 60)

    func isOffered(by entry: EpisodeEntry) -> Bool { !offered.isDisjoint(with: entry.sidecars) }

    /// Returns the name of the sidecar that belongs to an episode's file.
    func name(of episode: String) -> String {
        FileName.stem(ofFile: episode) + (fileExtension.isEmpty ? "" : "." + fileExtension)
    }

    /// Returns the name, without extension, of the episode to which a sidecar with this name would belong; `nil` if the
    /// name does not have this kind's extension.
    func stem(of name: String) -> String? {
        if fileExtension.isEmpty { return name }
        return FileName.fileExtension(of: name) == fileExtension ? FileName.stem(ofFile: name) : nil
    }
}

/// A folder of sidecars in a show's folder, with the times of the show's folder.
struct SidecarFolder: NodeBehaviour {
    let node: NodeNumber
    let mount: PodcastFilesystem

    private var sidecar: Sidecar? { Sidecar.all.first { $0.folder == node.kind } }

    var form: NodeForm { .folder }

    var parent: NodeNumber { NodeNumber(kind: .show, row: node.row) }

    func facts(open: OpenFile?) throws -> NodeFacts? {
        try mount.library.folder(id: node.show).map { NodeFacts(folder: node, of: $0) }
    }

    func find(_ name: String) throws -> Entry? {
        guard let sidecar, let stem = sidecar.stem(of: name),
            let episode = try mount.library.entry(of: node.show, stem: stem)
        else { return nil }
        return try mount.entry(of: NodeNumber(kind: sidecar.kind, row: episode.id))
    }

    func items() throws -> [FolderSnapshot.Item]? {
        guard let sidecar, try mount.library.folder(id: node.show) != nil else { return nil }
        return try mount.library.entries(of: node.show, with: sidecar.offered).map {
            FolderSnapshot.Item(name: sidecar.name(of: $0.name), bare: NodeNumber(kind: sidecar.kind, row: $0.id))
        }
    }

    var isListingCacheable: Bool { true }
}
