package import TransferCore

/// A cache file that no download writes.
package struct StorageFile: Sendable, Equatable, Identifiable {
    /// The name of the cache file.
    package var id: String
    /// Bytes that its removal gives back.
    package var bytes: Int64
    /// When it was last opened or became whole; since 1970.
    package var lastUse: Duration
    package var isPlayed: Bool
    package var isPinned: Bool
    /// A program has it open.
    package var isOpen: Bool

    package init(
        id: String, bytes: Int64, lastUse: Duration, isPlayed: Bool = false, isPinned: Bool = false,
        isOpen: Bool = false
    ) {
        self.id = id
        self.bytes = bytes
        self.lastUse = lastUse
        self.isPlayed = isPlayed
        self.isPinned = isPinned
        self.isOpen = isOpen
    }

    /// An empty file frees nothing, and its reader would lose it for nothing.
    var mayGo: Bool { !isPinned && !isOpen && bytes > 0 }
}

/// A download that is not over and has not failed.
package struct StorageTransfer: Sendable, Equatable, Identifiable {
    package var id: MediaID
    /// Orders the downloads that count for the same: the lower was asked for first.
    package var number: TaskID
    /// When somebody last asked for it; since 1970.
    package var asked: Duration
    package var received: Int64
    /// The size of the whole file; `nil` when neither server nor feed tells.
    package var expected: Int64?
    /// A server has said `expected`; a feed may be wrong.
    package var isConfirmed: Bool
    /// The name of its cache file, when it has one that may be removed: not pinned.
    package var file: String?
    /// Nobody has asked for it: a newest episode that is fetched ahead.
    package var isAutomatic: Bool
    /// A program has it open.
    package var isRead: Bool
    /// It would go on if it had the space: nobody has suspended it, and conditions allow it.
    package var isWanted: Bool
    /// The server has failed, and is asked again later.
    package var isRetrying: Bool

    package init(
        id: MediaID, number: TaskID, asked: Duration, received: Int64 = 0, expected: Int64?, isConfirmed: Bool = true,
        file: String? = nil, isAutomatic: Bool = false, isRead: Bool = false, isWanted: Bool = true,
        isRetrying: Bool = false
    ) {
        self.id = id
        self.number = number
        self.asked = asked
        self.received = received
        self.expected = expected
        self.isConfirmed = isConfirmed
        self.file = file
        self.isAutomatic = isAutomatic
        self.isRead = isRead
        self.isWanted = isWanted
        self.isRetrying = isRetrying
    }

    var mayLoseFile: Bool { file != nil && !isRead && received > 0 }
}

/// All that the decision about space depends on, at a moment.
package struct StorageSituation: Sendable, Equatable {
    /// Bytes of all cache files, those of transfers among them.
    package var used: Int64
    /// The size of the disk and what is free of it, in bytes.
    package var diskTotal: Int64
    package var diskFree: Int64
    package var transfers: [StorageTransfer]
    /// Complete files, and what ended or failed downloads have left.
    package var files: [StorageFile]

    package init(
        used: Int64, diskTotal: Int64, diskFree: Int64, transfers: [StorageTransfer] = [], files: [StorageFile] = []
    ) {
        self.used = used
        self.diskTotal = diskTotal
        self.diskFree = diskFree
        self.transfers = transfers
        self.files = files
    }

    /// A file has been removed.
    package mutating func remove(_ file: String) {
        var freed: Int64 = 0
        if let index = files.firstIndex(where: { $0.id == file }) {
            freed = files.remove(at: index).bytes
        } else if let index = transfers.firstIndex(where: { $0.file == file }) {
            freed = transfers[index].received
            transfers[index].received = 0
            transfers[index].file = nil
        }
        used = Int64(clamping: max(0, Int128(used) - Int128(freed)))
        diskFree = Int64(clamping: Int128(diskFree) + Int128(freed))
    }

    /// A file could not be removed: a program has it open, as only its lease shows.
    package mutating func setOpen(_ file: String) {
        if let index = files.firstIndex(where: { $0.id == file }) {
            files[index].isOpen = true
        } else if let index = transfers.firstIndex(where: { $0.file == file }) {
            transfers[index].isRead = true
        }
    }
}
