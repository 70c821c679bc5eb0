internal import Fuse
internal import PodcastLibrary
internal import PodcastProtocol
internal import TransferCore

/// What stat(2) tells of an episode, from its row and what is going on.
struct EpisodeAttributes: Sendable {
    let id: EpisodeID
    let name: String
    let generation: Int
    let size: Int64
    let sizeIsConfirmed: Bool
    let isComplete: Bool
    private let cachedBytes: Int64
    private let modified: Int64
    private let changed: Int64
    private let accessed: Int64

    init(_ entry: EpisodeEntry, live: LiveTasks.Task?, accessed: Int64?) {
        id = entry.id
        name = entry.name
        generation = entry.generation
        size = entry.size
        sizeIsConfirmed = entry.sizeSource == .server
        isComplete = entry.complete
        if let live, live.generation ?? entry.generation == entry.generation, !entry.complete {
            cachedBytes = max(live.info.received, entry.cachedBytes)
        } else {
            cachedBytes = entry.cachedBytes
        }
        // Without a date, an episode was published when it was first seen.
        modified = entry.published ?? entry.firstSeen
        changed = entry.changed
        self.accessed = max(accessed ?? 0, entry.lastOpened ?? 0)
    }

    var number: NodeNumber { NodeNumber(kind: .episode, generation: generation, row: id) }

    func attributes(owner: Owner) -> Attributes {
        Attributes(
            inode: number.inode, kind: .regular, permissions: 0o444, size: size,
            // Never 0: cp, tar and grep take a file without blocks for one that is all holes, and read zeros from it.
            blocks: max(1, (cachedBytes + 511) / 512), blockSize: 128 * 1024, uid: owner.uid, gid: owner.gid,
            accessed: Timestamp(seconds: accessed > 0 ? accessed : modified), modified: Timestamp(seconds: modified),
            changed: Timestamp(seconds: changed))
    }
}

/// Whom the files belong to.
package struct Owner: Sendable, Equatable {
    package var uid: UInt32
    package var gid: UInt32

    package init(uid: UInt32, gid: UInt32) {
        self.uid = uid
        self.gid = gid
    }
}
