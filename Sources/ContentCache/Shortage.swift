/// A limit of the cache that does not hold although all has gone that may: nothing more may be written.
package struct Shortage: Error, Sendable, Equatable, CustomStringConvertible {
    /// `cache.limit` is reached.
    package var isCacheFull: Bool
    /// Less is free on the disk than is to stay free.
    package var isDiskFull: Bool

    /// Allocated bytes of the cache, and what it may take.
    package var used: Int64
    package var capacity: Int64
    /// Free bytes of the disk, and what is to stay free.
    package var free: Int64
    package var floor: Int64
    /// Whether somebody chose the floor by `cache.keep_free`.
    package var isFloorChosen: Bool
    /// What was to be written.
    package var incoming: Int64

    /// One line for people: which limit it is and what to do.
    package var description: String {
        let wanted = incoming > 0 ? ", \(Self.size(incoming)) more wanted" : ""
        let cache = "cache.limit (\(Self.size(capacity)))"
        let floor = "\(Self.size(floor)) stay free by " + (isFloorChosen ? "cache.keep_free" : "default")
        if isCacheFull, !isDiskFull, incoming > capacity {
            return "\(Self.size(incoming)) do not fit into \(cache): raise it"
        }
        switch (isCacheFull, isDiskFull) {
        case (true, true):
            return "cache and disk are full (\(Self.size(used)) of \(cache) taken, \(Self.size(free)) free on the disk "
                + "of which \(floor)\(wanted)): free some with podfs evict or podfs unpin"
        case (_, true):
            return "the disk is full (\(Self.size(free)) free of which \(floor)\(wanted)): delete something there, "
                + "use podfs evict or podfs unpin, or set cache.keep_free lower"
        default:
            return "the cache is full (\(Self.size(used)) of \(cache) taken\(wanted)): free some with podfs evict or "
                + "podfs unpin, or raise cache.limit"
        }
    }

    /// `512 B`, `1.5 MiB`, `10 GiB`: units as the configuration spells them, a tenth only where there is one.
    static func size(_ bytes: Int64) -> String {
        guard bytes >= 1024 else { return "\(bytes) B" }
        var value = Double(bytes)
        var unit = "B"
        // What would be rounded to 1024 is one of the next unit.
        for larger in ["KiB", "MiB", "GiB", "TiB", "PiB"] where value >= 1023.95 {
            value /= 1024
            unit = larger
        }
        let tenths = Int64((value * 10).rounded())
        return tenths % 10 == 0 ? "\(tenths / 10) \(unit)" : "\(tenths / 10).\(tenths % 10) \(unit)"
    }
}
