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
    var isPinned: Bool = false
    /// Whether a program has it open.
    var isOpen: Bool = false

    /// Whether it can be evicted. The eviction of an empty file would free nothing.
    var isEvictable: Bool { !isPinned && !isOpen && bytes > 0 }
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

    /// Records the eviction of files.
    ///
    /// - Parameter open: those of the files that could not be evicted, because programs have them open. The snapshot's
    ///   owner learns that from a lease.
    mutating func remove(_ evictions: [String], open: Set<String> = []) {
        let removed = Set(evictions).subtracting(open)
        var freed: Int128 = 0
        files = files.compactMap { file in
            if removed.contains(file.id) {
                freed += Int128(file.bytes)
                return nil
            }
            var file = file
            if open.contains(file.id) { file.isOpen = true }
            return file
        }
        for (index, transfer) in transfers.enumerated() {
            guard let file = transfer.file else { continue }
            if removed.contains(file) {
                freed += Int128(transfer.received)
                transfers[index].received = 0
                transfers[index].file = nil
            } else if open.contains(file) {
                transfers[index].isRead = true
            }
        }
        used = Int64(clamping: max(0, Int128(used) - freed))
        diskFree = Int64(clamping: Int128(diskFree) + freed)
    }
}
