internal import Fuse

/// A folder's names as they were when it was opened.
struct FolderSnapshot: Sendable {
    enum Item: Sendable {
        case made(FixedFile)
        case show(id: Int64, name: String, modified: Int64, changed: Int64)
        case episode(EpisodeAttributes)
        /// Any other folder.
        case folder(NodeNumber, name: String, modified: Int64, changed: Int64)
        /// A file that is made when it alone is looked at.
        case file(NodeNumber, name: String)
        case asset(NodeNumber, name: String, size: Int64, modified: Int64, changed: Int64)
        case link(EpisodeLink)
        /// A name of which no more is known: who wants more looks for it.
        case unknown(NodeNumber, name: String, kind: FileKind)
    }

    var number: NodeNumber
    var items: [Item]
    /// The last change that the items know of: attributes of what changed later are out of date.
    var change: UInt64 = 0

    /// The same names in the same order with the attributes of `other`, a later snapshot of the same folder.
    ///
    /// What has gone or has another name since is listed without attributes.
    func updated(by other: FolderSnapshot) -> FolderSnapshot {
        let fresh = Dictionary(other.items.map { ($0.number, $0) }, uniquingKeysWith: { first, _ in first })
        var copy = self
        copy.change = other.change
        copy.items = items.map { item in
            if let now = fresh[item.number], now.name.utf8.elementsEqual(item.name.utf8) { return now }
            return .unknown(item.number, name: item.name, kind: item.kind)
        }
        return copy
    }
}

extension FolderSnapshot.Item {
    /// Without the generation, which may be another one later.
    var number: NodeNumber {
        switch self {
        case .made(let file): file.number
        case .show(let id, _, _, _): NodeNumber(kind: .show, row: id)
        case .episode(let episode): NodeNumber(kind: .episode, row: episode.id)
        case .folder(let number, _, _, _), .file(let number, _), .asset(let number, _, _, _, _),
            .unknown(let number, _, _):
            number
        case .link(let link): link.number
        }
    }

    var name: String {
        switch self {
        case .made(let file): file.name
        case .show(_, let name, _, _), .folder(_, let name, _, _), .file(_, let name), .asset(_, let name, _, _, _),
            .unknown(_, let name, _):
            name
        case .episode(let episode): episode.name
        case .link(let link): link.name
        }
    }

    var kind: FileKind {
        switch self {
        case .made, .episode, .file, .asset: .regular
        case .show, .folder: .directory
        case .link: .symlink
        case .unknown(_, _, let kind): kind
        }
    }
}
