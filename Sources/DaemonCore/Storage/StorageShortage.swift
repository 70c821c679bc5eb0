/// The reason why bytes may not be written: the exceeded limit, and by how much.
package struct StorageShortage: Error, Sendable, Equatable, CustomStringConvertible {
    /// Whether the incoming bytes would exceed `cache.limit`.
    package var isCacheFull: Bool
    /// Whether the incoming bytes would leave less disk space free than required.
    package var isDiskFull: Bool
    /// Whether the disk refused a write within both limits: because of a quota, or blocks reserved for root.
    package var isWriteRefused = false
    /// The size of a file that exceeds `cache.limit` by itself; `nil` otherwise.
    package var tooLarge: Int64?

    /// The bytes in the cache, those reserved for transfers in addition, and `cache.limit`.
    package var used: Int64
    package var reserved: Int64
    package var capacity: Int64
    /// The free bytes of the disk, and the bytes to leave free.
    package var free: Int64
    package var floor: Int64
    /// Whether `cache.keep_free` is set.
    package var isFloorConfigured: Bool
    /// The number of bytes to be written.
    package var incoming: Int64

    /// One line for the user: the limit and the remedy.
    package var description: String {
        let limit = "cache.limit (\(Self.size(capacity)))"
        if let tooLarge {
            return "\(Self.size(tooLarge)) do not fit into \(limit): raise it; a program that opens the file gets it "
                + "all the same"
        }
        let wanted = incoming > 0 ? ", \(Self.size(incoming)) more wanted" : ""
        let taken =
            reserved > 0
            ? "\(Self.size(used)) of \(limit) taken, \(Self.size(reserved)) reserved for other downloads"
            : "\(Self.size(used)) of \(limit) taken"
        let floor = "\(Self.size(floor)) stay free by " + (isFloorConfigured ? "cache.keep_free" : "default")
        switch (isCacheFull, isDiskFull) {
        case (true, true):
            return "cache and disk are full (\(taken), \(Self.size(free)) free on the disk of which \(floor)"
                + "\(wanted)): free some with podfs evict or podfs unpin"
        case (_, true):
            return "the disk is full (\(Self.size(free)) free of which \(floor)\(wanted)): delete something there, "
                + "use podfs evict or podfs unpin, or set cache.keep_free lower"
        case (true, _):
            return "the cache is full (\(taken)\(wanted)): free some with podfs evict or podfs unpin, or raise "
                + "cache.limit"
        default:
            return "the disk refuses to store more (\(Self.size(free)) free\(wanted)): delete something there, or use "
                + "podfs evict or podfs unpin"
        }
    }

    /// Formats a size as `512 B`, `1.5 MiB` or `10 GiB`: units as in the configuration, a decimal only if it is not 0.
    package static func size(_ bytes: Int64) -> String {
        guard bytes >= 1024 else { return "\(bytes) B" }
        var value = Double(bytes)
        var unit = "B"
        // A value that would round to 1024 is shown in the next unit.
        for larger in ["KiB", "MiB", "GiB", "TiB", "PiB"] where value >= 1023.95 {
            value /= 1024
            unit = larger
        }
        let tenths = Int64((value * 10).rounded())
        return tenths % 10 == 0 ? "\(tenths / 10) \(unit)" : "\(tenths / 10).\(tenths % 10) \(unit)"
    }
}
