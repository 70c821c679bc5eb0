internal import TransferCore

/// The schedule of a download's checkpoints, at most a second or 8 MiB behind, and of its syncs.
struct CheckpointPace {
    /// The ranges synced to the disk.
    var synced = ByteRanges()
    /// Whether a checkpoint is being written.
    private(set) var isBusy = false
    /// The time of the next checkpoint, in milliseconds.
    private(set) var due: Int64 = .max
    private var behind: Int64 = 0
    /// The counters covered by the checkpoint being written; restored if it fails.
    private var inFlight: (behind: Int64, unsynced: Int64) = (0, 0)
    private var unsynced: Int64 = 0
    private var lastSync: Int64 = .min

    private static let interval: Int64 = 1_000
    /// The delay in milliseconds after a failed checkpoint, since each attempt costs a write.
    private static let retryInterval: Int64 = 5_000
    static let bytes: Int64 = 8 << 20
    /// The interval of syncs in milliseconds. Bytes survive a kill without a sync, in the page cache; a sync protects
    /// against a power failure. Every 64 MiB or ten seconds keeps its cost below what can be measured.
    private static let syncInterval: Int64 = 10_000
    private static let syncBytes: Int64 = 64 << 20

    var isBehind: Bool { behind > 0 }

    mutating func add(_ count: Int64, at now: Int64) {
        if behind == 0 { due = now + Self.interval }
        behind += count
        unsynced += count
        if behind >= Self.bytes { due = min(due, now) }
        if lastSync == .min { lastSync = now }
    }

    /// Starts a checkpoint.
    ///
    /// - Returns: Whether the file must be synced first.
    mutating func begin(at now: Int64, all: Bool) -> Bool {
        isBusy = true
        inFlight = (behind, 0)
        behind = 0
        due = .max
        let synchronizes =
            all || unsynced >= Self.syncBytes || lastSync != .min && now - lastSync >= Self.syncInterval
        if synchronizes {
            inFlight.unsynced = unsynced
            unsynced = 0
            lastSync = now
        }
        return synchronizes
    }

    /// Records that the checkpoint could not be written.
    mutating func failed(at now: Int64) {
        isBusy = false
        behind += max(inFlight.behind, 1)
        unsynced += inFlight.unsynced
        due = now + Self.retryInterval
    }

    /// Retries soon, since the cause of the last failure has disappeared.
    mutating func hurry(at now: Int64) {
        if isBehind { due = min(due, now) }
    }

    mutating func end(synced: ByteRanges?) {
        isBusy = false
        if let synced { self.synced = synced }
    }
}
