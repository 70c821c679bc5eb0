internal import Fuse
internal import PodcastLibrary
internal import PodcastPages
internal import PodcastProtocol
internal import SystemPackage
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
    let place: NodePlace

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

/// An episode's show notes as a sanitized page.
struct NotesFile: GeneratedFile {
    let place: NodePlace

    var form: NodeForm { Sidecar.form }

    func render() throws -> Rendering? {
        guard let episode = try mount.library.episode(id: node.episode), let notes = episode.notes, !notes.isEmpty,
            let show = try mount.library.podcast(id: episode.podcast)
        else { return nil }
        let page = NotesPage.bytes(of: episode, notes: notes, show: show)
        return Rendering(content: GeneratedContent(page), modified: episode.modified, changed: episode.changed)
    }
}

extension Episode {
    /// The publication time; an undated episode counts as published when it was first seen.
    var modified: Int64 { published ?? firstSeen }
}

/// An episode's chapters, from the first source that has any: the file to which the feed refers (`podcast:chapters`),
/// the feed itself, times in the notes, or the media file, in which the daemon looks for them once it is completely
/// cached.
struct ChaptersFile: GeneratedFile {
    let place: NodePlace

    var form: NodeForm { Sidecar.form }

    func render() throws -> Rendering? {
        guard let episode = try mount.library.episode(id: node.episode) else { return nil }
        let extras = try mount.library.extras(of: episode.id)
        if extras.chaptersURL != nil {
            let asset = mount.rendering(.chapters, node.row, modified: episode.modified, changed: episode.changed)
            if asset.content.size > 0 || extras.chapters.isEmpty { return asset }
        }
        return content(episode, extras).map {
            Rendering(content: $0, modified: episode.modified, changed: episode.changed)
        }
    }

    func opening(by caller: Caller, flags: Int32) throws -> Opening {
        if try mount.library.extras(of: node.episode).chaptersURL != nil {
            return try mount.openingOfAsset(.chapters, .direct, by: caller)
        }
        guard let rendering = try render() else { throw Errno.staleNFSFileHandle }
        return .open(OpenFile(number: node, content: rendering.content), .direct)
    }

    /// Returns the chapters from the sources other than the file to which the feed refers, for the case that this file
    /// cannot be fetched; `nil` if these sources have no chapters.
    func contentWithoutServer() throws -> GeneratedContent? {
        guard let episode = try mount.library.episode(id: node.episode) else { return nil }
        return content(episode, try mount.library.extras(of: episode.id))
    }

    func extendedAttributes() throws -> [(String, String)] { mount.assetFailures.attributes(of: node) }

    private func content(_ episode: Episode, _ extras: EpisodeExtras) -> GeneratedContent? {
        guard !extras.chapters.isEmpty else { return nil }
        return GeneratedContent(
            ChapterList.bytes(extras.chapters, title: episode.title, duration: episode.duration))
    }
}

/// The folder of one episode in a show's `.alternates`. It contains a file for each further encoding of the episode
/// that the feed offers.
///
/// Each file is a node like that of an episode, with a row of its own in the library.
struct AlternatesFolder: NodeBehaviour {
    let place: NodePlace

    var form: NodeForm { Sidecar.folderForm }

    var parent: NodeNumber {
        guard let entry = try? mount.library.entry(id: node.episode) else { return .root }
        return NodeNumber(kind: .alternates, row: entry.podcast)
    }

    func facts(open: OpenFile?) throws -> NodeFacts? {
        guard let entry = try mount.library.entry(id: node.episode), entry.sidecars.contains(.alternates) else {
            return nil
        }
        return NodeFacts(folder: node, modified: entry.modified, changed: entry.changed)
    }

    func find(_ name: String) throws -> Entry? {
        try mount.library.alternate(of: node.episode, named: name).map { mount.entry(mount.facts(of: $0)) }
    }

    func items() throws -> [FolderSnapshot.Item]? {
        guard try facts(open: nil) != nil else { return nil }
        return try mount.library.alternates(of: node.episode).map {
            FolderSnapshot.Item(name: $0.fileName, facts: mount.facts(of: $0))
        }
    }
}

extension EpisodeFile {
    /// Returns the extended attributes about alternates. An episode has the number of its alternates, and an alternate
    /// has the properties by which a person chooses one.
    func alternateAttributes(of episode: Episode) throws -> [(String, String)] {
        var values = AttributeList()
        guard episode.isAlternate else {
            let count = episode.sidecars.contains(.alternates) ? try mount.library.alternates(of: episode.id).count : 0
            values.add("user.podfs.alternates", count > 0 ? count : nil)
            return values.items
        }
        guard let alternate = try mount.library.alternate(id: episode.id) else { return [] }
        values.add("user.podfs.alternate.of", alternate.episode)
        values.add("user.podfs.alternate.title", alternate.title)
        values.add("user.podfs.alternate.bit_rate", alternate.bitRate.map(Self.decimal))
        values.add("user.podfs.alternate.height", alternate.height)
        values.add("user.podfs.alternate.language", alternate.language)
        values.add("user.podfs.alternate.codecs", alternate.codecs)
        return values.items
    }
}
