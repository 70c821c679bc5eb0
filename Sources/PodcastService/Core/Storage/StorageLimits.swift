/// The maximum size of the cache, and the disk space to leave free; in bytes.
package struct StorageLimits: Sendable, Equatable {
    /// The maximum size of the cache; `cache.limit`.
    package var capacity: Int64

    /// The value of `cache.keep_free`; `nil` if it is not set.
    package var keepFree: Int64?

    package init(capacity: Int64 = Self.standardCapacity, keepFree: Int64? = nil) {
        self.capacity = capacity
        self.keepFree = keepFree
    }

    /// The default capacity: about 180 hours of speech at 128 kbit/s.
    package static let standardCapacity: Int64 = 10 << 30

    /// The default free space on a disk of 20 GiB or more.
    package static let standardKeepFree: Int64 = 1 << 30

    /// The default free share of a smaller disk: a twentieth, like ext4's reserve for root (mke2fs(8), -m).
    private static let keptShare: Int64 = 20

    /// Returns the free space to leave on a disk of `total` bytes.
    ///
    /// This is `cache.keep_free` if set. Otherwise it is 1 GiB or 5 %, whichever is less, so that a memory card of 8
    /// GiB has space for podcasts and a disk of 4 TiB does not lose 200 GiB.
    package func floor(total: Int64) -> Int64 {
        if let keepFree { return max(0, keepFree) }
        return max(0, min(Self.standardKeepFree, total / Self.keptShare))
    }
}
