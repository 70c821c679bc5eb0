internal import Platform
internal import Transfers

/// A cache file that no download writes.
struct StorageFile: Sendable, Equatable, Identifiable {
    /// The name of the cache file.
    var id: String
    /// The number of bytes that its removal frees.
    var bytes: Int64
    /// The time of the last open or of the completion of the download, whichever is later.
    var lastUse: WallTime
    var isPlayed: Bool = false
    /// Whether a program has it open.
    var isOpen: Bool = false

    /// Whether it can be evicted. The eviction of an empty file would free nothing.
    var isEvictable: Bool { !isOpen && bytes > 0 }
}

/// A download that has neither ended nor failed.
struct StorageTransfer: Sendable, Equatable, Identifiable {
    var id: MediaID
    /// The tie-breaker between equally ranked downloads. The download with the lower number was created earlier, and
    /// comes first.
    var number: TaskID
    /// The time at which the download was last asked for, not that of an HTTP request.
    var asked: WallTime
    /// The number of bytes in the cache.
    var received: Int64 = 0
    /// The size of the whole file in bytes; `nil` if it is neither known nor estimated.
    var expected: Int64?
    /// Whether a server has confirmed `expected`; a feed may be wrong, and an estimate is inexact.
    var isConfirmed: Bool = true
    /// The name of its partial file in the cache; `nil` if there is none, or if the episode is pinned, so that the
    /// file must not be removed.
    var file: String?
    /// Whether it is an automatic download that nobody has requested.
    var isAutomatic: Bool = false
    /// Whether a program has it open.
    var isRead: Bool = false
    /// Whether it would proceed if it had the space: it is not suspended, and network and power conditions permit it.
    var isWanted: Bool = true
    /// Whether the server has failed and a retry is scheduled.
    var isRetrying: Bool = false

    /// Whether its partial file can be evicted.
    var isEvictable: Bool { file != nil && !isRead && received > 0 }
}

/// The state of the cache and the disk at one moment, which is the input of `StoragePolicy`.
struct StorageSnapshot: Sendable, Equatable {
    /// The bytes of all cache files, including those of transfers.
    var used: Int64
    /// The size and the free space of the disk, in bytes.
    var diskTotal: Int64
    var diskFree: Int64
    var transfers: [StorageTransfer] = []
    /// Complete files, and parts of ended or failed downloads.
    var files: [StorageFile] = []

    /// Marks files as open in programs. The snapshot's owner learns that from a lease, when it tries to evict them.
    mutating func markOpen(_ names: Set<String>) {
        for index in files.indices where names.contains(files[index].id) { files[index].isOpen = true }
        for index in transfers.indices where transfers[index].file.map(names.contains) ?? false {
            transfers[index].isRead = true
        }
    }
}

/// The reason why bytes may not be written: the limit that would be exceeded, and the sizes in question.
struct StorageShortage: Sendable, Equatable, CustomStringConvertible {
    /// The limit that the bytes would exceed.
    enum Limit: Sendable, Equatable {
        /// `cache.limit`.
        case cache
        /// The disk space that must stay free.
        case disk
        case cacheAndDisk
        /// Neither, but the disk refused a write, because of a quota or of blocks that are reserved for root.
        case write
        /// `cache.limit`, by a file of this size alone.
        case size(Int64)
    }

    var limit: Limit
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

    /// One line for the user: the limit and the remedy.
    var description: String {
        let cacheLimit = "cache.limit (\(ByteText.size(capacity)))"
        let needed = incoming > 0 ? ", \(ByteText.size(incoming)) more needed" : ""
        let reservation = reserved > 0 ? ", \(ByteText.size(reserved)) reserved for other downloads" : ""
        let occupied = "\(ByteText.size(used)) of \(cacheLimit) used\(reservation)"
        let floor = "\(ByteText.size(floor)) must stay free by " + (isFloorConfigured ? "cache.keep_free" : "default")
        let free = ByteText.size(free)
        return switch limit {
        case .size(let size):
            "the file of \(ByteText.size(size)) does not fit into \(cacheLimit): raise cache.limit; the limit does not "
                + "apply while a program has the file open"
        case .cacheAndDisk:
            "cache and disk are full (\(occupied); \(free) free on the disk, \(floor)\(needed)): free space with podfs "
                + "evict, or unpin episodes"
        case .disk:
            "the disk is full (\(free) free, \(floor)\(needed)): delete files on it, use podfs evict, unpin episodes, "
                + "or lower cache.keep_free"
        case .cache:
            "the cache is full (\(occupied)\(needed)): free space with podfs evict, unpin episodes, or raise cache.limit"
        case .write:
            "the disk refused a write (\(free) free\(needed)): delete files on it, use podfs evict, or unpin episodes"
        }
    }
}
