internal import Platform

/// The reason why bytes may not be written: the limits that would be exceeded, and the sizes in question.
struct StorageShortage: Error, Sendable, Equatable, CustomStringConvertible {
    /// Whether the incoming bytes would exceed `cache.limit`.
    var isCacheFull: Bool
    /// Whether the incoming bytes would leave less disk space free than required.
    var isDiskFull: Bool
    /// Whether the disk refused a write that both limits allow, because of a quota or of blocks that are reserved for
    /// root.
    var isWriteRefused = false
    /// The size of a file that exceeds `cache.limit` by itself; `nil` otherwise.
    var oversizedFileSize: Int64?

    /// The bytes in the cache, the bytes that are reserved for transfers and not yet in the cache, and `cache.limit`.
    var used: Int64
    var reserved: Int64
    var capacity: Int64
    /// The free bytes on the disk, and the number of bytes that must stay free.
    var free: Int64
    var floor: Int64
    /// Whether `cache.keep_free` is set.
    var isFloorConfigured: Bool
    /// The number of bytes to be written.
    var incoming: Int64

    /// Returns whether the same limits are exceeded, by whatever sizes.
    func isSameKind(as other: StorageShortage) -> Bool {
        (isCacheFull, isDiskFull, isWriteRefused, oversizedFileSize)
            == (other.isCacheFull, other.isDiskFull, other.isWriteRefused, other.oversizedFileSize)
    }

    /// One line for the user: the limit and the remedy.
    var description: String {
        let limit = "cache.limit (\(ByteText.size(capacity)))"
        if let oversizedFileSize {
            return "the file of \(ByteText.size(oversizedFileSize)) does not fit into \(limit): raise cache.limit; the "
                + "limit does not apply while a program has the file open"
        }
        let needed = incoming > 0 ? ", \(ByteText.size(incoming)) more needed" : ""
        let occupied =
            reserved > 0
            ? "\(ByteText.size(used)) of \(limit) used, \(ByteText.size(reserved)) reserved for other downloads"
            : "\(ByteText.size(used)) of \(limit) used"
        let floor = "\(ByteText.size(floor)) must stay free by " + (isFloorConfigured ? "cache.keep_free" : "default")
        switch (isCacheFull, isDiskFull) {
        case (true, true):
            return "cache and disk are full (\(occupied); \(ByteText.size(free)) free on the disk, \(floor)\(needed)): "
                + "free space with podfs evict, or unpin episodes"
        case (_, true):
            return "the disk is full (\(ByteText.size(free)) free, \(floor)\(needed)): delete files on it, use podfs "
                + "evict, unpin episodes, or lower cache.keep_free"
        case (true, _):
            return "the cache is full (\(occupied)\(needed)): free space with podfs evict, unpin "
                + "episodes, or raise cache.limit"
        default:
            return "the disk refused a write (\(ByteText.size(free)) free\(needed)): delete files on it, use podfs "
                + "evict, or unpin episodes"
        }
    }
}
