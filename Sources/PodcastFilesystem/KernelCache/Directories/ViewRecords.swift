internal import PodcastLibrary
internal import PodcastProtocol

/// The links in each view (a folder with links to episodes) at its last listing, as the kernel may have cached them.
/// Pure.
///
/// The kernel caches the names of a listed view for up to a day, so names that leave a view must be invalidated. Only
/// the views that the kernel knows have a record.
struct ViewRecords: Sendable {
    private struct Link: Hashable {
        var episode: EpisodeID
        var name: String
        var target: String
        var modified: Int64
    }

    private struct Record {
        var links: [Link]
        var revision: Int64
    }

    private var records: [ViewID: Record] = [:]

    /// The revision of each view with a record.
    var revisions: [ViewID: Int64] { records.mapValues(\.revision) }

    /// Records the links of a view.
    ///
    /// - Parameter revision: The view's revision, read before the links.
    /// - Returns: The invalidations of names that are gone or refer to another episode, of the names of changed links,
    ///   and of the folder and its playlist. None if a listing of a later revision is already recorded.
    mutating func listed(_ view: ViewID, _ links: [EpisodeLink], revision: Int64) -> [Invalidation] {
        let new = links.map {
            Link(episode: $0.facts.number.episode, name: $0.name, target: $0.target, modified: $0.facts.modified)
        }
        let old = records[view]
        // Of two concurrent listings, the one of the later revision is recorded.
        if let old, revision < old.revision { return [] }
        records[view] = Record(links: new, revision: revision)
        guard let old else { return [] }
        if new == old.links {
            // The names are the same, but at a later revision a title or a duration in the playlist may have changed.
            return revision == old.revision ? [] : [.attributes(NodeNumber(kind: .viewPlaylist, row: view))]
        }
        return entries(Set(old.links).subtracting(new), of: view) + folder(view)
    }

    /// Removes the record of a view, and returns the invalidations of all its names, because later changes of the names
    /// cannot be detected without a record.
    mutating func remove(_ view: ViewID) -> [Invalidation] {
        guard let record = records.removeValue(forKey: view) else { return [] }
        return entries(record.links, of: view) + folder(view)
    }

    /// Removes the record of a view that the kernel has forgotten. It has then forgotten all names in the view as well.
    mutating func forget(_ view: ViewID) { records[view] = nil }

    private func entries(_ links: some Sequence<Link>, of view: ViewID) -> [Invalidation] {
        links.map { .entry(parent: ViewFolderNode.number(view), name: $0.name) }
    }

    private func folder(_ view: ViewID) -> [Invalidation] {
        [.attributes(ViewFolderNode.number(view)), .attributes(NodeNumber(kind: .viewPlaylist, row: view))]
    }
}
