internal import Fuse
internal import PodcastLibrary
internal import Transfers

// `Tags/TAG/SHOW`: links to the folders of the shows with a tag. These folders are small enough to be read from the
// library at each access. So the kernel is told not to cache their names and attributes, and a change needs no
// invalidation.

/// The folder of all tags.
struct TagsFolder: NodeBehaviour {
    let place: NodePlace

    var form: NodeForm { .folder.cached(for: 0) }

    func find(_ name: String) throws -> Entry? {
        try mount.library.tag(named: name).flatMap { try mount.entry(of: NodeNumber(kind: .tag, row: $0.id)) }
    }

    func items() throws -> [FolderSnapshot.Item]? {
        try mount.library.tags().map {
            let facts = NodeFacts(fixed: NodeNumber(kind: .tag, row: $0.id), of: mount)
            return FolderSnapshot.Item(name: $0.name, facts: facts)
        }
    }
}

/// The shows with one tag.
struct TagFolder: NodeBehaviour {
    let place: NodePlace

    var form: NodeForm { .folder.cached(for: 0) }

    var parent: NodeNumber { .tags }

    func facts(open: OpenFile?) throws -> NodeFacts? {
        try mount.library.tag(id: node.tag).map { _ in NodeFacts(fixed: node, of: mount) }
    }

    func find(_ name: String) throws -> Entry? {
        try items()?.first { $0.name.utf8.elementsEqual(name.utf8) }.map { mount.entry($0.facts) }
    }

    func items() throws -> [FolderSnapshot.Item]? {
        guard try mount.library.tag(id: node.tag) != nil else { return nil }
        return try mount.library.folders(with: node.tag).map {
            FolderSnapshot.Item(name: $0.name, facts: TagLinkNode.facts(of: $0, in: node.tag))
        }
    }
}

/// A link to the folder of a show.
struct TagLinkNode: NodeBehaviour {
    let place: NodePlace

    var form: NodeForm { .link.cached(for: 0) }

    static func target(_ show: FolderEntry) -> String { "../../\(show.name)" }

    static func facts(of show: FolderEntry, in tag: TagID) -> NodeFacts {
        NodeFacts(
            NodeNumber(kind: .tagLink, generation: Int(tag.rawValue), row: show.id), to: target(show),
            modified: show.newest ?? show.changed, changed: show.changed)
    }

    func facts(open: OpenFile?) throws -> NodeFacts? {
        try mount.library.folder(id: node.show).map { Self.facts(of: $0, in: TagID(Int64(node.generation))) }
    }

    func target() throws -> String? { try mount.library.folder(id: node.show).map(Self.target) }
}
