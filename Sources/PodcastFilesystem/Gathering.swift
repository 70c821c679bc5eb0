internal import Fuse
internal import PodcastLibrary
internal import Synchronization
internal import TransferCore

/// A folder of the root that gathers episodes of all subscribed shows, by links to them.
enum Gathering: Int64, CaseIterable, Sendable {
    case latest = 1
    case downloaded = 2

    /// How many episodes `Latest` has.
    static let latestCount = 50

    var name: String {
        switch self {
        case .latest: "Latest"
        case .downloaded: "Downloaded"
        }
    }

    init?(name: String) {
        guard let gathering = Self.allCases.first(where: { $0.name.utf8.elementsEqual(name.utf8) }) else { return nil }
        self = gathering
    }

    var number: NodeNumber { NodeNumber(kind: .gathering, row: rawValue) }

    /// The kind of the links in it.
    var linkKind: NodeNumber.Kind {
        switch self {
        case .latest: .latestLink
        case .downloaded: .downloadedLink
        }
    }
}

/// A symbolic link to an episode.
struct EpisodeLink: Sendable {
    let number: NodeNumber
    let name: String
    /// Relative, so that it is good wherever the mount is seen.
    let target: String
    /// The episode's, in seconds.
    let modified: Int64
    let changed: Int64

    init(_ gathering: Gathering, _ entry: EpisodeEntry, name: String, show: String) {
        number = NodeNumber(kind: gathering.linkKind, row: entry.id)
        self.name = name
        target = "../\(show)/\(entry.name)"
        modified = entry.published ?? entry.firstSeen
        changed = entry.changed
    }

    func attributes(owner: Owner) -> Attributes {
        Attributes(
            inode: number.inode, kind: .symlink, permissions: 0o777, size: Int64(target.utf8.count), uid: owner.uid,
            gid: owner.gid, accessed: Timestamp(seconds: modified), modified: Timestamp(seconds: modified),
            changed: Timestamp(seconds: changed))
    }

    /// Names for links to `entries`, by episode: `EPISODE - SHOW.ext`, no two alike.
    ///
    /// The oldest row has the first choice among equal names, so that a name does not change when newer episodes come.
    static func names(_ entries: [EpisodeEntry], shows: [ShowID: String]) -> [EpisodeID: String] {
        var unique = UniqueNames(taken: [])
        var names: [EpisodeID: String] = [:]
        for entry in entries.sorted(by: { $0.id < $1.id }) {
            guard let show = shows[entry.podcast] else { continue }
            // Cut at a character boundary to what leaves room for the extension.
            let stem = unique.claim(FileName.stem("\(FileName.stem(ofFile: entry.name)) - \(show)"))
            let fileExtension = FileName.fileExtension(of: entry.name)
            names[entry.id] = fileExtension.isEmpty ? stem : "\(stem).\(fileExtension)"
        }
        return names
    }
}

/// The names that the gatherings had when they were last looked at: what the kernel may remember of them.
final class GatheringRecord: Sendable {
    private struct Link: Equatable {
        var name: String
        var target: String
        var modified: Int64
    }

    private struct Known {
        /// By episode.
        var links: [EpisodeID: Link]
        /// When they last became others, in seconds.
        var changed: Int64
    }

    private let known = Mutex<[Gathering: Known]>([:])

    struct Changes {
        /// Names that it had and has no more, or has for another episode.
        var gone: [String]
        /// Links that have their name still and are otherwise not as they were.
        var changed: [NodeNumber]
    }

    /// Takes note of the links that a gathering has now.
    ///
    /// - Returns: `nil` when all is as it was.
    func update(_ gathering: Gathering, _ links: [EpisodeLink], now: Int64, started: Int64) -> Changes? {
        let links = Dictionary(
            links.map { ($0.number.episode, Link(name: $0.name, target: $0.target, modified: $0.modified)) },
            uniquingKeysWith: { first, _ in first })
        return known.withLock { known in
            guard let old = known[gathering] else {
                known[gathering] = Known(links: links, changed: started)
                return nil
            }
            guard old.links != links else { return nil }
            let gone = old.links.filter { links[$0.key]?.name != $0.value.name }
            let changed = old.links.filter { gone[$0.key] == nil && links[$0.key] != $0.value }
            let isOther = !gone.isEmpty || links.count != old.links.count
            known[gathering] = Known(links: links, changed: isOther ? now : old.changed)
            return Changes(
                gone: gone.values.map(\.name),
                changed: changed.keys.map { NodeNumber(kind: gathering.linkKind, row: $0) })
        }
    }

    /// When the names last changed; `nil` while nobody has looked.
    func changed(_ gathering: Gathering) -> Int64? { known.withLock { $0[gathering]?.changed } }
}
