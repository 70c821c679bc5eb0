/// What the cache may take, and what it leaves free on the disk for everything else; in bytes.
package struct StorageLimits: Sendable, Equatable {
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
    /// `cache.keep_free` as it is set. Without it: 1 GiB or 5 %, whichever is less, so that a memory card of 8 GiB has
    /// room for podcasts and a disk of 4 TiB does not lose 200 GiB.
    package func floor(total: Int64) -> Int64 {
        if let keepFree { return max(0, keepFree) }
        return max(0, min(Self.standardKeepFree, total / Self.keptShare))
    }
}
