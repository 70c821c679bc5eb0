internal import Fuse
internal import PodcastLibrary

/// The folder of one episode in a show's `.alternates`. It contains a file for each further encoding of the episode
/// that the feed offers.
///
/// Each file is a node like that of an episode, with a row of its own in the library.
struct AlternatesFolder: NodeBehaviour {
    let node: NodeNumber
    let mount: PodcastFilesystem

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
