/// What the cache may keep: a limit of its own, and what it leaves free on the disk for everything else.
///
/// A value that only computes. `eviction(for:from:)` says which files are to go, one after the other; whoever runs it
/// removes them and writes only when no `Shortage` is left. Sizes are allocated bytes (`st_blocks`, in units of 512
/// bytes), since cache files are sparse.
package struct EvictionPolicy: Sendable, Equatable {
    /// What the cache may take; `cache.limit`.
    package var capacity: Int64

    /// What `cache.keep_free` says; `nil` when nobody has set it.
    package var keepFree: Int64?

    package init(capacity: Int64 = Self.standardCapacity, keepFree: Int64? = nil) {
        self.capacity = capacity
        self.keepFree = keepFree
    }

    /// About 180 hours of speech at 128 kbit/s.
    package static let standardCapacity: Int64 = 10 << 30

    /// What is left free on a disk of 20 GiB or more when nobody has said otherwise.
    package static let standardKeepFree: Int64 = 1 << 30

    /// What is left free of a smaller disk: a twentieth, as much as ext4 keeps for root (mke2fs(8), -m).
    private static let keptShare: Int64 = 20

    /// What is to stay free on a disk of that size.
    ///
    /// Whoever set `cache.keep_free` gets just that. Without it: 1 GiB or 5 %, whichever is less, so that a memory card of
    /// 8 GiB has room for podcasts and a disk of 4 TiB does not keep 200 GiB from them.
    package func floor(total: Int64) -> Int64 {
        if let keepFree { return max(0, keepFree) }
        return min(Self.standardKeepFree, total / Self.keptShare)
    }

    /// How much more than needed is evicted once a limit is reached.
    ///
    /// Without it a full cache would ask the library and evict for every few megabytes that arrive. 256 MiB are more
    /// than four hours of speech at 128 kbit/s (58 MB each): one round serves several episodes. A small cache gives a
    /// twentieth, so that it does not empty itself for one episode. Never a reason to stop writing.
    package var headroom: Int64 { min(max(0, capacity) / 20, 256 << 20) }

    /// The state of things before a write.
    package struct Demand: Sendable, Equatable {
        /// Allocated bytes of all cache files.
        package var used: Int64
        package var disk: DiskSpace
        /// Bytes that are about to be written: best all that is missing of an episode, at least the next write.
        package var incoming: Int64

        package init(used: Int64, disk: DiskSpace, incoming: Int64 = 0) {
            self.used = used
            self.disk = disk
            self.incoming = incoming
        }
    }

    /// A cache file that might go.
    package struct Candidate: Sendable, Equatable, Identifiable {
        /// The name of the cache file.
        package var id: String
        /// Bytes that its removal gives back.
        package var allocated: Int64
        /// Unix time.
        package var lastOpened: Int64
        package var isPlayed: Bool
        package var isPinned: Bool
        package var isInTransfer: Bool

        package init(
            id: String, allocated: Int64, lastOpened: Int64, isPlayed: Bool = false, isPinned: Bool = false,
            isInTransfer: Bool = false
        ) {
            self.id = id
            self.allocated = allocated
            self.lastOpened = lastOpened
            self.isPlayed = isPlayed
            self.isPinned = isPinned
            self.isInTransfer = isInTransfer
        }

        /// An empty file frees nothing, and its reader would lose it for nothing.
        var mayGo: Bool { !isPinned && !isInTransfer && allocated > 0 }
    }

    /// What would be evicted if no file turned out to be open.
    package struct Plan: Sendable, Equatable {
        package var victims: [Candidate]
        package var shortage: Shortage?
    }

    /// The eviction that makes room for a demand, to be run file by file. Nothing is evicted while both limits hold.
    package func eviction(for demand: Demand, from candidates: [Candidate]) -> Eviction {
        Eviction(policy: self, demand: demand, candidates: candidates)
    }

    /// The whole eviction at once, for a report or a dry run.
    package func plan(for demand: Demand, from candidates: [Candidate]) -> Plan {
        var eviction = eviction(for: demand, from: candidates)
        while eviction.next() != nil { eviction.record(.evicted) }
        return Plan(victims: eviction.evicted, shortage: eviction.shortage)
    }
}
