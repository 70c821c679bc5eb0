internal import PodcastLibrary
internal import TransferCore

/// The links of a folder at its last listing, as the kernel may have cached them.
struct LinkRecord: Sendable {
    private struct Link: Equatable {
        var name: String
        var target: String
        var modified: Int64
    }

    /// The links by episode.
    private let links: [EpisodeID: Link]
    /// When the names last changed, in seconds since 1970.
    let changed: Int64

    init(_ links: [EpisodeLink], changed: Int64) {
        self.init(
            links: Dictionary(
                links.map {
                    ($0.facts.number.episode, Link(name: $0.name, target: $0.target, modified: $0.facts.modified))
                },
                uniquingKeysWith: { first, _ in first }),
            changed: changed)
    }

    private init(links: [EpisodeID: Link], changed: Int64) {
        self.links = links
        self.changed = changed
    }

    /// Returns the record of new links, and the invalidations: names that are gone or refer to another episode, changed
    /// links, and the folder's time.
    func updated(to links: [EpisodeLink], in folder: LinkFolder, now: Int64) -> (LinkRecord, [Invalidation]) {
        let new = LinkRecord(links, changed: changed).links
        guard new != self.links else { return (self, []) }
        let gone = self.links.filter { new[$0.key]?.name != $0.value.name }
        let others = self.links.filter { gone[$0.key] == nil && new[$0.key] != $0.value }
        let hasOtherNames = !gone.isEmpty || new.count != self.links.count
        return (
            LinkRecord(links: new, changed: hasOtherNames ? now : changed),
            gone.values.map { .entry(parent: folder.number, name: $0.name) }
                + others.keys.map { .attributes(NodeNumber(kind: folder.linkKind, row: $0)) }
                + [.attributes(folder.number)]
        )
    }
}
