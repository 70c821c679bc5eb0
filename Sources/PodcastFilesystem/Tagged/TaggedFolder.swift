internal import Fuse
internal import PodcastLibrary
internal import PodcastProtocol
internal import SystemPackage
internal import Transfers

// If the setting `tagged` is true, the mount has a folder `Tagged`, which contains the subscribed shows a second time.
// In `Tagged/SHOW/EPISODE`, a tag made from the library replaces the tags at the start of each MP3. The kernel does not
// cache the names and attributes in this folder, so a new version of a file needs no invalidation.

/// The folder `Tagged`.
struct TaggedFolder: NodeBehaviour {
    let node: NodeNumber
    let mount: PodcastFilesystem

    var form: NodeForm { .folder.cached(for: 0) }

    func find(_ name: String) throws -> Entry? {
        try mount.library.folder(named: name).map { mount.entry(TaggedShow.facts(of: $0)) }
    }

    func items() throws -> [FolderSnapshot.Item]? {
        try mount.library.folders().map { FolderSnapshot.Item(name: $0.name, facts: TaggedShow.facts(of: $0)) }
    }
}

/// A show in `Tagged`: its episodes and its art.
struct TaggedShow: NodeBehaviour {
    let node: NodeNumber
    let mount: PodcastFilesystem

    var form: NodeForm { .folder.cached(for: 0) }

    var parent: NodeNumber { .tagged }

    static func facts(of show: FolderEntry) -> NodeFacts {
        NodeFacts(folder: NodeNumber(kind: .taggedShow, row: show.id), of: show)
    }

    func facts(open: OpenFile?) throws -> NodeFacts? { try mount.library.folder(id: node.show).map(Self.facts) }

    func find(_ name: String) throws -> Entry? {
        if let entry = try mount.library.entry(of: node.show, named: name) {
            guard TaggedFile.isFor(entry.name) else {
                return try mount.findEpisode(name, of: node.show, entryTimeout: 0)
            }
            return mount.entry(TaggedEpisode.facts(of: entry, try mount.library.taggedFile(of: entry.id), mount))
        }
        return try mount.cover(named: name, of: node.show)
    }

    func items() throws -> [FolderSnapshot.Item]? {
        guard let show = try mount.library.podcast(id: node.show) else { return nil }
        let known = try mount.library.taggedFiles(of: show.id)
        let episodes = try mount.library.entries(of: show.id).map { entry in
            // Other files are listed without attributes. With attributes (READDIRPLUS), the kernel would cache the
            // names for up to a day, as in the show's own folder.
            TaggedFile.isFor(entry.name)
                ? FolderSnapshot.Item(name: entry.name, facts: TaggedEpisode.facts(of: entry, known[entry.id], mount))
                : FolderSnapshot.Item(name: entry.name, bare: NodeNumber(entry))
        }
        let cover = NodeNumber(kind: .cover, row: show.id)
        return episodes + (show.coverName.map { [FolderSnapshot.Item(name: $0, bare: cover)] } ?? [])
    }
}

/// An MP3 episode whose tags are replaced by a tag made from the library. A node is one version of the file; see
/// `TaggedFile`.
struct TaggedEpisode: NodeBehaviour {
    let node: NodeNumber
    let mount: PodcastFilesystem

    /// The assumed size in bytes of a tag that has not been made yet. It is generous, like the estimated size of an
    /// asset: some programs trust the size from before the open, and would miss the end of a file that is larger.
    private static let estimatedTag: Int64 = 256 << 10

    var form: NodeForm {
        NodeForm(kind: .regular, permissions: 0o444, blockSize: 128 * 1024, attributeTimeout: 0, entryTimeout: 0)
    }

    /// The episode's own file.
    private var original: EpisodeFile {
        get throws {
            guard let entry = try mount.library.entry(id: node.episode) else { throw Errno.noSuchFileOrDirectory }
            return EpisodeFile(node: NodeNumber(entry), mount: mount)
        }
    }

    static func facts(of entry: EpisodeEntry, _ known: TaggedFile?, _ mount: PodcastFilesystem) -> NodeFacts {
        var facts = mount.facts(of: entry)
        let current = known.flatMap { $0.content.rendition == entry.generation ? $0 : nil }
        // The first open of a new rendition (version of the original file) will make a version with the next number.
        let generation = current?.generation ?? known.map { $0.generation + 1 } ?? 0
        facts.number = NodeNumber(kind: .taggedEpisode, generation: generation, row: entry.id)
        facts.size = current?.content.size ?? (facts.size > 0 ? facts.size + estimatedTag : 0)
        return facts
    }

    func facts(open: OpenFile?) throws -> NodeFacts? {
        guard let entry = try mount.library.entry(id: node.episode) else { return nil }
        var facts = Self.facts(of: entry, try mount.library.taggedFile(of: entry.id), mount)
        facts.number = node
        // The size of an open file does not change.
        facts.size = open?.taggedSize ?? facts.size
        return facts
    }

    func opening(by caller: Caller, flags: Int32) throws -> Opening {
        .tag(try original.opening(by: caller, flags: flags))
    }

    /// Returns the extended attributes of the original, except those that describe its bytes.
    func extendedAttributes() throws -> [(String, String)] {
        let ofBytes = ["user.podfs.sha256", "user.podfs.ranges", "user.podfs.integrity"]
        return try original.extendedAttributes().filter { !ofBytes.contains($0.0) }
    }

    func command(setting attribute: ControlAttribute, to value: String) throws -> Command? {
        try original.command(setting: attribute, to: value)
    }
}

extension TaggedFile {
    /// Whether an episode with this name gets a tag. The open decides again by the content.
    static func isFor(_ name: String) -> Bool { FileName.fileExtension(of: name).lowercased() == "mp3" }
}
